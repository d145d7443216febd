"""Marks that are drawn as a shape: a polygon, a box, a lasso, or all that lies around one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.values.document import Patch, Stroke

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Point = tuple[float, float]

_CORE = 0.25
"""Of the way from the middle of a shape to its outline, that a dab for the object reaches."""


def polygon_mask(points: Sequence[Point], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the pixels whose centres lie within a polygon, even-odd where it crosses itself.

    ``points`` are ``(x, y)`` as those of strokes; pixels of a picture of ``size`` (height,
    width) only.
    """
    mask = np.zeros(size, bool)
    if len(points) < 3:
        return mask
    corners = np.asarray(points, float)
    top = max(int(np.floor(corners[:, 1].min())), 0)
    bottom = min(int(np.ceil(corners[:, 1].max())), size[0])
    x, y = corners[:, 0], corners[:, 1]
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    for row in range(top, bottom):
        centre = row + 0.5
        crossing = (y <= centre) != (next_y <= centre)
        share = (centre - y[crossing]) / (next_y[crossing] - y[crossing])
        places = np.sort(x[crossing] + share * (next_x[crossing] - x[crossing]))
        for left, right in places.reshape(-1, 2):
            first, last = int(np.ceil(left - 0.5)), int(np.ceil(right - 0.5))
            mask[row, max(first, 0) : max(last, 0)] = True
    return mask


def box_corners(one: Point, other: Point) -> tuple[Point, ...]:
    """Return the corners of the box between two points."""
    return one, (other[0], one[1]), other, (one[0], other[1])


def inside_of(points: Sequence[Point], size: tuple[int, int], label: int | None) -> Patch | None:
    """Return the mark of a shape's inside, or ``None`` when it holds no pixel."""
    mask = polygon_mask(points, size)
    return Patch.of_mask(mask, label) if mask.any() else None


def core_of(outside: Patch, size: tuple[int, int], label: int) -> Stroke | None:
    """Return a dab in the middle of what a mark leaves free: where the object is, most likely."""
    free = np.ones(size, bool)
    rows = slice(outside.top, outside.top + outside.height)
    columns = slice(outside.left, outside.left + outside.width)
    free[rows, columns] = ~outside.mask()
    if not free.any():
        return None
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(free, 1)))[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    radius = max(_CORE * float(depth[y, x]), 0.5)
    return Stroke(((float(x) + 0.5, float(y) + 0.5),), radius, label)


def outside_of(points: Sequence[Point], size: tuple[int, int], label: int | None) -> Patch | None:
    """Return the mark of all that lies around a shape: around an object, what is not it."""
    mask = polygon_mask(points, size)
    return Patch.of_mask(~mask, label) if mask.any() and not mask.all() else None
