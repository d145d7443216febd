"""Label images and sets of regions for ImageJ, Fiji and other microscopy programs."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.imaging.objects import objects_of
from segapp.imaging.polygons import polygons
from segapp.io.export.datasets import AnnotationScope, object_regions
from segapp.model.validation import SegappError
from shlcore.atomic_file import atomic_write

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

    values, told = _label_values(labelling, document)
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

    values, told = _label_values(labelling, document)
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
    labelling: Labelling, document: Document
) -> tuple[NDArray[np.uint16], dict[str, Any]]:
    """Return the label image, and class, number and name of each value."""
    found = objects_of(labelling, document)
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
        for info, region in object_regions(labelling, document, per):
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
    return "".join("_" if each in '/\\:*?"<>|' or ord(each) < 32 else each for each in name)


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
