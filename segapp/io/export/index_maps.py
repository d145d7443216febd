"""Index maps as Pascal VOC and Cityscapes lay them out: 0 is the background."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segapp.io.export.datasets import DatasetFormat, DatasetItem, ExportPlan, ItemRecord
from segapp.io.export.rasters import palette_image, save_png
from segapp.model.validation import SegappError
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.io.export.datasets import ClassRegion

_BLACK = (0, 0, 0)
_MAX_OBJECTS = 255  # of a palette without its 0
_PER_CLASS = 1000  # Cityscapes: the instance's number is the class times that, plus its own


def _objects(plan: ExportPlan, item: DatasetItem) -> list[tuple[int, ClassRegion]]:
    """List the regions of all objects, with their categories' indices."""
    return [(plan.categories.index(info), region) for info, region in item.regions(plan.per)]


def _index_map(plan: ExportPlan, item: DatasetItem) -> NDArray[np.uint8]:
    return plan.categories.index_map(item.labelling.labels, item.document.classes)


def _save(plan: ExportPlan, name: str, image: Image.Image) -> str:
    (plan.out / name).parent.mkdir(parents=True, exist_ok=True)
    save_png(plan.out / name, image)
    return name


def _colours(plan: ExportPlan) -> list[tuple[int, int, int]]:
    return [_BLACK, *(info.colour for info in plan.categories.classes)]


# Pascal VOC ---------------------------------------------------------------------------------


def _voc_palette() -> list[tuple[int, ...]]:
    """Return VOC's own colours for objects: the bits of the index in turn."""
    return [
        tuple(
            sum((index >> (3 * bit + channel) & 1) << (7 - bit) for bit in range(8))
            for channel in range(3)
        )
        for index in range(256)
    ]


def _add_voc(plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    objects = _objects(plan, item)
    if len(objects) > _MAX_OBJECTS:
        raise SegappError(
            f"a palette holds {_MAX_OBJECTS} objects, and {item.name} has {len(objects)}: count "
            "classes instead of objects, or drop small parts"
        )
    numbered = np.zeros(item.picture.size, np.uint8)
    for number, (_, region) in enumerate(objects, start=1):
        region.paint(numbered, number)
    classes = palette_image(_index_map(plan, item), _colours(plan))
    files = (
        _save(plan, f"SegmentationClass/{item.stem}.png", classes),
        _save(
            plan, f"SegmentationObject/{item.stem}.png", palette_image(numbered, _voc_palette())
        ),
        f"Annotations/{item.stem}.xml",
    )
    (plan.out / "Annotations").mkdir(exist_ok=True)
    write_text(plan.out / files[-1], _voc_xml(plan, item, objects))
    return ItemRecord(files, {"stem": item.stem})


def _voc_xml(plan: ExportPlan, item: DatasetItem, objects: list[tuple[int, ClassRegion]]) -> str:
    """Describe the objects; VOC's boxes count from 1 and include the last pixel."""
    height, width = item.picture.size
    rows = []
    for index, region in objects:
        left, top, wide, high = region.box
        name = escape(plan.categories.classes[index - 1].name, quote=False)
        rows.append(
            f" <object>\n  <name>{name}</name>\n  <pose>Unspecified</pose>\n"
            "  <truncated>0</truncated>\n"
            f"  <occluded>{int(region.is_occluded)}</occluded>\n"
            f"  <difficult>{int(region.is_crowd)}</difficult>\n"
            f"  <bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin>"
            f"<xmax>{left + wide}</xmax><ymax>{top + high}</ymax></bndbox>\n </object>\n"
        )
    return (
        f"<annotation>\n <filename>{escape(item.name, quote=False)}</filename>\n"
        f" <size><width>{width}</width><height>{height}</height><depth>3</depth></size>\n"
        f" <segmented>1</segmented>\n{''.join(rows)}</annotation>\n"
    )


def _finish_voc(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write the list of images, and the colours by name as CVAT reads them."""
    listing = plan.out / "ImageSets" / "Segmentation" / "trainval.txt"
    listing.parent.mkdir(parents=True, exist_ok=True)
    write_text(listing, "".join(f"{each.data['stem']}\n" for each in records.values()))
    rows = [f"background:{','.join(map(str, _BLACK))}::\n"]
    rows += [
        f"{info.name.replace(':', ' ')}:{','.join(map(str, info.colour))}::\n"
        for info in plan.categories.classes
    ]
    colours = plan.out / "labelmap.txt"
    write_text(colours, "# label:color_rgb:parts:actions\n" + "".join(rows))
    return listing, colours


# Cityscapes ---------------------------------------------------------------------------------


def _add_cityscapes(plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    indices = _index_map(plan, item)
    instances = indices.astype(np.uint16)
    counts: dict[int, int] = {}
    for index, region in _objects(plan, item):
        if region.is_crowd:
            continue  # of which Cityscapes has the class alone
        number = counts.get(index, 0)
        if index * _PER_CLASS + number > np.iinfo(np.uint16).max or number >= _PER_CLASS:
            raise SegappError(f"{item.name} has more objects than its numbers can tell apart")
        region.paint(instances, index * _PER_CLASS + number)
        counts[index] = number + 1
    base = f"gtFine/{item.stem}_gtFine"
    colours = np.array(_colours(plan), np.uint8)
    return ItemRecord(
        (
            _save(plan, f"{base}_labelIds.png", Image.fromarray(indices)),
            _save(plan, f"{base}_instanceIds.png", Image.fromarray(instances)),
            _save(plan, f"{base}_color.png", Image.fromarray(colours[indices])),
        )
    )


def _finish_cityscapes(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write the number of each class."""
    del records
    rows = ["0,background\n"]
    rows += [
        f'{index},"{info.name.replace(chr(34), chr(34) * 2)}"\n'
        for index, info in enumerate(plan.categories.classes, start=1)
    ]
    path = plan.out / "gtFine" / "labels.csv"
    path.parent.mkdir(exist_ok=True)
    write_text(path, "id,name\n" + "".join(rows))
    return (path,)


INDEX_MAP_FORMATS = (
    DatasetFormat(
        "voc",
        "Pascal VOC (PNG and XML)",
        "SegmentationClass and SegmentationObject, where 0 is the background; boxes in "
        "Annotations; ImageSets; the colours in labelmap.txt.",
        per_region=True,
        add=_add_voc,
        finish=_finish_voc,
    ),
    DatasetFormat(
        "cityscapes",
        "Cityscapes (index PNG)",
        "gtFine: labelIds with the class from 1 (0 is the background), instanceIds "
        "with 1000 times the class plus the object, and a coloured image to look at.",
        per_region=True,
        add=_add_cityscapes,
        finish=_finish_cityscapes,
    ),
)
