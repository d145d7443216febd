"""Brush settings, and tools that draw shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from segapp.imaging.rasterise import box_corners, inside_of, outside_of
from segapp.model.document import Stroke

if TYPE_CHECKING:
    from segapp.model.document import Mark


# Pixels, of the screen or of the picture: from a single one to a disc that covers a whole screen.
SMALLEST_RADIUS = 0.5
LARGEST_RADIUS = 500.0
# A notch of the wheel makes the brush so much larger, and at least by half a pixel.
_STEP_FACTOR, _STEP_LEAST = 1.15, 0.5


class Tool(Enum):
    """What the left and the right button do."""

    BRUSH = "brush"
    ERASER = "eraser"
    HAND = "hand"
    LINE = "line"
    BOX = "box"
    LASSO = "lasso"
    POLYGON = "polygon"
    AROUND_BOX = "around_box"
    AROUND = "around"
    FILL = "fill"


_AROUND = frozenset({Tool.AROUND, Tool.AROUND_BOX})


class BrushUnit(StrEnum):
    """What a brush is measured in: on the screen it looks alike at every zoom."""

    SCREEN = "screen"
    PICTURE = "picture"


@dataclass(frozen=True, slots=True)
class Brush:
    """The left button paints ``left``, the right one ``right``; they may be the same."""

    radius: float = 10.0
    unit: BrushUnit = BrushUnit.PICTURE
    left: int = 0
    right: int = 1
    tool: Tool = Tool.BRUSH
    keep_others: bool = False  # paint around other classes instead of over them
    retouches: bool = False  # paint over the answer instead of teaching
    left_colour: tuple[int, int, int] = (255, 255, 255)
    right_colour: tuple[int, int, int] = (255, 255, 255)

    def label(self, button: Qt.MouseButton) -> int | None:
        """Return the class that a button paints; None erases."""
        if self.tool is Tool.ERASER:
            return None
        return self.right if self._paints_right(button) else self.left

    def colour(self, button: Qt.MouseButton) -> tuple[int, int, int]:
        """Return the colour that a button paints; white erases."""
        if self.tool is Tool.ERASER:
            return (255, 255, 255)
        return self.right_colour if self._paints_right(button) else self.left_colour

    def _paints_right(self, button: Qt.MouseButton) -> bool:
        """Tell whose class is painted: around an object it is what is not meant."""
        return (button is Qt.MouseButton.RightButton) != (self.tool in _AROUND)

    def radius_in_picture(self, scale: float) -> float:
        """Return the radius in image pixels where one is ``scale`` widget pixels large."""
        return self.radius / scale if self.unit is BrushUnit.SCREEN else self.radius


def stepped_radius(radius: float, steps: float) -> float:
    """Make a radius larger (or smaller, below 0) by steps that one can see at any size."""
    grown = radius * math.pow(_STEP_FACTOR, steps)
    if steps > 0:
        grown = max(grown, radius + _STEP_LEAST * steps)
    elif steps < 0:
        grown = min(grown, radius + _STEP_LEAST * steps)
    grown = round(grown * 2) / 2
    return min(max(grown, SMALLEST_RADIUS), LARGEST_RADIUS)


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
