"""CIELAB, and class colours that stand out on an image."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.model.classes import PALETTE, TWO_CLASSES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from segapp.model.classes import ClassInfo

RGB = tuple[int, int, int]

# From linear sRGB to XYZ, and the XYZ of white (D65), as `skimage.color` has them: the learner's
# answers depend on every bit of the result.
_XYZ = np.array(
    [
        [0.412453, 0.357580, 0.180423],
        [0.212671, 0.715160, 0.072169],
        [0.019334, 0.119193, 0.950227],
    ]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])
# Candidates beyond the palette: a grid fine enough for dozens of classes.
_GRID = (0, 43, 85, 128, 170, 213, 255)
# Lightness of a colour that is neither lost in shadow nor taken for paper.
_DARKEST, _LIGHTEST = 35.0, 90.0
# A tint at half strength is hardly visible on a colour that is nearer than this; where more than
# this share of an image is so near, the tint does not show what is marked.
_MIN_DISTANCE, _MAX_SHARE = 30.0, 0.05
_SAMPLES = 64  # pixels along an image's longer side that stand for all


def rgb_to_lab(rgb: NDArray[Any]) -> NDArray[np.float64]:
    """Convert sRGB (bytes, or 0 to 1) to CIELAB, bit for bit as scikit-image.

    `skimage.color` takes a tenth of a second to import, and the window opens images without it.
    """
    values = rgb * (1 / 255) if rgb.dtype == np.uint8 else rgb.astype(np.float64)
    bright = values > 0.04045
    values[bright] = np.power((values[bright] + 0.055) / 1.055, 2.4)
    values[~bright] /= 12.92
    xyz = values @ _XYZ.T / _WHITE
    bright = xyz > 0.008856
    xyz[bright] = np.cbrt(xyz[bright])
    xyz[~bright] = 7.787 * xyz[~bright] + 16.0 / 116.0
    x, y, z = xyz[..., 0], xyz[..., 1], xyz[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def unused_colour(used: Collection[RGB], rgb: NDArray[np.uint8] | None = None) -> RGB:
    """Return a colour far from all used ones, from the palette while it lasts.

    On an image ``rgb``, colours that the image itself has much of are passed over.
    """
    free = [colour for colour in PALETTE if colour not in used]
    if free:
        shares = _shares(free, rgb)
        visible = shares <= _MAX_SHARE
        return free[int(visible.argmax() if visible.any() else shares.argmin())]
    candidates, lab = _candidates()
    taken = rgb_to_lab(np.array(list(used), np.uint8))
    nearest = np.linalg.norm(lab[:, np.newaxis] - taken, axis=2).min(axis=1)
    return candidates[int(nearest.argmax())]


def default_classes(rgb: NDArray[np.uint8]) -> tuple[ClassInfo, ...]:
    """Return object and background, in colours that are rare in an image."""
    usual = [info.colour for info in TWO_CLASSES]
    colours = list(usual)
    for index, share in enumerate(_shares(usual, rgb)):
        if share > _MAX_SHARE:
            colours[index] = unused_colour({*usual, *colours}, rgb)
    return tuple(
        replace(info, colour=colour) for info, colour in zip(TWO_CLASSES, colours, strict=True)
    )


def _shares(colours: Sequence[RGB], rgb: NDArray[np.uint8] | None) -> NDArray[np.float64]:
    """Return the share of an image's pixels that look nearly like each colour."""
    if rgb is None:
        return np.zeros(len(colours))
    step = max(max(rgb.shape[:2]) // _SAMPLES, 1)
    pixels = rgb_to_lab(rgb[::step, ::step].reshape(-1, 3))
    lab = rgb_to_lab(np.array(colours, np.uint8))
    distances = np.linalg.norm(pixels[:, np.newaxis] - lab, axis=2)
    return np.asarray((distances < _MIN_DISTANCE).mean(axis=0))


@cache
def _candidates() -> tuple[tuple[RGB, ...], NDArray[np.float64]]:
    colours = tuple(itertools.product(_GRID, _GRID, _GRID))
    lab = rgb_to_lab(np.array(colours, np.uint8))
    usable = (lab[:, 0] >= _DARKEST) & (lab[:, 0] <= _LIGHTEST)
    return tuple(itertools.compress(colours, usable)), lab[usable]
