"""All ways to write a folder: the data sets, and every format of one picture for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segapp.files.export import ExportFormat, formats
from segapp.files.export.coco_folder import COCO_FORMATS
from segapp.files.export.dataset import DatasetFormat, Item, Plan, Written
from segapp.files.export.index_maps import INDEX_MAP_FORMATS
from segapp.files.export.yolo import YOLO_FORMAT
from segapp.values.export_choices import USUAL, ExportChoices

if TYPE_CHECKING:
    from pathlib import Path


def _add(form: ExportFormat, plan: Plan, item: Item) -> Written:
    target = plan.out / f"{item.stem}{form.suffix}"
    written = form.write(target, item.labelling, item.document, item.picture)
    return Written(tuple(str(path.relative_to(plan.out)) for path in written))


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
    )


_DATASETS = (*COCO_FORMATS, YOLO_FORMAT, *INDEX_MAP_FORMATS)


def folder_formats(choices: ExportChoices) -> dict[str, DatasetFormat]:
    """Return all ways by their names, with choices made."""
    datasets = {entry.name: entry for entry in _DATASETS}
    each = {form.name: _for_each(form, choices) for form in formats(choices).values()}
    return each | datasets


FOLDER_FORMATS = folder_formats(USUAL)
