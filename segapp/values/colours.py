"""Colours for classes: a proven few first, then as many as are wanted, always the same."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.values.document import PALETTE

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

Colour = tuple[int, int, int]

# Candidates beyond the palette: a grid fine enough for dozens of classes.
_STEPS = (0, 43, 85, 128, 170, 213, 255)
# Lightness (CIELAB) of a colour that is neither lost in shadow nor taken for paper.
_DARKEST, _LIGHTEST = 35.0, 90.0


def unused_colour(used: Collection[Colour]) -> Colour:
    """Return a colour far from all used ones: of the palette while it lasts."""
    for colour in PALETTE:
        if colour not in used:
            return colour
    candidates, places = _candidates()
    taken = _places(tuple(used))
    nearest = np.linalg.norm(places[:, np.newaxis] - taken, axis=2).min(axis=1)
    return candidates[int(nearest.argmax())]


@cache
def _candidates() -> tuple[tuple[Colour, ...], NDArray[np.float64]]:
    colours = tuple(itertools.product(_STEPS, _STEPS, _STEPS))
    places = _places(colours)
    seen = (places[:, 0] >= _DARKEST) & (places[:, 0] <= _LIGHTEST)
    kept = tuple(colour for colour, fits in zip(colours, seen, strict=True) if fits)
    return kept, places[seen]


def _places(colours: tuple[Colour, ...]) -> NDArray[np.float64]:
    """Return the colours in CIELAB, where distance is what the eye sees."""
    rgb = np.array(colours, np.float64).reshape(1, -1, 3) / 255
    from skimage.color import rgb2lab  # a window that opens with two classes needs none of it

    lab: NDArray[np.float64] = rgb2lab(rgb)[0]
    return lab
