"""One stroke from where it is put down to where it is lifted, drawn as it grows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.shape import SHAPES
from segapp.qt.canvas.stroke_layer import joined_boxes
from segapp.values.document import Stroke
from segapp.values.rasterize import NOWHERE

if TYPE_CHECKING:
    from segapp.qt.canvas.brush import Brush
    from segapp.qt.canvas.shape import Shape
    from segapp.qt.canvas.stroke_layer import StrokeLayer
    from segapp.values.document import Mark
    from segapp.values.rasterize import Rectangle

Point = tuple[float, float]

# A pen that hardly touches still draws: a radius of 0 would leave gaps.
_LEAST_PRESSURE = 0.05


class StrokeInProgress:
    """Collects the points of one stroke from press to release."""

    def __init__(self, radius: float, label: int | None, *, with_pressure: bool) -> None:
        self._radius = radius
        self._label = label
        self._with_pressure = with_pressure
        self._points: list[Point] = []
        self._pressures: list[float] = []

    def add(self, at: Point, pressure: float = 1.0) -> Stroke | None:
        """Take a further position; return the piece that is new, None if there is none."""
        if self._points and self._points[-1] == at:
            return None
        self._points.append(at)
        self._pressures.append(min(max(pressure, _LEAST_PRESSURE), 1.0))
        return self._stroke(max(len(self._points) - 2, 0))

    def so_far(self) -> Stroke:
        """Return the whole stroke."""
        return self._stroke(0)

    @property
    def end(self) -> Point:
        """The last position."""
        return self._points[-1]

    def _stroke(self, first: int) -> Stroke:
        pressures = tuple(self._pressures[first:]) if self._with_pressure else ()
        return Stroke(tuple(self._points[first:]), self._radius, self._label, pressures)


class Pen:
    """Draws into the layer of strokes; it is down from `put_down` to `lift` or `drop`.

    What returns a rectangle returns the box of the picture that looks different now.
    """

    def __init__(self, strokes: StrokeLayer) -> None:
        self._strokes = strokes
        self._stroke: StrokeInProgress | None = None
        self._shape: Shape | None = None  # what is drawn, if it is no stroke
        self._thin = 0.0  # half the width of a shape's outline
        self._keeps_others = False
        self._has_hit = False  # whether the stroke has touched the picture
        self.last_end: Point | None = None  # where the last stroke was lifted

    @property
    def is_down(self) -> bool:
        """Whether a stroke is being drawn."""
        return self._stroke is not None

    def put_down(
        self, brush: Brush, label: int | None, *, with_pressure: bool, thin: float = 1.0
    ) -> None:
        """Begin a stroke; its first point is yet to come.

        ``thin`` is the radius with which the outline of a shape is drawn.
        """
        self._stroke = StrokeInProgress(brush.radius, label, with_pressure=with_pressure)
        self._shape = SHAPES.get(brush.tool)
        self._thin = brush.radius if brush.tool is Tool.LINE else thin
        self._keeps_others = brush.keep_others and label is not None and self._shape is None
        self._has_hit = False

    def draw_to(self, at: Point, pressure: float | None = None) -> Rectangle:
        """Go on to a point; a mouse has no pressure."""
        piece = None
        if self._stroke is not None:
            piece = self._stroke.add(at, 1.0 if pressure is None else pressure)
        if piece is None:
            return NOWHERE
        if self._shape is not None:
            return self._draw_outline(self._shape, piece)
        box = self._strokes.stamp(piece, keep_others=self._keeps_others)
        self._has_hit = self._has_hit or box[0] < box[2]
        return box

    def _draw_outline(self, shape: Shape, piece: Stroke) -> Rectangle:
        """Draw what is new of a shape's outline, or all of it when both ends make it."""
        self._has_hit = True
        if not shape.two_ends or self._stroke is None:
            return self._strokes.stamp(replace(piece, radius=self._thin, pressures=()))
        gone = self._strokes.drop()
        corners = shape.outline(shape.points_of(self._stroke.so_far().points))
        outline = replace(piece, points=(*corners, corners[0]), radius=self._thin, pressures=())
        return joined_boxes([gone, self._strokes.stamp(outline)])

    def so_far(self) -> Mark | None:
        """Return the stroke as it would be if it ended here; None if it has marked nothing."""
        if self._stroke is None or not self._has_hit:
            return None
        stroke = self._stroke.so_far()
        if self._shape is not None:
            return self._shape.mark(stroke, self._strokes.size)
        return self._strokes.drawn_patch(stroke) if self._keeps_others else stroke

    def lift(self) -> Mark | None:
        """End the stroke and return it; None if it has marked nothing, and is to be dropped."""
        mark = self.so_far()
        if mark is not None and self._stroke is not None:
            self.last_end = self._stroke.end
            self._stroke = None
        return mark

    def drop(self) -> Rectangle:
        """Forget the stroke that is being drawn."""
        if self._stroke is None:
            return NOWHERE
        self._stroke = None
        return self._strokes.drop()
