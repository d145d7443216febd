"""TIFF files with more than 8 bits a channel."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, TYPE_CHECKING

import numpy as np

from segapp.files.damage import DAMAGE
from segapp.files.display_depth import Decoded, show_deep, upright
from segapp.files.image_limits import LARGEST_DECODED, ImageError, check_gain, check_size
from segapp.files.pages import TIFF_BEGINNINGS, check_page, joined, page_note, planes_of
from segapp.values.original import Original
from segapp.values.wording import shown

if TYPE_CHECKING:
    from pathlib import Path

    import tifffile
    from numpy.typing import NDArray

    from segapp.values.showing import Showing

_ALPHA = (1, 2)  # values of the tag ExtraSamples
_GREY = (0, 1)  # values of the tag PhotometricInterpretation
_MOST_COLOURS = 4  # that Pillow reads


def decode_deep_tiff(path: Path, file: IO[bytes], page: int, showing: Showing) -> Decoded | None:
    """Decode a TIFF of more than 8 bits or many channels; ``None`` leaves the file to Pillow.

    Pillow keeps only the upper 8 bits of deep colour; tifffile in turn lacks the decoders of
    some compressions, so that each file goes to the one that can.
    """
    file.seek(0)
    if file.read(4) not in TIFF_BEGINNINGS:
        return None
    import tifffile  # which most pictures and the window's start do without

    file.seek(0)
    try:
        with tifffile.TiffFile(file) as tiff:
            pictures = planes_of(tiff)
            check_page(path, page, len(pictures))
            planes = [tiff.pages[index] for index in pictures[page]]
            first = planes[0].keyframe
            if first.dtype is None or _is_left_to_pillow(planes):
                return None
            values = _values(path, planes)
            inverted = int(first.photometric) == 0
            has_alpha = any(int(kind) in _ALPHA for kind in first.extrasamples)
            turn = first.tags.valueof(274, 1)
    except ImageError:
        raise
    except DAMAGE:
        return None
    has_alpha = has_alpha and values.shape[2] > 1 and len(planes) == 1
    values = upright(values, turn if isinstance(turn, int) else 1)
    colours = values[:, :, :-1] if has_alpha else values
    original = Original(colours, inverted=inverted, apart=len(planes) > 1)
    decoded = show_deep(original, values[:, :, -1] if has_alpha else None, showing)
    return replace(decoded, note=joined((decoded.note, page_note(page, len(pictures)))))


def _is_left_to_pillow(planes: list[tifffile.TiffPage]) -> bool:
    first = planes[0].keyframe
    if first.dtype.itemsize > 1:
        return False
    if first.dtype != np.uint8:
        return True
    several = len(planes) > 1 and int(first.photometric) in _GREY
    return not several and first.samplesperpixel <= _MOST_COLOURS


def _values(path: Path, planes: list[tifffile.TiffPage]) -> NDArray[np.generic]:
    """Decode one page, or the pages of one picture's channels."""
    first = planes[0].keyframe
    for plane in planes:
        _check(path, plane, len(planes))
    if len(planes) == 1:
        return _channels_last(path, planes[0].asarray(), first.axes)
    values = np.empty((first.imagelength, first.imagewidth, len(planes)), first.dtype)
    for channel, plane in enumerate(planes):
        values[:, :, channel] = plane.asarray()
    return _channels_last(path, values, "YXS")


def _check(path: Path, page: tifffile.TiffPage, count: int) -> None:
    told = page.keyframe  # which pages like it refer to
    check_size(path, told.imagewidth, told.imagelength)
    if told.nbytes * count > LARGEST_DECODED:
        raise ImageError(
            f"{shown(path.name)} is too large: its channels take {told.nbytes * count >> 20} MB, "
            f"and {LARGEST_DECODED >> 20} MB can be worked on."
        )
    stored = min(sum(page.databytecounts), page.parent.filehandle.size)
    check_gain(path, int(told.compression), told.nbytes, stored)


def _channels_last(path: Path, values: NDArray[np.generic], axes: str) -> NDArray[np.generic]:
    name = shown(path.name)
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        raise ImageError(f"{name}: wanted whole or floating-point numbers, got {values.dtype}.")
    values = np.moveaxis(values, axes.index("S"), -1) if "S" in axes else values[..., np.newaxis]
    if values.ndim != 3 or not values.size:
        raise ImageError(f"{name}: wanted a picture of two dimensions, got axes {axes}.")
    return values
