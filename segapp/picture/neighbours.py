"""Pairs of neighbouring pixels, as slices of one image."""

from __future__ import annotations

import math

Box = tuple[slice, slice]
"""Rows and columns."""

_ALL, _BUT_LAST, _BUT_FIRST = slice(None), slice(None, -1), slice(1, None)

ACROSS: tuple[Box, Box] = ((_ALL, _BUT_LAST), (_ALL, _BUT_FIRST))
"""Each pixel that has a right neighbour, and that neighbour."""

DOWN: tuple[Box, Box] = ((_BUT_LAST, _ALL), (_BUT_FIRST, _ALL))
"""Each pixel that has a lower neighbour, and that neighbour."""

_FALLING: tuple[Box, Box] = ((_BUT_LAST, _BUT_LAST), (_BUT_FIRST, _BUT_FIRST))
_RISING: tuple[Box, Box] = ((_BUT_LAST, _BUT_FIRST), (_BUT_FIRST, _BUT_LAST))

PAIRS: tuple[tuple[Box, Box], ...] = (ACROSS, DOWN, _FALLING, _RISING)
"""Each pixel and its neighbour to the right, below, below to the right and below to the left."""

STEPS: tuple[tuple[int, int], ...] = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Rows down and columns to the right from the one to the other of each kind of `PAIRS`."""

_STRAIGHT = 1 / (1 + math.sqrt(2))
LENGTHS: tuple[float, ...] = (
    _STRAIGHT,
    _STRAIGHT,
    _STRAIGHT / math.sqrt(2),
    _STRAIGHT / math.sqrt(2),
)
"""What it counts to part a pair of each kind, so that a boundary is about as long as it looks,
whatever its direction (Cauchy and Crofton: the angle between the kinds over the distance of the
pair). Along rows, columns and diagonals it has its length in pixels, in between at most 8 % more;
with four neighbours a diagonal would be 41 % too long, and cuts would run along rows."""

AROUND: tuple[tuple[int, int], ...] = (
    (0, 0),
    *((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right),
)
"""Rows down and columns to the right from a pixel to itself, then to all its neighbours in the
order of rows."""
