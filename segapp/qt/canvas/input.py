"""Mouse, pen and keyboard input of the canvas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QGuiApplication

from segapp.imaging.rasterise import EMPTY_RECTANGLE
from segapp.model.document import Stroke
from segapp.qt.canvas.brush import SHAPES, Brush, Tool
from segapp.qt.canvas.stroke_layer import union_of_boxes

if TYPE_CHECKING:
    from segapp.imaging.tiles import Rectangle
    from segapp.model.document import Mark
    from segapp.qt.canvas.brush import ShapeTool
    from segapp.qt.canvas.stroke_layer import StrokeLayer
    from segapp.qt.canvas.viewport import Viewport


Point = tuple[float, float]

# A lower pressure would leave gaps in the stroke.
_MIN_PRESSURE = 0.05


class StrokeInProgress:
    """Points and pressures of a stroke, from press to release."""

    def __init__(self, radius: float, label: int | None, *, with_pressure: bool) -> None:
        self._radius = radius
        self._label = label
        self._with_pressure = with_pressure
        self.points: list[Point] = []
        self._pressures: list[float] = []

    def add(self, at: Point, pressure: float = 1.0) -> Stroke | None:
        """Append a position; return the new segment, None if the position is the last one."""
        if self.points and self.points[-1] == at:
            return None
        self.points.append(at)
        self._pressures.append(min(max(pressure, _MIN_PRESSURE), 1.0))
        return self.stroke(first=max(len(self.points) - 2, 0))

    def stroke(self, first: int = 0) -> Stroke:
        """Return the stroke along the points, from the first one or a later one."""
        pressures = tuple(self._pressures[first:]) if self._with_pressure else ()
        return Stroke(tuple(self.points[first:]), self._radius, self._label, pressures)


class StrokePainter:
    """Drawing of one stroke at a time into the layer of strokes.

    A stroke goes on from `begin` to `finish` or `cancel`. Rectangles that are returned are boxes
    of the picture to be repainted.
    """

    def __init__(self, strokes: StrokeLayer) -> None:
        self._strokes = strokes
        self._stroke: StrokeInProgress | None = None
        self._shape: ShapeTool | None = None  # None for a plain stroke
        self._outline_radius = 0.0  # half the width of a shape's outline
        self._keeps_others = False
        self._has_marked = False  # whether the stroke has touched the picture
        self.last_end: Point | None = None  # end of the last finished stroke

    @property
    def is_drawing(self) -> bool:
        """Whether a stroke is being drawn."""
        return self._stroke is not None

    def begin(
        self, brush: Brush, label: int | None, *, with_pressure: bool, outline_radius: float = 1.0
    ) -> None:
        """Begin a stroke without points; ``outline_radius`` is that of a shape's outline."""
        self._stroke = StrokeInProgress(brush.radius, label, with_pressure=with_pressure)
        self._shape = SHAPES.get(brush.tool)
        self._outline_radius = brush.radius if brush.tool is Tool.LINE else outline_radius
        self._keeps_others = brush.keep_others and label is not None and self._shape is None
        self._has_marked = False

    def extend(self, at: Point, pressure: float | None = None) -> Rectangle:
        """Append a point; the pressure is None for a mouse."""
        piece = None
        if self._stroke is not None:
            piece = self._stroke.add(at, 1.0 if pressure is None else pressure)
        if piece is None:
            return EMPTY_RECTANGLE
        if self._shape is not None:
            return self._draw_outline(self._shape, piece)
        box = self._strokes.stamp(piece, keep_others=self._keeps_others)
        self._has_marked = self._has_marked or box[0] < box[2]
        return box

    def _draw_outline(self, shape: ShapeTool, piece: Stroke) -> Rectangle:
        """Draw the new segment of a shape's outline; redraw it if two points define it."""
        self._has_marked = True
        if not shape.two_ends or self._stroke is None:
            return self._strokes.stamp(replace(piece, radius=self._outline_radius, pressures=()))
        erased = self._strokes.drop()
        corners = shape.outline(shape.defining_points(self._stroke.points))
        outline = replace(
            piece, points=(*corners, corners[0]), radius=self._outline_radius, pressures=()
        )
        return union_of_boxes([erased, self._strokes.stamp(outline)])

    def mark(self) -> Mark | None:
        """Return the unfinished stroke's mark; None if it has marked no pixel."""
        if self._stroke is None or not self._has_marked:
            return None
        stroke = self._stroke.stroke()
        if self._shape is not None:
            return self._shape.mark(stroke, self._strokes.size)
        return self._strokes.drawn_patch(stroke) if self._keeps_others else stroke

    def finish(self) -> Mark | None:
        """End the stroke and return its mark; None if it has marked no pixel yet."""
        mark = self.mark()
        if mark is not None and not self._strokes.covers(mark):
            return None
        if mark is not None and self._stroke is not None:
            self.last_end = self._stroke.points[-1]
            self._stroke = None
        return mark

    def cancel(self) -> Rectangle:
        """Discard the unfinished stroke."""
        if self._stroke is None:
            return EMPTY_RECTANGLE
        self._stroke = None
        return self._strokes.drop()


