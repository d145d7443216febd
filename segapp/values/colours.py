"""Colours for classes: a proven few first, then as many as are wanted, always the same.

Those that a picture itself has much of would not be seen on it, and are passed over.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.values.classes import PALETTE, TWO_CLASSES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from segapp.values.classes import ClassInfo

Colour = tuple[int, int, int]

# Candidates beyond the palette: a grid fine enough for dozens of classes.
_STEPS = (0, 43, 85, 128, 170, 213, 255)
# Lightness (CIELAB) of a colour that is neither lost in shadow nor taken for paper.
_DARKEST, _LIGHTEST = 35.0, 90.0
# At half its strength a colour of less distance (CIELAB) hardly tints; where more than this share
# of a picture is so near to it, it does not tell what is marked.
_NEAR, _MUCH = 30.0, 0.05
_SAMPLES = 64  # pixels along a picture's longer side that stand for all
# From linear sRGB to XYZ relative to its white, D65.
_XYZ = np.array(
    [
        [0.4339534, 0.3762130, 0.1898430],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0177578, 0.1094756, 0.8727664],
    ]
)


def unused_colour(used: Collection[Colour], rgb: NDArray[np.uint8] | None = None) -> Colour:
    """Return a colour far from all used ones: of the palette while it lasts.

    On a picture ``rgb`` the first that is seen well there, or else the one that is seen best.
    """
    free = [colour for colour in PALETTE if colour not in used]
    if free:
        shares = _shares(free, rgb)
        seen = shares <= _MUCH
        return free[int(seen.argmax() if seen.any() else shares.argmin())]
    candidates, places = _candidates()
    taken = lab(np.array(list(used)))
    nearest = np.linalg.norm(places[:, np.newaxis] - taken, axis=2).min(axis=1)
    return candidates[int(nearest.argmax())]


def two_classes(rgb: NDArray[np.uint8]) -> tuple[ClassInfo, ...]:
    """Return object and background in their usual colours, or others where a picture has those."""
    usual = [info.colour for info in TWO_CLASSES]
    colours = list(usual)
    for index, share in enumerate(_shares(usual, rgb)):
        if share > _MUCH:
            colours[index] = unused_colour({*usual, *colours}, rgb)
    return tuple(
        replace(info, colour=colour) for info, colour in zip(TWO_CLASSES, colours, strict=True)
    )


def lab(rgb: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return sRGB colours (0 to 255) in CIELAB, where distance is what the eye sees."""
    share = rgb / 255.0
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    xyz = linear @ _XYZ.T
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = (root[..., k] for k in range(3))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _shares(colours: Sequence[Colour], rgb: NDArray[np.uint8] | None) -> NDArray[np.float64]:
    """Return how much of a picture looks nearly like each colour."""
    if rgb is None:
        return np.zeros(len(colours))
    step = max(max(rgb.shape[:2]) // _SAMPLES, 1)
    seen = lab(rgb[::step, ::step].reshape(-1, 3))
    apart = np.linalg.norm(seen[:, np.newaxis] - lab(np.array(colours)), axis=2)
    shares: NDArray[np.float64] = (apart < _NEAR).mean(axis=0)
    return shares


@cache
def _candidates() -> tuple[tuple[Colour, ...], NDArray[np.float64]]:
    colours = tuple(itertools.product(_STEPS, _STEPS, _STEPS))
    places = lab(np.array(colours))
    seen = (places[:, 0] >= _DARKEST) & (places[:, 0] <= _LIGHTEST)
    kept = tuple(colour for colour, fits in zip(colours, seen, strict=True) if fits)
    return kept, places[seen]
