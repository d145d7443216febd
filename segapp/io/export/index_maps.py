"""Index maps as Pascal VOC and Cityscapes lay them out: 0 is the background."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segapp.imaging.measures import ClassRegion, parts_of
from segapp.io.export.datasets import DatasetFormat, DatasetItem, ExportPlan, ItemRecord
from segapp.model.validation import SegappError
from shlcore.atomic_file import replacing, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


_BLACK = (0, 0, 0)
_MOST_OBJECTS = 255  # of a palette without its 0
_PER_CLASS = 1000  # Cityscapes: the instance's number is the class times that, plus its own


def _objects(plan: ExportPlan, item: DatasetItem) -> list[tuple[int, ClassRegion]]:
    """List the parts of all classes but the background, with their categories' places."""
    return [
        (plan.categories.place(info), part)
        for index, info in enumerate(item.document.classes)
        if not info.is_background
        for part in parts_of(item.labelling.labels, index, plan.per)
    ]


def _indices(plan: ExportPlan, item: DatasetItem) -> NDArray[np.uint8]:
    return plan.categories.indices(item.labelling.labels, item.document.classes)


def _save(plan: ExportPlan, name: str, image: Image.Image) -> str:
    (plan.out / name).parent.mkdir(parents=True, exist_ok=True)
    with replacing(plan.out / name) as file:
        image.save(file, format="PNG")
    return name


def _with_palette(values: NDArray[np.uint8], colours: list[tuple[int, int, int]]) -> Image.Image:
    image = Image.fromarray(values, mode="L")
    image.putpalette([part for colour in colours for part in colour])
    return image


def _colours(plan: ExportPlan) -> list[tuple[int, int, int]]:
    return [_BLACK, *(info.colour for info in plan.categories.classes)]


# Pascal VOC ---------------------------------------------------------------------------------


def _voc_palette() -> list[tuple[int, int, int]]:
    """Return VOC's own colours, for objects, which have none: bits of the index in turn."""
    colours = []
    for index in range(256):
        red = green = blue = 0
        rest = index
        for shift in range(7, -1, -1):
            red |= (rest & 1) << shift
            green |= ((rest >> 1) & 1) << shift
            blue |= ((rest >> 2) & 1) << shift
            rest >>= 3
        colours.append((red, green, blue))
    return colours


def _add_voc(plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    objects = _objects(plan, item)
    if len(objects) > _MOST_OBJECTS:
        raise SegappError(
            f"a palette holds {_MOST_OBJECTS} objects, and {item.name} has {len(objects)}: count "
            "classes instead of parts, or tidy up small parts"
        )
    numbered = np.zeros(item.picture.size, np.uint8)
    for number, (_, part) in enumerate(objects, start=1):
        numbered[part.whole(item.picture.size)] = number
    files = (
        _save(
            plan,
            f"SegmentationClass/{item.stem}.png",
            _with_palette(_indices(plan, item), _colours(plan)),
        ),
        _save(
            plan,
            f"SegmentationObject/{item.stem}.png",
            _with_palette(numbered, _voc_palette()),
        ),
        f"Annotations/{item.stem}.xml",
    )
    (plan.out / "Annotations").mkdir(exist_ok=True)
    write_text(plan.out / files[-1], _voc_xml(plan, item, objects))
    return ItemRecord(files, {"stem": item.stem})


def _voc_xml(plan: ExportPlan, item: DatasetItem, objects: list[tuple[int, ClassRegion]]) -> str:
    """Describe the objects; VOC's boxes count pixels from 1 and name the last one within."""
    height, width = item.picture.size
    rows = []
    for place, part in objects:
        left, top, wide, high = part.box
        name = escape(plan.categories.classes[place - 1].name, quote=False)
        rows.append(
            f" <object>\n  <name>{name}</name>\n  <pose>Unspecified</pose>\n"
            "  <truncated>0</truncated>\n  <difficult>0</difficult>\n"
            f"  <bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin>"
            f"<xmax>{left + wide}</xmax><ymax>{top + high}</ymax></bndbox>\n </object>\n"
        )
    return (
        f"<annotation>\n <filename>{escape(item.name, quote=False)}</filename>\n"
        f" <size><width>{width}</width><height>{height}</height><depth>3</depth></size>\n"
        f" <segmented>1</segmented>\n{''.join(rows)}</annotation>\n"
    )


def _finish_voc(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write the list of pictures, and the colours by name as CVAT reads them."""
    listing = plan.out / "ImageSets" / "Segmentation" / "trainval.txt"
    listing.parent.mkdir(parents=True, exist_ok=True)
    write_text(listing, "".join(f"{each.data['stem']}\n" for each in written.values()))
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
    indices = _indices(plan, item)
    instances = indices.astype(np.uint16)
    counts: dict[int, int] = {}
    for place, part in _objects(plan, item):
        number = counts.get(place, 0)
        if place * _PER_CLASS + number > np.iinfo(np.uint16).max or number >= _PER_CLASS:
            raise SegappError(f"{item.name} has more parts than its numbers can tell apart")
        instances[part.whole(item.picture.size)] = place * _PER_CLASS + number
        counts[place] = number + 1
    base = f"gtFine/{item.stem}_gtFine"
    colours = np.array(_colours(plan), np.uint8)
    return ItemRecord(
        (
            _save(plan, f"{base}_labelIds.png", Image.fromarray(indices)),
            _save(plan, f"{base}_instanceIds.png", Image.fromarray(instances)),
            _save(plan, f"{base}_color.png", Image.fromarray(colours[indices])),
        )
    )


def _finish_cityscapes(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Say which number is which class."""
    del written
    rows = ["0,background\n"]
    rows += [
        f'{place},"{info.name.replace(chr(34), chr(34) * 2)}"\n'
        for place, info in enumerate(plan.categories.classes, start=1)
    ]
    path = plan.out / "gtFine" / "labels.csv"
    path.parent.mkdir(exist_ok=True)
    write_text(path, "id,name\n" + "".join(rows))
    return (path,)


INDEX_MAP_FORMATS = (
    DatasetFormat(
        "voc",
        "Pascal VOC (palette PNG and XML)",
        "SegmentationClass and SegmentationObject, where 0 is the background; boxes in "
        "Annotations; ImageSets; the colours in labelmap.txt.",
        per_region=True,
        add=_add_voc,
        finish=_finish_voc,
    ),
    DatasetFormat(
        "cityscapes",
        "Cityscapes (index PNG)",
        "gtFine: labelIds with the class from 1 (0 is the background), instanceIds with 1000 "
        "times the class plus the part, and a coloured one to look at.",
        per_region=True,
        add=_add_cityscapes,
        finish=_finish_cityscapes,
    ),
)
