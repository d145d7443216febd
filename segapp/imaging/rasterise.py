"""Rasterisation of strokes, polygons, boxes and lassos."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.model.document import Document, Mark, Patch, Stroke

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Rectangle

Point = tuple[float, float]
_End = tuple[Point, float]
_Segment = tuple[_End, _End]
"""Two points, each with the brush's radius there."""

UNMARKED = -1
# The half diagonal of a pixel: a thinner brush could slip between the pixels' centres, so that
# a click marked nothing and a line had gaps.
MIN_RADIUS = math.sqrt(0.5)
EMPTY_RECTANGLE: Rectangle = (0, 0, 0, 0)
_CORE = 0.25
"""Share of the way from the middle of a shape to its contour that a dab for the object covers."""


def rasterize(document: Document, size: tuple[int, int]) -> NDArray[np.int16]:
    """Paint all strokes in their order.

    Returns
    -------
    labels
        int16 of ``size`` (height, width): the class of each marked pixel, -1 elsewhere.
    """
    return rasterize_marks(document.strokes, size)


def rasterize_marks(marks: Iterable[Mark], size: tuple[int, int]) -> NDArray[np.int16]:
    """Paint marks in their order, as `rasterize` does."""
    labels = np.full(size, UNMARKED, dtype=np.int16)
    for mark in marks:
        patch = mark_patch(mark, size)
        if patch is not None:
            paint_mark(labels, patch)
    return labels


def paint_mark(labels: NDArray[np.int16], mark: Mark, *, unmarked: int = UNMARKED) -> Rectangle:
    """Paint one mark into ``labels`` in place and return the rectangle around it.

    A pixel is marked when its centre lies within the brush's radius of the stroke's path, where
    the radius goes from point to point in proportion. Outside the image nothing happens.

    Parameters
    ----------
    unmarked
        The number of unmarked pixels; the first class has the next.
    """
    value = unmarked if mark.label is None else unmarked + 1 + mark.label
    if isinstance(mark, Patch):
        return _paint_patch(labels, mark, value)
    for (left, top, right, bottom), covered in _covered_strips(mark, labels.shape):
        labels[top:bottom, left:right][covered] = value
    return _bounds(mark, labels.shape)


def mark_patch(mark: Mark, size: tuple[int, int]) -> Patch | None:
    """Return a mark's pixels in an image, or ``None`` when it lies outside."""
    return mark if isinstance(mark, Patch) else _stroke_patch(mark, size)


# Strokes do not change, and each of them is asked for again with every stroke that follows.
@lru_cache(maxsize=2048)
def _stroke_patch(stroke: Stroke, size: tuple[int, int]) -> Patch | None:
    x, y, end_x, end_y = _bounds(stroke, size)
    if x >= end_x or y >= end_y:
        return None
    pixels = np.zeros((end_y - y, end_x - x), bool)
    for (left, top, right, bottom), covered in _covered_strips(stroke, size):
        pixels[top - y : bottom - y, left - x : right - x] |= covered
    if not pixels.any():
        return None
    patch = Patch.of_mask(pixels, stroke.label)
    return replace(patch, left=patch.left + x, top=patch.top + y)


def stroke_strips(stroke: Stroke, size: tuple[int, ...]) -> Iterator[Rectangle]:
    """Yield rectangles that hold all pixels of a stroke, and together little more."""
    for segment in _segments(stroke):
        yield from _strips(segment, _box(segment, size))


def _covered_strips(
    stroke: Stroke, size: tuple[int, ...]
) -> Iterator[tuple[Rectangle, NDArray[np.bool_]]]:
    for segment in _segments(stroke):
        for strip in _strips(segment, _box(segment, size)):
            yield strip, _covered(segment, strip)


def _bounds(stroke: Stroke, size: tuple[int, ...]) -> Rectangle:
    bounds = EMPTY_RECTANGLE
    for segment in _segments(stroke):
        bounds = _union(bounds, _box(segment, size))
    return bounds


