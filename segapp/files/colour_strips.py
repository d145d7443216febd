"""Pillow's pixels as RGB and alpha, a few rows at a time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageCms

from segapp.files.damage import DAMAGE
from segapp.files.display_depth import lay_on_white
from segapp.files.row_strips import row_strips

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def colours_of(image: Image.Image) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Return the colours of a loaded image in sRGB, transparent parts blended with white.

    Alpha that hides nothing becomes ``None``.
    """
    shape = (image.height, image.width)
    rgb = np.empty((*shape, 3), np.uint8)
    alpha = np.empty(shape, np.uint8) if image.has_transparency_data else None
    convert = _plain if alpha is not None else _into_srgb(image)
    for rows in row_strips((*shape, 4)):
        strip = image.crop((0, rows.start, image.width, rows.stop))
        if alpha is None:
            rgb[rows] = np.asarray(convert(strip))
        else:
            rgba = np.asarray(strip.convert("RGBA"))
            rgb[rows], alpha[rows] = rgba[:, :, :3], rgba[:, :, 3]
            lay_on_white(rgb[rows], alpha[rows])
    if alpha is not None and (alpha == 255).all():
        alpha = None
    return rgb, alpha


def _plain(image: Image.Image) -> Image.Image:
    return image.convert("RGB")


def _into_srgb(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    """Choose the embedded colour profile where that works, the plain conversion elsewhere."""
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "CMYK"):
        return _plain
    try:
        transform = ImageCms.buildTransform(
            ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"),
            image.mode,
            "RGB",
        )
        transform.apply(Image.new(image.mode, (1, 1)))
    except (ImageCms.PyCMSError, *DAMAGE):
        return _plain  # a broken profile is no reason to refuse the picture
    return transform.apply
