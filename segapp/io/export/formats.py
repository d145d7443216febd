"""Export formats of one image and of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.imaging.matting import MAX_EDGE_WIDTH
from segapp.io.export.coco import COCO_FORMATS, as_polygons, as_rle, write_coco
from segapp.io.export.datasets import (
    AnnotationScope,
    DatasetFormat,
    DatasetItem,
    ExportPlan,
    ItemRecord,
)
from segapp.io.export.label_images import (
    INDEX_MAP_FORMATS,
    write_label_ome,
    write_label_tiff,
    write_roi_set,
)
from segapp.io.export.polygon_formats import (
    DEFAULT_SPLIT,
    DatasetSplit,
    PictureCopies,
    write_labelme,
    yolo_format,
)
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
    write_overlay_png,
    write_strokes_png,
)
from segapp.io.export.tables import write_joined_measures, write_measures
from segapp.model.validation import SegappError, sanitize, short_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from segapp.io.export.rasters import Backdrop
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture, Scale

    Writer = Callable[[Path, Labelling, Document, Picture], tuple[Path, ...]]
    """Writes the files of a result and returns their paths; each is whole or not there."""
    StepWriter = Callable[
        [Path, Labelling, Document, Picture], Generator[float, None, tuple[Path, ...]]
    ]
    """Yields its progress, and is stopped by closing it."""

_TABLES = "images"


@dataclass(frozen=True, slots=True)
class ExportChoices:
    """Choices for all formats; each takes those that concern it.

    Parameters
    ----------
    edge
        Pixels on either side of the contour in which cut-outs are softened: 0 is hard, and
        ``None`` follows the image's size.
    scale
        Of measures and label images; ``None`` is the picture's own.
    only
        Name of the class that masks and cut-outs are of; ``None`` is all but the background.
    backdrop
        Background of cut-outs; ``None`` is transparent.
    per
        The pixels of one annotation.
    copies
        What a data set for training holds of the pictures.
    split
        The pictures of a data set that are for validation.
    """

    edge: float | None = None
    scale: Scale | None = None
    only: str | None = None
    backdrop: Backdrop | None = None
    per: AnnotationScope = AnnotationScope.OBJECT
    copies: PictureCopies = PictureCopies.COPY
    split: DatasetSplit = DEFAULT_SPLIT

    def __post_init__(self) -> None:
        if self.edge is not None and not 0 <= self.edge <= MAX_EDGE_WIDTH:
            raise SegappError(f"edge: wanted 0 to {MAX_EDGE_WIDTH:.0f} pixels, got {self.edge}")


DEFAULT_EXPORT = ExportChoices()


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of one image's result.

    Parameters
    ----------
    name
        For the command line.
    title
        For menus.
    suffix
        Of the file name, with its dot.
    values
        The meaning of the numbers in the file, in plain words.
    write
        Writes the files.
    write_steps
        The same with progress, if it takes long.
    per_region
        Whether the annotation scope makes a difference.
    """

    name: str
    title: str
    suffix: str
    values: str
    write: Writer
    write_steps: StepWriter | None = None
    per_region: bool = False

    def steps(
        self, path: Path, labelling: Labelling, document: Document, picture: Picture
    ) -> Generator[float, None, tuple[Path, ...]]:
        """Write and yield the progress; a generator that is closed early leaves no file."""
        if self.write_steps is None:
            return self.write(path, labelling, document, picture)
        return (yield from self.write_steps(path, labelling, document, picture))


def _write_at_once(
    steps: StepWriter, path: Path, labelling: Labelling, document: Document, picture: Picture
) -> tuple[Path, ...]:
    return run_to_end(steps(path, labelling, document, picture))


def formats(choices: ExportChoices) -> dict[str, ExportFormat]:
    """Return the formats of one image by their names."""
    cutout = partial(cutout_steps, edge=choices.edge, only=choices.only, backdrop=choices.backdrop)
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
            "0 where the background is, else the class from 1, shown in the classes' colours.",
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
            "Cut-out with transparency (PNG)",
            ".png",
            "The objects in their own colours, without those behind them; transparent elsewhere, "
            "unless a background is chosen.",
            partial(_write_at_once, cutout),
            cutout,
        ),
        ExportFormat(
            "alpha",
            "Alpha with soft edges (PNG)",
            ".png",
            "255 where a pixel is all object, 0 where it has none of it.",
            partial(_write_at_once, alpha),
            alpha,
        ),
        ExportFormat(
            "coco-rle",
            "COCO, run lengths (JSON)",
            ".json",
            "One annotation for each object, but none for a class named background; categories "
            "count from 1.",
            partial(write_coco, segmentation=as_rle, per=choices.per),
            per_region=True,
        ),
        ExportFormat(
            "coco-polygons",
            "COCO, polygons (JSON)",
            ".json",
            "As with run lengths, but outlines along the pixels' edges; a hole is joined to its "
            "outline by a bridge of no width.",
            partial(write_coco, segmentation=as_polygons, per=choices.per),
            per_region=True,
        ),
        ExportFormat(
            "labelme",
            "LabelMe (JSON)",
            ".json",
            "The polygons of each object, several of one in a group, but none for a class named "
            "background; coordinates in pixels.",
            partial(write_labelme, per=choices.per),
            per_region=True,
        ),
        ExportFormat(
            "labels",
            "Label image for ImageJ, 16 bits (TIFF)",
            ".tif",
            "0 where the background is, else the objects from 1; the description tells class and "
            "number of each, and the size of a pixel.",
            partial(write_label_tiff, scale=choices.scale),
        ),
        ExportFormat(
            "labels-ome",
            "Label image, 16 bits (OME-TIFF)",
            ".ome.tif",
            "0 where the background is, else the objects from 1; the metadata tell class and "
            "number of each, and the size of a pixel.",
            partial(write_label_ome, scale=choices.scale),
        ),
        ExportFormat(
            "rois",
            "Regions for ImageJ's ROI Manager (ZIP)",
            ".zip",
            "A region for each object with all its parts and holes, named by class and number.",
            partial(write_roi_set, per=choices.per),
            per_region=True,
        ),
        ExportFormat(
            "overlay",
            "Coloured objects over the image (PNG)",
            ".png",
            "The image under the colours of its objects, to look at; with a scale bar where the "
            "size of a pixel is known.",
            partial(write_overlay_png, scale=choices.scale),
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
            "labels (class from 0), margin (confidence), codes (hash code), classes (names), "
            "objects (from 1, 0 for none) and object_keys (class and number of each); codewords, "
            "kernels (names) and kernel_weights of each bit, where they were learnt.",
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
            "Measures of classes and objects (CSV)",
            ".csv",
            "Area, position, shape and intensity of each class but the background, and of each of "
            "its objects.",
            partial(write_measures, scale=choices.scale),
        ),
    )
    return {entry.name: entry for entry in entries}