def _segments(stroke: Stroke) -> list[_Segment]:
    pressures = stroke.pressures or (1.0,) * len(stroke.points)
    radii = [max(stroke.radius * pressure, MIN_RADIUS) for pressure in pressures]
    ends = list(zip(stroke.points, radii, strict=True))
    return list(zip(ends, ends[1:] or ends, strict=False))


def _box(segment: _Segment, size: tuple[int, ...]) -> Rectangle:
    """Return the bounds of a segment within the image; right may lie before left."""
    ((x0, y0), r0), ((x1, y1), r1) = segment
    reach = max(r0, r1)
    return (
        max(math.floor(min(x0, x1) - reach), 0),
        max(math.floor(min(y0, y1) - reach), 0),
        min(math.ceil(max(x0, x1) + reach), size[1]),
        min(math.ceil(max(y0, y1) + reach), size[0]),
    )


def _strips(segment: _Segment, box: Rectangle) -> Iterator[Rectangle]:
    """Cut a segment's box into strips that hold all its pixels.

    A long slanted segment covers little of its box; computing these strips alone makes a fast
    stroke of a large brush as quick as a slow one.
    """
    ((x, y), r0), ((x1, y1), r1) = segment
    reach, dx, dy = max(r0, r1), x1 - x, y1 - y
    left, top, right, bottom = box
    height = max(math.ceil(2 * reach), 32)
    for upper in range(top, bottom, height):
        lower = min(upper + height, bottom)
        low, high = 0.0, 1.0  # the part of the way from which these rows can be reached
        if dy:
            first, last = sorted(((upper - reach - y) / dy, (lower + reach - y) / dy))
            low, high = max(low, first), min(high, last)
        ends = (x + low * dx, x + high * dx)
        begin = max(math.floor(min(ends) - reach) - 1, left)
        end = min(math.ceil(max(ends) + reach) + 1, right)
        if low <= high and begin < end:
            yield begin, upper, end, lower


def _covered(segment: _Segment, box: Rectangle) -> NDArray[np.bool_]:
    """Return the pixels of a box that the disc covers on its way along a segment.

    For a pixel at ``along`` and ``across`` the path, distance minus radius is convex in the
    position on the path, so that the nearest one is the free minimum, moved into the path.
    """
    (start, r0), (end, r1) = segment
    x = np.arange(box[0], box[2]) + 0.5 - start[0]
    y = (np.arange(box[1], box[3]) + 0.5 - start[1])[:, np.newaxis]
    step = (end[0] - start[0], end[1] - start[1])
    length = math.hypot(*step)
    growth = (r1 - r0) / length if length else math.copysign(math.inf, r1 - r0)
    if abs(growth) >= 1:  # one end's disc holds all the others
        cx, cy, radius = (*step, r1) if r1 > r0 else (0.0, 0.0, r0)
        return np.asarray((x - cx) ** 2 + (y - cy) ** 2 <= radius**2)
    along, across = x * step[0] + y * step[1], x * step[1] - y * step[0]
    along /= length
    across /= length
    if not growth:  # the same as below, but quick: each pointer event waits for it
        along -= np.clip(along, 0.0, length)
        along *= along
        across *= across
        along += across
        return np.asarray(along <= r0**2)
    nearest = along + np.abs(across) * (growth / math.sqrt(1 - growth**2))
    np.clip(nearest, 0.0, length, out=nearest)
    return np.asarray((along - nearest) ** 2 + across**2 <= (r0 + growth * nearest) ** 2)


def _paint_patch(labels: NDArray[np.int16], patch: Patch, value: int) -> Rectangle:
    height, width = labels.shape
    left, top = max(patch.left, 0), max(patch.top, 0)
    right = min(patch.left + patch.width, width)
    bottom = min(patch.top + patch.height, height)
    if left >= right or top >= bottom:
        return EMPTY_RECTANGLE
    inside = patch.mask()[
        top - patch.top : bottom - patch.top, left - patch.left : right - patch.left
    ]
    labels[top:bottom, left:right][inside] = value
    return left, top, right, bottom


def _union(first: Rectangle, second: Rectangle) -> Rectangle:
    if first[0] >= first[2] or first[1] >= first[3]:
        return second
    if second[0] >= second[2] or second[1] >= second[3]:
        return first
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


