"""Strokes as pixels: what the brush covers, the same on every platform."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from segapp.document import Document, Mark, Patch, Stroke

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNMARKED = -1
# The half diagonal of a pixel: a thinner brush could slip between the pixels' centres, so that
# a click marked nothing and a line had gaps.
THINNEST = math.sqrt(0.5)

Rectangle = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are outside."""


def rasterize(document: Document, size: tuple[int, int]) -> NDArray[np.int16]:
    """Paint all strokes in their order.

    Returns
    -------
    labels
        int16 of ``size`` (height, width): the class of each marked pixel, -1 elsewhere.
    """
    labels = np.full(size, UNMARKED, dtype=np.int16)
    for mark in document.strokes:
        stamp(labels, mark)
    return labels


def stamp(labels: NDArray[np.int16], mark: Mark) -> Rectangle:
    """Paint one stroke into ``labels`` in place and return the rectangle it may have touched.

    A pixel is marked when its centre lies within the brush's radius of the stroke's path, where
    the radius goes from point to point in proportion. Outside the image nothing happens.
    """
    value = UNMARKED if mark.label is None else mark.label
    if isinstance(mark, Patch):
        return _stamp_patch(labels, mark, value)
    touched = (0, 0, 0, 0)
    for start, end, r0, r1 in _segments(mark):
        touched = _union(touched, _stamp_segment(labels, start, end, (r0, r1), value))
    return touched


def _segments(
    stroke: Stroke,
) -> list[tuple[tuple[float, float], tuple[float, float], float, float]]:
    pressures = stroke.pressures or (1.0,) * len(stroke.points)
    radii = [max(stroke.radius * pressure, THINNEST) for pressure in pressures]
    if len(stroke.points) == 1:
        return [(stroke.points[0], stroke.points[0], radii[0], radii[0])]
    return list(zip(stroke.points, stroke.points[1:], radii, radii[1:], strict=False))


def _stamp_segment(
    labels: NDArray[np.int16],
    start: tuple[float, float],
    end: tuple[float, float],
    radii: tuple[float, float],
    value: int,
) -> Rectangle:
    reach = max(radii)
    height, width = labels.shape
    left = max(math.floor(min(start[0], end[0]) - reach), 0)
    top = max(math.floor(min(start[1], end[1]) - reach), 0)
    right = min(math.ceil(max(start[0], end[0]) + reach), width)
    bottom = min(math.ceil(max(start[1], end[1]) + reach), height)
    if left >= right or top >= bottom:
        return (0, 0, 0, 0)
    x = np.arange(left, right) + 0.5 - start[0]
    y = (np.arange(top, bottom) + 0.5 - start[1])[:, np.newaxis]
    covered = _covered(x, y, (end[0] - start[0], end[1] - start[1]), radii)
    labels[top:bottom, left:right][covered] = value
    return left, top, right, bottom


def _covered(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    step: tuple[float, float],
    radii: tuple[float, float],
) -> NDArray[np.bool_]:
    """Tell which points (relative to the start) the disc covers on its way along ``step``.

    For a point at ``along`` and ``across`` the path, distance minus radius is convex in the
    place on the path, so that the best place is the free minimum, moved into the path.
    """
    r0, r1 = radii
    length = math.hypot(*step)
    growth = (r1 - r0) / length if length else math.copysign(math.inf, r1 - r0)
    if abs(growth) >= 1:  # one end's disc holds all the others
        cx, cy, radius = (*step, r1) if r1 > r0 else (0.0, 0.0, r0)
        return np.asarray((x - cx) ** 2 + (y - cy) ** 2 <= radius**2)
    along = (x * step[0] + y * step[1]) / length
    across = (x * step[1] - y * step[0]) / length
    place = along + np.abs(across) * (growth / math.sqrt(1 - growth**2))
    np.clip(place, 0.0, length, out=place)
    return np.asarray((along - place) ** 2 + across**2 <= (r0 + growth * place) ** 2)


def _stamp_patch(labels: NDArray[np.int16], patch: Patch, value: int) -> Rectangle:
    height, width = labels.shape
    left, top = max(patch.left, 0), max(patch.top, 0)
    right = min(patch.left + patch.width, width)
    bottom = min(patch.top + patch.height, height)
    if left >= right or top >= bottom:
        return (0, 0, 0, 0)
    inside = patch.mask()[
        top - patch.top : bottom - patch.top, left - patch.left : right - patch.left
    ]
    labels[top:bottom, left:right][inside] = value
    return left, top, right, bottom


def _union(first: Rectangle, second: Rectangle) -> Rectangle:
    if first[0] >= first[2]:
        return second
    if second[0] >= second[2]:
        return first
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )
