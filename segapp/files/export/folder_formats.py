"""All ways to write a folder: the data sets, and every format of one picture for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segapp.files.export import FORMATS, ExportFormat
from segapp.files.export.coco_folder import COCO_FORMATS
from segapp.files.export.dataset import DatasetFormat, Item, Plan, Written
from segapp.files.export.index_maps import INDEX_MAP_FORMATS
from segapp.files.export.yolo import YOLO_FORMAT

if TYPE_CHECKING:
    from pathlib import Path


def _add(form: ExportFormat, plan: Plan, item: Item) -> Written:
    target = plan.out / f"{item.stem}{form.suffix}"
    written = form.write(target, item.labelling, item.document, item.picture)
    return Written(tuple(str(path.relative_to(plan.out)) for path in written))


def _finish(plan: Plan, written: dict[str, Written]) -> tuple[Path, ...]:
    del plan, written
    return ()


def _for_each(form: ExportFormat) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        form.title,
        form.values,
        counts_parts=False,
        add=partial(_add, form),
        finish=_finish,
        as_whole=False,
    )


_DATASETS = (*COCO_FORMATS, YOLO_FORMAT, *INDEX_MAP_FORMATS)
FOLDER_FORMATS: dict[str, DatasetFormat] = {entry.name: entry for entry in _DATASETS} | {
    form.name: _for_each(form)
    for form in FORMATS.values()
    if form.name not in {entry.name for entry in _DATASETS}
}
