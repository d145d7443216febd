"""Tools that draw an outline: how the way of the pointer becomes a mark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.qt.canvas.brush import Tool
from segapp.values.document import Stroke
from segapp.values.shapes import box_corners, inside_of, outside_of

if TYPE_CHECKING:
    from segapp.values.document import Mark

Point = tuple[float, float]
Size = tuple[int, int]
_Outline = Callable[[Sequence[Point]], Sequence[Point]]
_Made = Callable[[Sequence[Point], Size, Stroke], "Mark | None"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a tool makes of its points.

    Parameters
    ----------
    two_ends
        Whether only the first and the newest point count.
    outline
        The corners that are drawn.
    made
        The mark, from the corners, the picture's size and the stroke along all points.
    """

    two_ends: bool
    outline: _Outline
    made: _Made

    def points_of(self, points: Sequence[Point]) -> Sequence[Point]:
        """Return the points that count."""
        return [points[0], points[-1]] if self.two_ends else points

    def mark(self, stroke: Stroke, size: Size) -> Mark | None:
        """Return what the stroke's points enclose; None when that is nothing."""
        return self.made(self.outline(self.points_of(stroke.points)), size, stroke)


def _as_it_is(points: Sequence[Point]) -> Sequence[Point]:
    return points


def _boxed(points: Sequence[Point]) -> Sequence[Point]:
    return box_corners(points[0], points[-1])


def _line(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark:
    del size
    ends = tuple(points) if points[0] != points[-1] else (points[0],)
    return Stroke(ends, stroke.radius, stroke.label)


def _inside(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark | None:
    return inside_of(points, size, stroke.label)


def _outside(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark | None:
    return outside_of(points, size, stroke.label)


SHAPES: dict[Tool, Shape] = {
    Tool.LINE: Shape(two_ends=True, outline=_as_it_is, made=_line),
    Tool.BOX: Shape(two_ends=True, outline=_boxed, made=_inside),
    Tool.LASSO: Shape(two_ends=False, outline=_as_it_is, made=_inside),
    Tool.POLYGON: Shape(two_ends=False, outline=_as_it_is, made=_inside),
    Tool.AROUND: Shape(two_ends=False, outline=_as_it_is, made=_outside),
    Tool.AROUND_BOX: Shape(two_ends=True, outline=_boxed, made=_outside),
}
