"""Pairs of neighbouring pixels, as slices of one image."""

from __future__ import annotations

Box = tuple[slice, slice]
"""Rows and columns."""

_ALL, _BUT_LAST, _BUT_FIRST = slice(None), slice(None, -1), slice(1, None)

ACROSS: tuple[Box, Box] = ((_ALL, _BUT_LAST), (_ALL, _BUT_FIRST))
"""Each pixel that has a right neighbour, and that neighbour."""

DOWN: tuple[Box, Box] = ((_BUT_LAST, _ALL), (_BUT_FIRST, _ALL))
"""Each pixel that has a lower neighbour, and that neighbour."""

BOTH_WAYS: tuple[tuple[Box, Box], ...] = (ACROSS, ACROSS[::-1], DOWN, DOWN[::-1])
"""All pairs of a pixel and a neighbour, from either side."""
