"""Backgrounds that cut-outs are put before: a colour or an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageColor, ImageOps

from segapp.io.images import load_image

if TYPE_CHECKING:
    from numpy.typing import NDArray

Backdrop = tuple[int, int, int] | Path
"""A colour, or the file of an image, which is scaled and cropped to cover the cut-out's size."""


def backdrop_from_text(text: str) -> Backdrop:
    """Read a colour, such as ``#ffcc00`` or ``white``, or else the path of an image.

    >>> backdrop_from_text("#ffcc00"), backdrop_from_text("white")
    ((255, 204, 0), (255, 255, 255))
    >>> backdrop_from_text("beach.jpg")
    PosixPath('beach.jpg')
    """
    try:
        red, green, blue, *_ = ImageColor.getrgb(text)
    except ValueError:
        return Path(text)
    return red, green, blue


def backdrop_pixels(backdrop: Backdrop, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a background of a height and width, as ``H x W x 3``.

    Raises
    ------
    ImageError
        When its file is missing or no image.
    """
    height, width = size
    if not isinstance(backdrop, Path):
        return np.broadcast_to(np.array(backdrop, np.uint8), (height, width, 3))
    image = Image.fromarray(load_image(backdrop).rgb)
    return np.asarray(ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS))


def before_backdrop(
    rgba: NDArray[np.uint8], backdrop: NDArray[np.uint8] | None
) -> NDArray[np.uint8]:
    """Put ``H x W x 4`` straight colours before a background, if there is one."""
    if backdrop is None:
        return rgba
    alpha = rgba[..., 3:].astype(np.uint16)
    mixed = rgba[..., :3] * alpha + backdrop * (255 - alpha)
    return ((mixed + 127) // 255).astype(np.uint8)
