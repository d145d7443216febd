"""TIFF files with more than 8 bits a channel."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np
import tifffile

from segapp.files.damage import DAMAGE
from segapp.files.display_depth import Decoded, show_deep, upright
from segapp.files.image_limits import LARGEST_DECODED, ImageError, check_gain, check_size
from segapp.values.wording import shown

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_ALPHA = (1, 2)  # values of the tag ExtraSamples


def decode_deep_tiff(path: Path, file: IO[bytes]) -> Decoded | None:
    """Decode a TIFF with more than 8 bits a channel; ``None`` leaves the file to Pillow.

    Pillow keeps only the upper 8 bits of deep colour; tifffile in turn lacks the decoders of
    some compressions, so that each file goes to the one that can.
    """
    file.seek(0)
    if file.read(4) not in _BEGINNINGS:
        return None
    file.seek(0)
    try:
        with tifffile.TiffFile(file) as tiff:
            page = tiff.pages[0]
            if page.dtype is None or page.dtype.itemsize == 1:
                return None
            _check(path, page)
            values = page.asarray()
            axes, inverted = page.axes, int(page.photometric) == 0
            has_alpha = any(int(kind) in _ALPHA for kind in page.extrasamples)
            turn = page.tags.valueof(274, 1)
            count = len(tiff.pages)
    except ImageError:
        raise
    except DAMAGE:
        return None
    values = _channels_last(path, values, axes)
    has_alpha = has_alpha and values.shape[2] > 1
    turn = turn if isinstance(turn, int) else 1
    rgb, alpha, note = show_deep(upright(values, turn), has_alpha=has_alpha, inverted=inverted)
    return rgb, alpha, note + (f", first of {count} pages" if count > 1 else "")


def _check(path: Path, page: tifffile.TiffPage) -> None:
    check_size(path, page.imagewidth, page.imagelength)
    if page.nbytes > LARGEST_DECODED:
        raise ImageError(
            f"{shown(path.name)} is too large: its channels take {page.nbytes >> 20} MB, "
            f"and {LARGEST_DECODED >> 20} MB can be worked on."
        )
    stored = min(sum(page.databytecounts), page.parent.filehandle.size)
    check_gain(path, int(page.compression), page.nbytes, stored)


def _channels_last(path: Path, values: NDArray[np.generic], axes: str) -> NDArray[np.generic]:
    name = shown(path.name)
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        raise ImageError(f"{name}: wanted whole or floating-point numbers, got {values.dtype}.")
    values = np.moveaxis(values, axes.index("S"), -1) if "S" in axes else values[..., np.newaxis]
    if values.ndim != 3 or not values.size:
        raise ImageError(f"{name}: wanted a picture of two dimensions, got axes {axes}.")
    return values
