"""Export formats of one image and of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from segapp.imaging.measures import DEFAULT_EXPORT, ExportChoices
from segapp.io.export.coco import COCO_FORMATS, write_coco_polygons, write_coco_rle
from segapp.io.export.datasets import DatasetFormat, DatasetItem, ExportPlan, ItemRecord
from segapp.io.export.index_maps import INDEX_MAP_FORMATS
from segapp.io.export.polygon_formats import YOLO_FORMAT, write_labelme
from segapp.io.export.rasters import (
    alpha_steps,
    cutout_steps,
    run_to_end,
    write_binary_png,
    write_class_pngs,
    write_confidence_png,
    write_confidence_tiff,
    write_indexed_png,
    write_numpy,
    write_strokes_png,
)
from segapp.io.export.tables import write_joined_measures, write_measures
from segapp.model.validation import sanitize

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


__all__ = [
    "FORMATS",
    "ExportFormat",
    "alpha_steps",
    "cutout_steps",
    "default_format",
    "formats",
    "write_binary_png",
    "write_class_pngs",
    "write_coco_polygons",
    "write_coco_rle",
    "write_confidence_png",
    "write_confidence_tiff",
    "write_indexed_png",
    "write_labelme",
    "write_measures",
    "write_numpy",
    "write_strokes_png",
]


class Writer(Protocol):
    """Writes the files of a result and returns their paths; each is whole or not there."""

    def __call__(
        self, path: Path, labelling: Labelling, document: Document, picture: Picture
    ) -> tuple[Path, ...]: ...


class LongWriter(Protocol):
    """A writer that takes long: yields how much is done, and stops when nobody asks for more."""

    def __call__(
        self, path: Path, labelling: Labelling, document: Document, picture: Picture
    ) -> Generator[float, None, tuple[Path, ...]]: ...


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A way to write a result.

    Parameters
    ----------
    name
        For the command line.
    title
        For menus.
    suffix
        Of the file name, with its dot.
    values
        What the numbers in the file mean, in plain words.
    write
        The function that does it.
    long
        The same, to be followed and stopped, if it takes long.
    """

    name: str
    title: str
    suffix: str
    values: str
    write: Writer
    long: LongWriter | None = None

    def steps(
        self, path: Path, labelling: Labelling, document: Document, picture: Picture
    ) -> Generator[float, None, tuple[Path, ...]]:
        """Write, and yield how much is done; whoever stops asking stops it, and has no file."""
        if self.long is None:
            return self.write(path, labelling, document, picture)
        return (yield from self.long(path, labelling, document, picture))


def _at_once(long: LongWriter) -> Writer:
    def write(
        path: Path, labelling: Labelling, document: Document, picture: Picture
    ) -> tuple[Path, ...]:
        return run_to_end(long(path, labelling, document, picture))

    return write