FORMATS = formats(DEFAULT_EXPORT)


_BY_SUFFIX = {
    ".png": "mask",
    ".json": "coco-rle",
    ".npz": "numpy",
    ".tif": "confidence-tiff",
    ".ome.tif": "labels-ome",
    ".zip": "rois",
    ".csv": "measures",
}


def choose_format(path: Path, name: str | None, choices: ExportChoices) -> ExportFormat:
    """Return a format by its name, or by the ending of the file when no name is given.

    >>> from pathlib import Path
    >>> choose_format(Path("cat.json"), None, DEFAULT_EXPORT).name
    'coco-rle'
    """
    name_of_file = path.name.lower().removesuffix(
        "f" if path.name.lower().endswith("tiff") else ""
    )
    suffix = ".ome.tif" if name_of_file.endswith(".ome.tif") else Path(name_of_file).suffix
    known = formats(choices)
    if name is None and suffix not in _BY_SUFFIX:
        raise SegappError(
            f"{sanitize(path.name)}: wanted a format, or a name that ends in "
            f"{', '.join(_BY_SUFFIX)}"
        )
    chosen = _BY_SUFFIX[suffix] if name is None else name
    if chosen not in known:
        raise SegappError(f"format: wanted one of {', '.join(known)}, got {short_repr(chosen)}")
    if not suffix.endswith(known[chosen].suffix):
        raise SegappError(
            f"{sanitize(path.name)}: {chosen} is written to a name that ends in "
            f"{known[chosen].suffix}"
        )
    return known[chosen]


def default_format(n_classes: int) -> ExportFormat:
    """Return the default format of a PNG: black and white for two classes."""
    return FORMATS["mask" if n_classes == 2 else "indexed"]


def folder_formats(choices: ExportChoices) -> dict[str, DatasetFormat]:
    """Return the formats of a folder by their names."""
    single = formats(choices)
    yolo = yolo_format(choices.copies, choices.split)
    datasets = (*COCO_FORMATS, yolo, *INDEX_MAP_FORMATS)
    entries = (
        *(_image_format(form, choices) for form in single.values()),
        *datasets,
        _measures_format(single["measures"], choices),
    )
    return {entry.name: entry for entry in entries}


def _image_format(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    """Return the format of a folder that writes each image for itself."""
    return DatasetFormat(
        form.name,
        form.title,
        form.values,
        per_region=form.per_region,
        add=partial(_add_image, form),
        finish=_finish_images,
        is_folder_wide=False,
        choices=repr(choices),
        add_steps=partial(_add_steps, form) if form.write_steps is not None else None,
    )


def _add_image(form: ExportFormat, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    return run_to_end(_add_steps(form, plan, item))


def _finish_images(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    del plan, records
    return ()


def _add_steps(
    form: ExportFormat, plan: ExportPlan, item: DatasetItem
) -> Generator[float, None, ItemRecord]:
    target = plan.out / f"{item.stem}{form.suffix}"
    written = yield from form.steps(target, item.labelling, item.document, item.picture)
    return ItemRecord(tuple(str(path.relative_to(plan.out)) for path in written))


def _measures_format(form: ExportFormat, choices: ExportChoices) -> DatasetFormat:
    return DatasetFormat(
        form.name,
        "Measures of all images (CSV)",
        "measures.csv: a row for each class of each image and for each of its objects, "
        "the image's name first; the same for each image in images.",
        per_region=False,
        add=partial(_add_measures, form),
        finish=_join_measures,
        choices=repr(choices),
    )


def _add_measures(form: ExportFormat, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    (plan.out / _TABLES).mkdir(exist_ok=True)
    name = f"{_TABLES}/{item.stem}{form.suffix}"
    form.write(plan.out / name, item.labelling, item.document, item.picture)
    return ItemRecord((name,))


def _join_measures(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Join all tables into one; each stays for the next run."""
    tables = ((sanitize(name), plan.out / record.files[0]) for name, record in records.items())
    return write_joined_measures(plan.out / "measures.csv", tables)


FOLDER_FORMATS = folder_formats(DEFAULT_EXPORT)
