"""Label images: for ImageJ and microscopy, Pascal VOC and Cityscapes."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
import zipfile
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from segapp.imaging.boundaries import polygons
from segapp.imaging.objects import objects_of
from segapp.io.export.datasets import (
    AnnotationScope,
    DatasetFormat,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    object_regions,
)
from segapp.io.export.rasters import palette_image, save_png
from segapp.model.validation import SegappError, as_file_name
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.io.export.datasets import ClassRegion
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture, Scale


_LARGEST = int(np.iinfo(np.uint16).max)
_PER_CENTIMETRE = {"nm": 1e7, "µm": 1e4, "um": 1e4, "mm": 10.0, "cm": 1.0, "m": 0.01}


def write_label_tiff(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    scale: Scale | None = None,
) -> tuple[Path, ...]:
    """Write the objects from 1 in 16 bits, with ImageJ's metadata and the pixel size."""
    import tifffile  # which the window's start does without

    values, told = _label_values(labelling, document, picture)
    metadata: dict[str, Any] = {"axes": "YX", "Info": json.dumps(told, ensure_ascii=True)}
    metadata |= {"min": 0.0, "max": float(max(int(values.max()), 1))}
    resolution = None
    scale = scale or picture.scale
    if scale is not None:
        metadata["unit"] = "um" if scale.unit == "µm" else scale.unit
        resolution = (1 / scale.pixel, 1 / scale.pixel)
    with atomic_write(path) as file:
        tifffile.imwrite(file, values, imagej=True, resolution=resolution, metadata=metadata)
    return (path,)


def write_label_ome(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    scale: Scale | None = None,
) -> tuple[Path, ...]:
    """Write the objects from 1 in 16 bits as an OME-TIFF with the pixel size."""
    import tifffile

    values, told = _label_values(labelling, document, picture)
    description = json.dumps(told, ensure_ascii=True)
    metadata: dict[str, Any] = {"axes": "YX", "Name": "objects", "Description": description}
    content = hashlib.sha256(values.tobytes() + description.encode("ascii")).digest()
    metadata["UUID"] = str(uuid.UUID(bytes=content[:16]))  # equal results give equal files
    scale = scale or picture.scale
    if scale is not None and scale.unit in _PER_CENTIMETRE:
        unit = "µm" if scale.unit == "um" else scale.unit
        for side in ("X", "Y"):
            metadata |= {f"PhysicalSize{side}": scale.pixel, f"PhysicalSize{side}Unit": unit}
    with atomic_write(path) as file:
        tifffile.imwrite(file, values, ome=True, metadata=metadata, compression="zlib")
    return (path,)


def _label_values(
    labelling: Labelling, document: Document, picture: Picture
) -> tuple[NDArray[np.uint16], dict[str, Any]]:
    """Return the label image, and class, number and name of each value."""
    found = objects_of(labelling, document, picture.rgb)
    if len(found.keys) > _LARGEST:
        raise SegappError(f"labels: 16 bits hold {_LARGEST} objects, got {len(found.keys)}")
    rows = {}
    for value, key in enumerate(found.keys, start=1):
        info = document.object_info(key)
        rows[str(value)] = {"class": document.classes[key[0]].name, "object": key[1]}
        rows[str(value)] |= {"name": info.name} if info.name else {}
        flags = {"crowd": info.crowd, "occluded": info.occluded}
        rows[str(value)] |= {flag: True for flag, is_set in flags.items() if is_set}
    return found.index_map.astype(np.uint16), {"labels": rows}


# A region of ImageJ is a header of 64 bytes, a path of floats (0 moves, 1 draws, 4 closes), a
# second header of 64 bytes and the name in UTF-16, all big-endian. A path may have several rings,
# so that all parts of an object are one region.

_VERSION, _RECTANGLE = 228, 1
_MOVE, _LINE, _CLOSE = 0.0, 1.0, 4.0


def write_roi_set(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    per: AnnotationScope = AnnotationScope.OBJECT,
) -> tuple[Path, ...]:
    """Write a region for each object, to be opened by ImageJ's ROI Manager."""
    names: set[str] = set()
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, region in object_regions(labelling, document, picture, per):
            name = _unused(_name(info, region), names)
            entry = zipfile.ZipInfo(f"{name}.roi", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, _region_bytes(name, region), zipfile.ZIP_DEFLATED)
    return (path,)


def _name(info: ClassInfo, region: ClassRegion) -> str:
    owner = region.owner
    if owner is None:
        name = info.name
    else:
        name = f"{info.name}-{owner.number:04}" + (f"-{owner.name}" if owner.name else "")
    return as_file_name(name)


def _unused(name: str, taken: set[str]) -> str:
    """Return a name that no other region of the set has, whatever the case of letters."""
    tried, number = name, 1
    while tried.casefold() in taken:
        number += 1
        tried = f"{name} {number}"
    taken.add(tried.casefold())
    return tried


def _region_bytes(name: str, region: ClassRegion) -> bytes:
    path: list[float] = []
    for ring in polygons(region.mask):
        for step, (x, y) in enumerate(ring):
            path += [_LINE if step else _MOVE, x + region.left, y + region.top]
        path.append(_CLOSE)
    left, top, width, height = (min(value, 32767) for value in region.box)
    bounds = (top, left, min(top + height, 32767), min(left + width, 32767))
    header = struct.pack(
        ">4shBxhhhhH16xhi", b"Iout", _VERSION, _RECTANGLE, *bounds, 0, 0, len(path)
    )
    second = 64 + 4 * len(path)
    header = header.ljust(60, b"\0") + struct.pack(">i", second)
    written = name.encode("utf-16-be")
    details = struct.pack(">16xii", second + 64, len(written) // 2).ljust(64, b"\0")
    return header + np.array(path, ">f4").tobytes() + details + written


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
