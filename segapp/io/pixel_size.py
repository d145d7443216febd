"""Pixel size and channel names that a TIFF tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from segapp.io.pages import DAMAGE
from segapp.model.picture import Scale
from segapp.model.validation import Message, sanitize

if TYPE_CHECKING:
    import tifffile

_MAX_XML = 16 << 20  # bytes; a plate of thousands of images has a few million
_MICROMETRES = frozenset({"um", "µm", "μm", "micron", "microns", "micrometer", "\\u00b5m"})
_MAX_NAME = 80
_PER_UNIT = {2: 25_400.0, 3: 10_000.0}  # micrometres of an inch and of a centimetre
_UNEVEN = 1e-3  # share by which the sides of a square pixel may differ


@dataclass(frozen=True, slots=True)
class TiffMetadata:
    """The size of a pixel and the names of the channels, as far as they are told.

    ``slice_distance`` is in the unit of the scale, ``interval`` in seconds; 0 where they are not
    told.
    """

    scale: Scale | None = None
    names: tuple[str, ...] = ()
    slice_distance: float = 0.0
    interval: float = 0.0


def read_metadata(tiff: tifffile.TiffFile) -> TiffMetadata:
    """Read the metadata of ImageJ or OME, or else the resolution of the first page.

    Damage counts as nothing told; pixels that are not square have no size.
    """
    try:
        if tiff.is_ome:
            return _of_ome(tiff.ome_metadata or "")
        if tiff.is_imagej:
            return _of_imagej(tiff)
        return TiffMetadata(_resolution(tiff, None, Message("TIFF resolution")))
    except (*DAMAGE, ElementTree.ParseError):
        return TiffMetadata()


def _of_ome(text: str) -> TiffMetadata:
    if len(text) > _MAX_XML or "<!DOCTYPE" in text or "<!ENTITY" in text:
        return TiffMetadata()
    root = ElementTree.fromstring(text)
    pixels = root.find("{*}Image/{*}Pixels")
    if pixels is None:
        return TiffMetadata()
    units = [_unit(pixels.get(f"PhysicalSize{side}Unit", "µm")) for side in "XY"]
    scale = None
    if units[0] == units[1]:
        sides = [pixels.get(f"PhysicalSize{side}") for side in "XY"]
        scale = _scale(sides[0], sides[1], units[0], "OME")
    names = [sanitize(channel.get("Name", ""))[:_MAX_NAME] for channel in pixels if _is(channel)]
    steps = (_length(pixels.get(name)) for name in ("PhysicalSizeZ", "TimeIncrement"))
    return TiffMetadata(scale, tuple(names), *steps)


def _is(element: ElementTree.Element) -> bool:
    """Return whether an element describes a channel."""
    return element.tag.rpartition("}")[2] == "Channel"


def _of_imagej(tiff: tifffile.TiffFile) -> TiffMetadata:
    told = tiff.imagej_metadata or {}
    unit = _unit(str(told.get("unit", "")))
    scale = None
    if unit not in ("", "px", "pixel", "pixels"):
        scale = _resolution(tiff, unit, "ImageJ")
    labels = told.get("Labels", told.get("labels", []))
    labels = [labels] if isinstance(labels, str) else list(labels)
    n_channels = int(told.get("channels", 1))
    names = [sanitize(str(label))[:_MAX_NAME] for label in labels[:n_channels]]
    steps = (_length(told.get(name)) for name in ("spacing", "finterval"))
    return TiffMetadata(scale, tuple(names) if len(names) == n_channels else (), *steps)


def _length(told: object) -> float:
    """Return a length that is told, 0 where there is none."""
    length = float(str(told)) if told is not None else 0.0
    return length if math.isfinite(length) and length > 0 else 0.0


def _resolution(tiff: tifffile.TiffFile, unit: str | None, source: str) -> Scale | None:
    """Return the scale of the tags; ``None`` is inch or centimetre, as they tell."""
    tags = tiff.pages.first.tags
    sides = []
    for name in ("XResolution", "YResolution"):
        above, below = tags.valueof(name, (0, 0))
        sides.append(below / above if above else 0.0)
    if unit is not None:
        return _scale(sides[0], sides[1], unit, source)
    per_unit = _PER_UNIT.get(int(tags.valueof("ResolutionUnit", 1)))
    if per_unit is None:
        return None
    return _scale(sides[0] * per_unit, sides[1] * per_unit, "µm", source)


def _scale(x: object, y: object, unit: str, source: str) -> Scale | None:
    width, height = (float(str(side)) if side is not None else 0.0 for side in (x, y))
    if not (math.isfinite(width) and width > 0 and abs(height / width - 1) < _UNEVEN):
        return None
    return Scale(float(f"{width:.9g}"), unit, source)


def _unit(told: str) -> str:
    """Return a unit as it is written here."""
    name = sanitize(told.strip())[:_MAX_NAME]
    return "µm" if name.casefold() in _MICROMETRES else name
