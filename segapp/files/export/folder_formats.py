"""All ways to write a folder: the data sets, and every format of one picture for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segapp.files.export import ExportFormat, formats
from segapp.files.export.coco_folder import COCO_FORMATS
from segapp.files.export.cutouts import finished
from segapp.files.export.dataset import DatasetFormat, Item, Plan, Written
from segapp.files.export.index_maps import INDEX_MAP_FORMATS
from segapp.files.export.measures import write_joined
from segapp.files.export.yolo import YOLO_FORMAT
from segapp.values.export_choices import USUAL, ExportChoices
from segapp.values.wording import shown

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


def _adding(form: ExportFormat, plan: Plan, item: Item) -> Generator[float, None, Written]:
    target = plan.out / f"{item.stem}{form.suffix}"
    written = yield from form.writing(target, item.labelling, item.document, item.picture)
    return Written(tuple(str(path.relative_to(plan.out)) for path in written))


def _add(form: ExportFormat, plan: Plan, item: Item) -> Written:
    return finished(_adding(form, plan, item))


def _finish(plan: Plan, written: dict[str, Written]) -> tuple[Path, ...]:
    del plan, written
    return ()


def _for_each(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        form.title,
        form.values,
        counts_parts=False,
        add=partial(_add, form),
        finish=_finish,
        as_whole=False,
        choices=repr(choices),
        long=partial(_adding, form) if form.long is not None else None,
    )


def _add_measures(form: ExportFormat, plan: Plan, item: Item) -> Written:
    (plan.out / _TABLES).mkdir(exist_ok=True)
    name = f"{_TABLES}/{item.stem}{form.suffix}"
    form.write(plan.out / name, item.labelling, item.document, item.picture)
    return Written((name,))


def _join_measures(plan: Plan, written: dict[str, Written]) -> tuple[Path, ...]:
    """Write all tables as one; each stays for those who go on."""
    tables = ((shown(name), plan.out / one.files[0]) for name, one in written.items())
    return write_joined(plan.out / "measures.csv", tables)


def _measures(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        "Measures of all pictures (one CSV)",
        "measures.csv: a row for each class of each picture and for each of its parts, the "
        "picture's name first; the same for each picture in pictures.",
        counts_parts=False,
        add=partial(_add_measures, form),
        finish=_join_measures,
        choices=repr(choices),
    )


_TABLES = "pictures"
_DATASETS = (*COCO_FORMATS, YOLO_FORMAT, *INDEX_MAP_FORMATS)


def folder_formats(choices: ExportChoices) -> dict[str, DatasetFormat]:
    """Return all ways by their names, with choices made."""
    datasets = {entry.name: entry for entry in _DATASETS}
    single = formats(choices)
    each = {form.name: _for_each(form, choices) for form in single.values()}
    measures = _measures(single["measures"], choices)
    return each | datasets | {measures.name: measures}


FOLDER_FORMATS = folder_formats(USUAL)
