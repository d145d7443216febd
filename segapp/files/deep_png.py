"""PNG files with 16 bits a channel and more than one channel.

Pillow keeps only the upper bytes of these. It can be told which byte of a pair is the upper one,
though: decoded once as it should be and once as if the bytes were swapped, both are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from PIL import Image
    from PIL.ImageFile import ImageFile

_UPPER_AND_LOWER = {"RGB": ("RGB;16B", "RGB;16L"), "RGBA": ("RGBA;16B", "RGBA;16L")}
_GREY_AND_ALPHA = "LA;16B"
_BITS_AT = 24  # where a PNG tells how many bits a channel has
HEADER = _BITS_AT + 1


def is_deep_png(image: Image.Image, header: bytes) -> bool:
    """Tell whether an image that is not yet loaded is one that Pillow would cut to 8 bits."""
    return image.format == "PNG" and header[_BITS_AT:HEADER] == b"\x10"


def deep_values(opened: Callable[[], ImageFile]) -> NDArray[np.uint16] | None:
    """Return all channels of a deep PNG, ``H x W x channels``; ``None`` leaves it to Pillow.

    That is for colours with a profile, which are a photograph's and become sRGB there, for a
    colour that stands for transparency, and for kinds that are not known.

    Parameters
    ----------
    opened
        Opens the file once more, nothing decoded.
    """
    with opened() as image:
        # Four bytes a pixel: grey and alpha, the upper one first.
        if _raw_mode(image) == _GREY_AND_ALPHA:
            raw = _decoded(image, "RGBA", "RGBA").astype(np.uint16)
            return (raw[:, :, ::2] << np.uint16(8)) | raw[:, :, 1::2]
        mode = image.mode
        if _raw_mode(image) not in _UPPER_AND_LOWER.get(
            mode, ()
        ) or not image.info.keys().isdisjoint(("icc_profile", "transparency")):
            return None
        values = _decoded(image, mode, _UPPER_AND_LOWER[mode][0]).astype(np.uint16)
    values <<= np.uint16(8)
    with opened() as image:
        values |= _decoded(image, mode, _UPPER_AND_LOWER[mode][1])
    return values


def _raw_mode(image: ImageFile) -> str:
    """Return what Pillow takes the bytes for."""
    return str(image.tile[0][3])


def _decoded(image: ImageFile, mode: str, raw: str) -> NDArray[np.uint8]:
    """Decode an image with another idea of what its bytes are."""
    image._mode = mode  # as plugins set it; a tile cannot say it
    # A plain tuple: Pillow 10 has no other kind.
    image.tile = [(*image.tile[0][:3], raw)]  # type: ignore[list-item]
    image.load()
    return np.asarray(image)