def formats(choices: ExportChoices) -> dict[str, ExportFormat]:
    """Return the formats by their names, with choices made."""
    cutout = partial(cutout_steps, edge=choices.edge, only=choices.only)
    alpha = partial(alpha_steps, edge=choices.edge, only=choices.only)
    entries = (
        ExportFormat(
            "mask",
            "Mask, black and white (PNG)",
            ".png",
            "255 (white) where an object is, 0 (black) where the background is.",
            partial(write_binary_png, only=choices.only),
        ),
        ExportFormat(
            "indexed",
            "Classes with a palette (PNG)",
            ".png",
            "The number of the class, from 0, shown in the classes' colours.",
            write_indexed_png,
        ),
        ExportFormat(
            "classes",
            "One mask for each class (PNG)",
            ".png",
            "A file for each class, its name at the end: 255 where the class is, 0 elsewhere.",
            write_class_pngs,
        ),
        ExportFormat(
            "cutout",
            "Cut-out on transparent ground (PNG)",
            ".png",
            "The objects in their own colours, without those behind them, transparent elsewhere.",
            _at_once(cutout),
            cutout,
        ),
        ExportFormat(
            "alpha",
            "Alpha with soft edges (PNG)",
            ".png",
            "255 where a pixel is the object alone, 0 where nothing of it is there.",
            _at_once(alpha),
            alpha,
        ),
        ExportFormat(
            "coco-rle",
            "COCO, run lengths (JSON)",
            ".json",
            "One annotation for each class that has pixels, but none for a class named "
            "background; categories count from 1.",
            write_coco_rle,
        ),
        ExportFormat(
            "coco-polygons",
            "COCO, polygons (JSON)",
            ".json",
            "As with run lengths, but outlines along the pixels' edges; a hole is joined to its "
            "outline by a bridge of no width.",
            write_coco_polygons,
        ),
        ExportFormat(
            "labelme",
            "LabelMe (JSON)",
            ".json",
            "One polygon for each connected part of a class, but none for a class named "
            "background; coordinates in pixels.",
            write_labelme,
        ),
        ExportFormat(
            "confidence",
            "Confidence, 16 bits (PNG)",
            ".png",
            "0 where undecided, 65535 where surest; the file's text tells the margin of 65535.",
            write_confidence_png,
        ),
        ExportFormat(
            "confidence-tiff",
            "Confidence, 16 bits (TIFF)",
            ".tif",
            "0 where undecided, 65535 where surest; the description tells the margin of 65535.",
            write_confidence_tiff,
        ),
        ExportFormat(
            "numpy",
            "Arrays (NumPy)",
            ".npz",
            "labels (class from 0), margin (confidence), codes (hash code) and classes (names).",
            write_numpy,
        ),
        ExportFormat(
            "strokes",
            "Strokes with a palette (PNG)",
            ".png",
            "0 where nothing is marked, else the number of the stroke's class, from 1.",
            write_strokes_png,
        ),
        ExportFormat(
            "measures",
            "Measures of classes and parts (CSV)",
            ".csv",
            "Area, place, perimeter and mean colour of each class but the background, and of "
            "each of its parts.",
            partial(write_measures, scale=choices.scale, split=choices.split),
        ),
    )
    return {entry.name: entry for entry in entries}


FORMATS = formats(DEFAULT_EXPORT)


def default_format(n_classes: int) -> ExportFormat:
    """Return how a PNG shows a result when nobody says: black and white if that tells all."""
    return FORMATS["mask" if n_classes == 2 else "indexed"]


def _adding(
    form: ExportFormat, plan: ExportPlan, item: DatasetItem
) -> Generator[float, None, ItemRecord]:
    target = plan.out / f"{item.stem}{form.suffix}"
    written = yield from form.steps(target, item.labelling, item.document, item.picture)
    return ItemRecord(tuple(str(path.relative_to(plan.out)) for path in written))


def _add(form: ExportFormat, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    return run_to_end(_adding(form, plan, item))


def _finish(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
    del plan, written
    return ()


def _for_each(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        form.title,
        form.values,
        per_region=False,
        add=partial(_add, form),
        finish=_finish,
        is_folder_wide=False,
        choices=repr(choices),
        long=partial(_adding, form) if form.long is not None else None,
    )


def _add_measures(form: ExportFormat, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    (plan.out / _TABLES).mkdir(exist_ok=True)
    name = f"{_TABLES}/{item.stem}{form.suffix}"
    form.write(plan.out / name, item.labelling, item.document, item.picture)
    return ItemRecord((name,))


def _join_measures(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write all tables as one; each stays for those who go on."""
    tables = ((sanitize(name), plan.out / one.files[0]) for name, one in written.items())
    return write_joined_measures(plan.out / "measures.csv", tables)


def _measures(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        "Measures of all pictures (one CSV)",
        "measures.csv: a row for each class of each picture and for each of its parts, the "
        "picture's name first; the same for each picture in pictures.",
        per_region=False,
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


FOLDER_FORMATS = folder_formats(DEFAULT_EXPORT)