# Widget pixels that an arrow key moves the brush; with Shift it is one image pixel.
_KEY_STEP = 12.0
# Half the width of a shape's outline while it is drawn, in widget pixels.
_OUTLINE = 1.5


class CanvasInput(QObject):
    """Translation of mouse, pen and keys to strokes and panning.

    Space bar, middle button and hand tool pan; a stroke that is interrupted so goes on afterwards.
    """

    stroke_finished = Signal(object)  # Mark
    stroke_cancelled = Signal()
    fill_requested = Signal(object, object)  # QPointF in image coordinates, class or None
    explain_requested = Signal(object)  # QPointF in image coordinates
    select_requested = Signal(object, bool)  # QPointF in image coordinates, whether to add
    drawn = Signal(object)  # Rectangle of the picture to be repainted
    pointer_moved = Signal(object)  # QPointF in image coordinates, or None outside
    changed = Signal()  # of the cursor: position, size or tool

    def __init__(self, viewport: Viewport, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewport = viewport
        self._painter: StrokePainter | None = None
        self._button = Qt.MouseButton.NoButton  # of the stroke; none for a key or a polygon
        self._by_pen = False  # whether a tablet draws the stroke
        self._begin_time = 0  # of the stroke, in the events' milliseconds
        self._last_press = 0, QPointF()  # time and widget position
        self._blocked = False
        self._space = False
        self._pan_anchor: QPointF | None = None  # widget position while panning
        self.brush = Brush()
        self.pointer: QPointF | None = None  # in image coordinates

    @property
    def is_drawing(self) -> bool:
        """Whether a stroke is being drawn."""
        return self._painter is not None and self._painter.is_drawing

    @property
    def stroke(self) -> Mark | None:
        """Mark of the unfinished stroke, None if it has marked no pixel."""
        return self._painter.mark() if self._painter is not None else None

    @property
    def colour(self) -> tuple[int, int, int]:
        """Colour of the held button, or of the left one."""
        held = self._button if self.is_drawing else Qt.MouseButton.LeftButton
        return self.brush.colour(held)

    @property
    def is_panning(self) -> bool:
        """Whether the picture follows the pointer."""
        return self._pan_anchor is not None

    @property
    def pans_on_press(self) -> bool:
        """Whether a press pans instead of painting."""
        return self._space or self.is_panning or self.brush.tool is Tool.HAND

    def set_brush(self, brush: Brush) -> None:
        """Set size, class and tool of the next stroke; another tool cancels a polygon."""
        if self.is_drawing and self.brush.tool is Tool.POLYGON is not brush.tool:
            self.cancel_stroke()
        self.brush = brush
        self.changed.emit()

    def set_stroke_layer(self, strokes: StrokeLayer) -> None:
        """Draw on another picture, without the old one's unfinished stroke."""
        self._painter = StrokePainter(strokes)
        self.changed.emit()

    # Pointer --------------------------------------------------------------------------

    def press(
        self,
        position: QPointF,
        button: Qt.MouseButton,
        pressure: float | None = None,
        *,
        by_pen: bool = False,
        erases: bool = False,
        straight: bool = False,
        time: int = 0,
    ) -> None:
        """Begin a stroke, or begin to pan.

        ``straight`` joins the stroke to the last one. ``time`` is the event's, 0 if unknown.
        """
        if self._blocked:
            return
        again = self._is_second_tap(position, time)
        self._last_press = time, position
        if button is Qt.MouseButton.MiddleButton or self.pans_on_press:
            self._set_pan_anchor(position)
            return
        at = self._viewport.view.to_image(position)
        if self.brush.tool is Tool.EXPLAIN:
            self.explain_requested.emit(at)
            return
        if self.brush.tool is Tool.SELECT:
            self.select_requested.emit(at, straight)
            return
        if self.brush.tool is Tool.FILL:
            self.fill_requested.emit(at, self.brush.label(button))
            return
        by_corners = self.brush.tool is Tool.POLYGON  # no button is held between corners
        if by_corners and self.is_drawing:
            if by_pen and again:  # for which Qt knows no double click
                self.finish_stroke()
            else:
                self._extend(at)
            return
        if self.is_drawing and button == self._button:
            self.finish_stroke()  # another window got the release
        if not self.is_drawing:
            held = Qt.MouseButton.NoButton if by_corners else button
            self._button, self._by_pen, self._begin_time = held, by_pen, time
            label = None if erases else self.brush.label(button)
            self._begin(at, label, pressure, straight=straight)

    def move(
        self,
        position: QPointF,
        pressure: float | None = None,
        *,
        buttons: Qt.MouseButton | None = None,
        time: int = 0,
    ) -> None:
        """Extend the stroke, or pan.

        ``buttons`` are those that a mouse holds, None for a tablet. A stroke belongs to one
        device: moves of another device, or from before its begin, are ignored. It is finished when
        its button is no longer held, even if another window got the release.
        """
        if self.is_drawing:
            if self._by_pen != (buttons is None) or 0 < time < self._begin_time:
                return
            by_key = self._button is Qt.MouseButton.NoButton
            if buttons is not None and not by_key and not buttons & self._button:
                self.finish_stroke()
        if self.is_drawing and self._space and self._pan_anchor is None:
            self._set_pan_anchor(position)
        if self._pan_anchor is not None:
            delta = position - self._pan_anchor
            self._pan_anchor = position
            self._viewport.pan(delta)
        elif self.brush.tool is not Tool.POLYGON:
            self._extend(self._viewport.view.to_image(position), pressure)
        self.set_pointer(self._viewport.view.to_image(position))

    def release(self, button: Qt.MouseButton, position: QPointF) -> None:
        """Finish the stroke at a position, or end panning."""
        if self.is_drawing and button == self._button:
            if self._pan_anchor is None:
                self._extend(self._viewport.view.to_image(position))
            self.finish_stroke()
        elif self.is_panning:
            self._set_pan_anchor(None)

    def lift_pen(self) -> None:
        """Finish the stroke of a pen; a polygon goes on with its next corner."""
        if self.brush.tool is Tool.POLYGON and self.is_drawing:
            self._set_pan_anchor(None)
        else:
            self.finish_stroke()

    def _is_second_tap(self, position: QPointF, time: int) -> bool:
        before, at = self._last_press
        hints = QGuiApplication.styleHints()
        near = (position - at).manhattanLength() <= hints.startDragDistance()
        return near and 0 < time - before <= hints.mouseDoubleClickInterval()

    def block(self, *, on: bool) -> None:
        """Finish the stroke and begin no other one, while the picture is about to go."""
        if on and self.brush.tool is Tool.POLYGON:
            self.cancel_stroke()  # it is not known whether all corners are there
        elif on:
            self.finish_stroke()
        self._blocked = on
        self.changed.emit()

    @property
    def is_blocked(self) -> bool:
        """Whether no stroke can be begun."""
        return self._blocked

    def finish_stroke(self) -> None:
        """Finish the stroke and end panning."""
        self._set_pan_anchor(None)
        if self._painter is None or not self._painter.is_drawing:
            return
        mark = self._painter.finish()
        if mark is None:
            self.cancel_stroke()
        else:
            self.changed.emit()
            self.stroke_finished.emit(mark)

    def set_pointer(self, at: QPointF | None) -> None:
        """Move the brush to a point of the picture; None hides it."""
        self.pointer = at
        self.changed.emit()
        self.pointer_moved.emit(at)

    # Keys -----------------------------------------------------------------------------

    def hold_space(self, *, held: bool) -> None:
        """Pan instead of painting while the space bar is held."""
        self._space = held
        self._set_pan_anchor(self._pan_anchor if held else None)

    def cancel_stroke(self) -> None:
        """Discard the unfinished stroke and end panning."""
        self._set_pan_anchor(None)
        if self._painter is not None:
            self.drawn.emit(self._painter.cancel())
            self.stroke_cancelled.emit()

    def toggle_pen(self, *, straight: bool = False) -> None:
        """Begin a stroke at the pointer, or finish it."""
        if self.is_drawing:
            self.finish_stroke()
        elif self.pointer is not None and not self._blocked:
            self._button, self._by_pen, self._begin_time = Qt.MouseButton.NoButton, False, 0
            label = self.brush.label(Qt.MouseButton.LeftButton)
            self._begin(self.pointer, label, straight=straight)

    def move_by_key(self, dx: int, dy: int, *, fine: bool) -> None:
        """Move the brush by an arrow key, and the picture if the brush leaves it."""
        viewport = self._viewport
        size = viewport.image_size
        start = self.pointer or QPointF(size.width() / 2, size.height() / 2)
        step = 1.0 if fine else _KEY_STEP / viewport.view.scale
        at = QPointF(
            min(max(start.x() + dx * step, 0.5), size.width() - 0.5),
            min(max(start.y() + dy * step, 0.5), size.height() - 0.5),
        )
        self._extend(at)
        viewport.ensure_visible(at)
        self.set_pointer(at)

    # Drawing --------------------------------------------------------------------------

    def _begin(
        self,
        at: QPointF,
        label: int | None,
        pressure: float | None = None,
        *,
        straight: bool = False,
    ) -> None:
        if self._painter is None:
            return
        self.drawn.emit(self._painter.cancel())
        radius = self.brush.radius_in_picture(self._viewport.view.scale)
        brush = replace(self.brush, radius=radius)
        outline = _OUTLINE / self._viewport.view.scale
        with_pressure = pressure is not None
        self._painter.begin(brush, label, with_pressure=with_pressure, outline_radius=outline)
        self.changed.emit()
        if straight and self._painter.last_end is not None:
            self._extend(QPointF(*self._painter.last_end), pressure)
        self._extend(at, pressure)

    def _extend(self, at: QPointF, pressure: float | None = None) -> None:
        if self._painter is not None:
            self.drawn.emit(self._painter.extend((at.x(), at.y()), pressure))

    def _set_pan_anchor(self, at: QPointF | None) -> None:
        self._pan_anchor = at
        self.changed.emit()