def polygon_mask(points: Sequence[Point], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the pixels with their centres within a polygon, by the even-odd rule.

    ``points`` are ``(x, y)`` as those of strokes; ``size`` is height and width of the image.
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
        crossings = np.sort(x[crossing] + share * (next_x[crossing] - x[crossing]))
        for left, right in crossings.reshape(-1, 2):
            first, last = int(np.ceil(left - 0.5)), int(np.ceil(right - 0.5))
            mask[row, max(first, 0) : max(last, 0)] = True
    return mask


def box_corners(one: Point, other: Point) -> tuple[Point, ...]:
    """Return the corners of the box between two points."""
    return one, (other[0], one[1]), other, (one[0], other[1])


def polygon_inside(
    points: Sequence[Point], size: tuple[int, int], label: int | None
) -> Patch | None:
    """Return a patch of a polygon's inside, or ``None`` when it holds no pixel."""
    mask = polygon_mask(points, size)
    return Patch.of_mask(mask, label) if mask.any() else None


def outline_marks(
    document: Document, outside: Patch, size: tuple[int, int], label: int
) -> tuple[Mark, ...]:
    """Return the marks of an outline around an object; they make one state.

    A dab in the middle of the inside stands for the object, unless that is marked there. The
    outside is marked as it is while no object is marked there. Otherwise this is one object
    more: the inside is freed of what outlines around other objects have marked, and of nothing
    that strokes have.
    """
    free = np.ones(size, bool)
    rows = slice(outside.top, outside.top + outside.height)
    columns = slice(outside.left, outside.left + outside.width)
    free[rows, columns] = ~outside.mask()
    if not free.any():
        return (outside,)
    box = Patch.of_mask(free, label)
    inside, (left, top) = box.mask(), (box.left, box.top)
    marks = [_shifted(mark, -left, -top) for mark in document.strokes]
    painted = rasterize_marks(marks, inside.shape)
    is_marked = bool((painted[inside] == label).any())
    core = _core_stroke(inside, left, top, label)
    elsewhere = (mark for mark in marks if mark.label not in (None, outside.label))
    if not any(_reaches_outside(mark, inside) for mark in elsewhere):
        return (outside,) if is_marked else (outside, replace(core, joined=True))
    by_hand = [m for m in marks if not (isinstance(m, Patch) and m.label == outside.label)]
    strokes = rasterize_marks(by_hand, inside.shape)
    freed = inside & (painted == outside.label) & (strokes != outside.label)
    if not freed.any():
        return (core,)
    patch = _shifted(Patch.of_mask(freed, None), left, top)
    return (patch,) if is_marked else (patch, replace(core, joined=True))


def _shifted(mark: Mark, right: int, down: int) -> Mark:
    if isinstance(mark, Patch):
        return replace(mark, left=mark.left + right, top=mark.top + down)
    return replace(mark, points=tuple((x + right, y + down) for x, y in mark.points))


def _reaches_outside(mark: Mark, inside: NDArray[np.bool_]) -> bool:
    """Return whether a mark has a point outside of a mask that begins at (0, 0)."""
    if isinstance(mark, Patch):
        rows, columns = (
            at + start
            for at, start in zip(np.nonzero(mark.mask()), (mark.top, mark.left), strict=True)
        )
    else:
        columns, rows = np.floor(np.array(mark.points)).T.astype(np.int64)
    height, width = inside.shape
    within = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    return not (within.all() and inside[rows, columns].all())


def _core_stroke(inside: NDArray[np.bool_], left: int, top: int, label: int) -> Stroke:
    """Return a dab in the middle of a mask that begins at ``left``, ``top``."""
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    radius = max(_CORE * float(depth[y, x]), 0.5)
    return Stroke(((float(x) + left + 0.5, float(y) + top + 0.5),), radius, label)


def polygon_outside(
    points: Sequence[Point], size: tuple[int, int], label: int | None
) -> Patch | None:
    """Return a patch of the pixels around a polygon, or ``None`` for an empty side."""
    mask = polygon_mask(points, size)
    return Patch.of_mask(~mask, label) if mask.any() and not mask.all() else None
