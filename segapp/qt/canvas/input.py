"""Mouse, pen and keyboard input of the canvas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, Qt, Signal

from segapp.imaging.rasterise import NOWHERE
from segapp.model.document import Stroke
from segapp.qt.canvas.brush import SHAPES, Brush, Tool
from segapp.qt.canvas.stroke_layer import joined_boxes

if TYPE_CHECKING:
    from segapp.imaging.rasterise import Rectangle
    from segapp.model.document import Mark
    from segapp.qt.canvas.brush import Shape
    from segapp.qt.canvas.stroke_layer import StrokeLayer
    from segapp.qt.canvas.viewport import Viewport


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


# Widget pixels that an arrow key moves the brush: a few steps cross an object, and with Shift
# an image pixel at a time is left for the rest.
_KEY_STEP = 12.0
# Half the width of a shape's outline while it is drawn, in widget pixels.
_OUTLINE = 1.5


class Hand(QObject):
    """Turns presses and moves, in the widget's coordinates, into strokes and drags.

    Dragging wins over painting while the space bar, the middle button or the hand tool asks
    for it; a stroke that was begun goes on afterwards.
    """

    stroke_finished = Signal(object)  # Mark
    stroke_dropped = Signal()
    fill_wanted = Signal(object, object)  # QPointF in image coordinates, class or None
    drew = Signal(object)  # Rectangle of the picture that looks different now
    pointer_moved = Signal(object)  # QPointF in image coordinates, or None outside
    changed = Signal()  # of what the cursor tells: place, size, tool

    def __init__(self, viewport: Viewport, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewport = viewport
        self._pen: Pen | None = None
        self._button = Qt.MouseButton.NoButton  # the one that holds the pen down
        self._by_pen = False  # whether it is a tablet's, and no mouse's
        self._since = 0  # when it was put down, in the events' milliseconds
        self._space = False
        self._grip: QPointF | None = None  # widget position while the picture is dragged
        self.brush = Brush()
        self.pointer: QPointF | None = None  # in image coordinates

    @property
    def is_drawing(self) -> bool:
        """Whether a stroke is being drawn."""
        return self._pen is not None and self._pen.is_down

    @property
    def stroke(self) -> Mark | None:
        """The stroke in the making as it is now, None when it has marked nothing."""
        return self._pen.so_far() if self._pen is not None else None

    @property
    def colour(self) -> tuple[int, int, int]:
        """What is painted with the button that is held, or would be with the left one."""
        held = self._button if self.is_drawing else Qt.MouseButton.LeftButton
        return self.brush.colour(held)

    @property
    def is_dragging(self) -> bool:
        """Whether the picture is held."""
        return self._grip is not None

    @property
    def would_drag(self) -> bool:
        """Whether a press would hold the picture, and not paint."""
        return self._space or self.is_dragging or self.brush.tool is Tool.HAND

    def set_brush(self, brush: Brush) -> None:
        """Use another size, class or tool from the next stroke on.

        Corners that no button holds would be lost among another tool's: they are dropped.
        """
        if self.is_drawing and self.brush.tool is Tool.POLYGON is not brush.tool:
            self.drop_stroke()
        self.brush = brush
        self.changed.emit()

    def take_picture(self, strokes: StrokeLayer) -> None:
        """Draw on another picture; a stroke in the making belonged to the old one."""
        self._pen = Pen(strokes)
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
        """Begin a stroke, of a pen's pressure if it has one, or take hold of the picture.

        ``straight`` joins it to the last one. ``time`` is the event's, 0 for none.
        """
        if button is Qt.MouseButton.MiddleButton or self.would_drag:
            self._set_grip(position)
            return
        at = self._viewport.view.to_image(position)
        if self.brush.tool is Tool.FILL:
            self.fill_wanted.emit(at, self.brush.label(button))
            return
        cornered = self.brush.tool is Tool.POLYGON  # no button holds it from corner to corner
        if cornered and self.is_drawing:
            self._draw_to(at)
            return
        if self.is_drawing and button == self._button:
            self.lift()  # its release went elsewhere: two strokes are not one
        if not self.is_drawing:
            held = Qt.MouseButton.NoButton if cornered else button
            self._button, self._by_pen, self._since = held, by_pen, time
            label = None if erases else self.brush.label(button)
            self._put_down(at, label, pressure, straight=straight)

    def move(
        self,
        position: QPointF,
        pressure: float | None = None,
        *,
        buttons: Qt.MouseButton | None = None,
        time: int = 0,
    ) -> None:
        """Go on with the stroke, or drag the picture.

        ``buttons`` are those that a mouse holds; a tablet gives None. A stroke is of one device:
        what another one does meanwhile, or did before it was begun, is not part of it. Without
        its button the stroke has ended, wherever its release went.
        """
        if self.is_drawing:
            if self._by_pen != (buttons is None) or 0 < time < self._since:
                return
            by_key = self._button is Qt.MouseButton.NoButton
            if buttons is not None and not by_key and not buttons & self._button:
                self.lift()
        if self.is_drawing and self._space and self._grip is None:
            self._set_grip(position)
        if self._grip is not None:
            delta = position - self._grip
            self._grip = position
            self._viewport.pan(delta)
        elif self.brush.tool is not Tool.POLYGON:
            self._draw_to(self._viewport.view.to_image(position), pressure)
        self.point_at(self._viewport.view.to_image(position))

    def release(self, button: Qt.MouseButton, position: QPointF) -> None:
        """Finish the stroke where the button was let go, or let go of the picture."""
        if self.is_drawing and button == self._button:
            if self._grip is None:
                self._draw_to(self._viewport.view.to_image(position))
            self.lift()
        elif self.is_dragging:
            self._set_grip(None)

    def lift(self) -> None:
        """Finish the stroke, and let go of the picture as well."""
        self._set_grip(None)
        if self._pen is None or not self._pen.is_down:
            return
        mark = self._pen.lift()
        if mark is None:
            self.drop_stroke()
        else:
            self.changed.emit()
            self.stroke_finished.emit(mark)

    def point_at(self, at: QPointF | None) -> None:
        """Move the brush to a place of the picture; None takes it away."""
        self.pointer = at
        self.changed.emit()
        self.pointer_moved.emit(at)

    # Keys -----------------------------------------------------------------------------

    def hold_space(self, *, held: bool) -> None:
        """Drag instead of painting as long as the space bar is held."""
        self._space = held
        self._set_grip(self._grip if held else None)

    def drop_stroke(self) -> None:
        """Forget the stroke that is being drawn, and let go of the picture."""
        self._set_grip(None)
        if self._pen is not None:
            self.drew.emit(self._pen.drop())
            self.stroke_dropped.emit()

    def toggle_pen(self, *, straight: bool = False) -> None:
        """Put the pen down where the pointer is, or lift it."""
        if self.is_drawing:
            self.lift()
        elif self.pointer is not None:
            self._button, self._by_pen, self._since = Qt.MouseButton.NoButton, False, 0
            label = self.brush.label(Qt.MouseButton.LeftButton)
            self._put_down(self.pointer, label, straight=straight)

    def step(self, dx: int, dy: int, *, fine: bool) -> None:
        """Move the brush without a mouse; the picture follows when it leaves the window."""
        viewport = self._viewport
        size = viewport.image_size
        start = self.pointer or QPointF(size.width() / 2, size.height() / 2)
        step = 1.0 if fine else _KEY_STEP / viewport.view.scale
        at = QPointF(
            min(max(start.x() + dx * step, 0.5), size.width() - 0.5),
            min(max(start.y() + dy * step, 0.5), size.height() - 0.5),
        )
        self._draw_to(at)
        viewport.bring_into_sight(at)
        self.point_at(at)

    # The pen --------------------------------------------------------------------------

    def _put_down(
        self,
        at: QPointF,
        label: int | None,
        pressure: float | None = None,
        *,
        straight: bool = False,
    ) -> None:
        if self._pen is None:
            return
        self.drew.emit(self._pen.drop())
        radius = self.brush.radius_in_picture(self._viewport.view.scale)
        brush = replace(self.brush, radius=radius)
        thin = _OUTLINE / self._viewport.view.scale
        self._pen.put_down(brush, label, with_pressure=pressure is not None, thin=thin)
        self.changed.emit()
        if straight and self._pen.last_end is not None:
            self._draw_to(QPointF(*self._pen.last_end), pressure)
        self._draw_to(at, pressure)

    def _draw_to(self, at: QPointF, pressure: float | None = None) -> None:
        if self._pen is not None:
            self.drew.emit(self._pen.draw_to((at.x(), at.y()), pressure))

    def _set_grip(self, at: QPointF | None) -> None:
        self._grip = at
        self.changed.emit()
