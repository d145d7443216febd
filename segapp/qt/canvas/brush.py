"""Brush settings, and tools that draw shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from segapp.imaging.rasterise import box_corners, polygon_inside, polygon_outside
from segapp.model.document import Stroke

if TYPE_CHECKING:
    from segapp.model.document import Mark


# In pixels of the screen or of the picture.
SMALLEST_RADIUS = 0.5
LARGEST_RADIUS = 500.0
# Factor and least change of the radius for a notch of the wheel.
_STEP_FACTOR, _STEP_LEAST = 1.15, 0.5


class Tool(Enum):
    """Tools of the left and the right mouse button."""

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
    EXPLAIN = "explain"
    SELECT = "select_object"
    CUT = "cut_object"


CUT_RADIUS = 0.75
"""Of the line that severs objects, in pixels of the picture."""
_AROUND = frozenset({Tool.AROUND, Tool.AROUND_BOX})


class BrushUnit(StrEnum):
    """Unit of the brush's radius: pixels of the screen or of the picture."""

    SCREEN = "screen"
    PICTURE = "picture"


class BrushTarget(Enum):
    """Part of the document that the brush paints."""

    STROKES = "strokes"  # the learner's
    RESULT = "result"  # over the answer, without teaching anything
    HAIR = "hair"  # the band of soft edges


@dataclass(frozen=True, slots=True)
class Brush:
    """Tool, size, and the classes ``left`` and ``right`` of the mouse buttons."""

    radius: float = 10.0
    unit: BrushUnit = BrushUnit.PICTURE
    left: int = 0
    right: int = 1
    tool: Tool = Tool.BRUSH
    keep_others: bool = False  # paint around other classes instead of over them
    target: BrushTarget = BrushTarget.STROKES
    left_colour: tuple[int, int, int] = (255, 255, 255)
    right_colour: tuple[int, int, int] = (255, 255, 255)

    def label(self, button: Qt.MouseButton) -> int | None:
        """Return the class of a button; None erases, or joins what the left button cuts."""
        if self.tool is Tool.ERASER:
            return None
        if self.tool is Tool.CUT and button is Qt.MouseButton.RightButton:
            return None
        return self.right if self._paints_right(button) else self.left

    def colour(self, button: Qt.MouseButton) -> tuple[int, int, int]:
        """Return the colour of a button; white erases, and cuts and joins objects."""
        if self.tool in (Tool.ERASER, Tool.CUT):
            return (255, 255, 255)
        return self.right_colour if self._paints_right(button) else self.left_colour

    def _paints_right(self, button: Qt.MouseButton) -> bool:
        """Return whether to paint the right class; tools around an object swap both."""
        return (button is Qt.MouseButton.RightButton) != (self.tool in _AROUND)

    def radius_in_picture(self, scale: float) -> float:
        """Return the radius in image pixels at ``scale`` widget pixels per image pixel."""
        return self.radius / scale if self.unit is BrushUnit.SCREEN else self.radius


def scaled_radius(radius: float, steps: float) -> float:
    """Return a radius that is larger (or, below 0, smaller) by visible steps."""
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
_MakeMark = Callable[[Sequence[Point], Size, Stroke], "Mark | None"]


@dataclass(frozen=True, slots=True)
class ShapeTool:
    """Conversion of a stroke's points to a shape.

    Parameters
    ----------
    two_ends
        Whether the first and the last point alone define the shape.
    outline
        Returns the corners of the outline.
    make_mark
        Returns the mark for the corners, the picture's size and the stroke along all points.
    """

    two_ends: bool
    outline: _Outline
    make_mark: _MakeMark

    def defining_points(self, points: Sequence[Point]) -> Sequence[Point]:
        """Return the points that define the shape."""
        return [points[0], points[-1]] if self.two_ends else points

    def mark(self, stroke: Stroke, size: Size) -> Mark | None:
        """Return the mark of the shape along a stroke; None if it has no pixel."""
        return self.make_mark(self.outline(self.defining_points(stroke.points)), size, stroke)


def _all_points(points: Sequence[Point]) -> Sequence[Point]:
    return points


def _box_outline(points: Sequence[Point]) -> Sequence[Point]:
    return box_corners(points[0], points[-1])


def _line(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark:
    del size
    ends = tuple(points) if points[0] != points[-1] else (points[0],)
    return Stroke(ends, stroke.radius, stroke.label)


def _path(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark:
    del size
    return Stroke(tuple(points), CUT_RADIUS, stroke.label)


def _inside(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark | None:
    return polygon_inside(points, size, stroke.label)


def _outside(points: Sequence[Point], size: Size, stroke: Stroke) -> Mark | None:
    return polygon_outside(points, size, stroke.label)


SHAPES: dict[Tool, ShapeTool] = {
    Tool.CUT: ShapeTool(two_ends=False, outline=_all_points, make_mark=_path),
    Tool.LINE: ShapeTool(two_ends=True, outline=_all_points, make_mark=_line),
    Tool.BOX: ShapeTool(two_ends=True, outline=_box_outline, make_mark=_inside),
    Tool.LASSO: ShapeTool(two_ends=False, outline=_all_points, make_mark=_inside),
    Tool.POLYGON: ShapeTool(two_ends=False, outline=_all_points, make_mark=_inside),
    Tool.AROUND: ShapeTool(two_ends=False, outline=_all_points, make_mark=_outside),
    Tool.AROUND_BOX: ShapeTool(two_ends=True, outline=_box_outline, make_mark=_outside),
}
