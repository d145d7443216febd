"""The canvas: pointer, pen and keys become strokes; wheel and drag move the view."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QNativeGestureEvent, QPointingDevice
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QTextEdit,
    QWidget,
)

from segapp.qt.canvas.brush import StrokeInProgress, stepped_radius
from segapp.qt.canvas.painting import Cursor
from segapp.qt.canvas.picture_view import PictureView

if TYPE_CHECKING:
    from PySide6.QtGui import (
        QEnterEvent,
        QFocusEvent,
        QKeyEvent,
        QMouseEvent,
        QTabletEvent,
        QWheelEvent,
    )

    from segapp.qt.canvas.layers import Layer
    from segapp.values.document import Mark

_WHEEL_NOTCH = 120.0
_KEY_STEP = 12.0  # widget pixels an arrow key moves the brush
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class Tool(Enum):
    """What the left and the right button do."""

    BRUSH = "brush"
    ERASER = "eraser"
    HAND = "hand"


@dataclass(frozen=True, slots=True)
class Brush:
    """The brush as it is set: the left button paints ``left``, the right one ``right``."""

    radius: float = 8.0
    left: int = 0
    right: int = 1
    tool: Tool = Tool.BRUSH
    keep_others: bool = False  # paint around other classes instead of over them
    left_colour: tuple[int, int, int] = (255, 255, 255)

    def label(self, button: Qt.MouseButton) -> int | None:
        """Return the class that a button paints; None erases."""
        if self.tool is Tool.ERASER:
            return None
        return self.right if button is Qt.MouseButton.RightButton else self.left


class Canvas(PictureView):
    """Turns what the hand does into finished strokes."""

    stroke_finished = Signal(object)  # Mark
    radius_wanted = Signal(float)
    pointer_moved = Signal(object)  # QPointF in image coordinates, or None outside

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setTabletTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Picture"))
        self.setAccessibleDescription(
            self.tr(
                "Arrow keys move the brush, Return puts it down and lifts it, "
                "Escape drops the stroke."
            )
        )
        self._brush = Brush()
        self._stroke: StrokeInProgress | None = None
        self._stroke_hit = False  # whether the stroke has touched the picture
        self._button = Qt.MouseButton.NoButton
        self._pointer: QPointF | None = None  # in image coordinates
        self._last_end: QPointF | None = None
        self._space = False
        self._grip: QPointF | None = None  # widget position while the picture is dragged

    # What the window sets -------------------------------------------------------------

    @property
    def brush(self) -> Brush:
        """The brush as it is set."""
        return self._brush

    def set_brush(self, brush: Brush) -> None:
        """Use another size, class or tool from the next stroke on."""
        self._update_cursor()
        self._brush = brush
        self._update_cursor()
        self._update_shape()

    def set_picture(self, layer: Layer) -> None:
        """Show another picture; a stroke in the making belonged to the old one."""
        self._stroke = None
        self._last_end = None
        super().set_picture(layer)
        self._update_shape()

    def drop_stroke(self) -> None:
        """Forget the stroke that is being drawn."""
        if self._stroke is not None and self._strokes is not None:
            self._stroke = None
            self._update_box(self._strokes.drop())

    # Strokes --------------------------------------------------------------------------

    def _is_drawing(self) -> bool:
        return self._stroke is not None

    def _begin(self, at: QPointF, label: int | None, pressure: float | None = None) -> None:
        if self._strokes is None:
            return
        self.drop_stroke()
        self._stroke = StrokeInProgress(
            self._brush.radius, label, with_pressure=pressure is not None
        )
        self._stroke_hit = False
        straight = QApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier
        if straight and self._last_end is not None:
            self._continue(self._last_end, pressure)
        self._continue(at, pressure)

    def _continue(self, at: QPointF, pressure: float | None = None) -> None:
        if self._stroke is None or self._strokes is None:
            return
        piece = self._stroke.add(at.x(), at.y(), 1.0 if pressure is None else pressure)
        if piece is not None:
            box = self._strokes.stamp(piece, keep_others=self._keeps_others(piece.label))
            self._stroke_hit = self._stroke_hit or box[0] < box[2]
            self._update_box(box)

    def _keeps_others(self, label: int | None) -> bool:
        return self._brush.keep_others and label is not None

    def _finish(self) -> None:
        if self._stroke is None or self._strokes is None:
            return
        stroke = self._stroke.finished()
        mark: Mark | None = stroke if self._stroke_hit else None
        if self._stroke_hit and self._keeps_others(stroke.label):
            mark = self._strokes.drawn_patch(stroke)
        if mark is None:
            self.drop_stroke()
            return
        self._stroke = None
        self._last_end = QPointF(*stroke.points[-1])
        self.stroke_finished.emit(mark)

    # Pointer --------------------------------------------------------------------------

    def _cursor(self) -> Cursor | None:
        if self._pointer is None or self._image is None or self._hand_wanted():
            return None
        erasing = self._brush.tool is Tool.ERASER
        colour = QColor(255, 255, 255) if erasing else QColor(*self._brush.left_colour)
        return Cursor(self._pointer, self._brush.radius, colour, erasing)

    def _update_cursor(self) -> None:
        if self._pointer is not None:
            self.update(self._widget_rect_around(self._pointer, self._brush.radius))

    def _move_pointer(self, at: QPointF | None) -> None:
        self._update_cursor()
        self._pointer = at
        self._update_cursor()
        self.pointer_moved.emit(at)

    def _hand_wanted(self) -> bool:
        return self._space or self._grip is not None or self._brush.tool is Tool.HAND

    def _update_shape(self) -> None:
        if self._image is None:
            self.unsetCursor()
        elif self._grip is not None:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif self._hand_wanted():
            self.setCursor(Qt.CursorShape.OpenHandCursor)
        else:
            self.setCursor(Qt.CursorShape.CrossCursor)

    def _set_grip(self, at: QPointF | None) -> None:
        self._grip = at
        self._update_cursor()
        self._update_shape()

    def _press(self, position: QPointF, button: Qt.MouseButton) -> None:
        drags = button is Qt.MouseButton.MiddleButton or self._hand_wanted()
        if drags:
            self._set_grip(position)
        elif self._stroke is None:
            self._button = button
            self._begin(self._view.to_image(position), self._brush.label(button))

    def _move(self, position: QPointF, pressure: float | None = None) -> None:
        if self._stroke is not None and self._space and self._grip is None:
            self._set_grip(position)
        if self._grip is not None:
            delta = position - self._grip
            self._grip = position
            self.pan(delta)
        else:
            self._continue(self._view.to_image(position), pressure)
        self._move_pointer(self._view.to_image(position))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a stroke or take hold of the picture."""
        buttons = (
            Qt.MouseButton.LeftButton,
            Qt.MouseButton.RightButton,
            Qt.MouseButton.MiddleButton,
        )
        if event.button() in buttons:
            self._press(event.position(), event.button())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with the stroke, or drag the picture."""
        self._move(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish the stroke, or let go of the picture."""
        if self._stroke is not None and event.button() == self._button:
            self._set_grip(None)
            self._finish()
        elif self._grip is not None:
            self._set_grip(None)

    def tabletEvent(self, event: QTabletEvent) -> None:
        """Draw with a pen: its pressure is the brush's width, its other end erases."""
        position, pressure = event.position(), event.pressure()
        kind = event.type()
        if kind == QEvent.Type.TabletPress:
            if event.button() is not Qt.MouseButton.LeftButton or self._hand_wanted():
                self._press(position, event.button())
            else:
                eraser = event.pointerType() is QPointingDevice.PointerType.Eraser
                label = None if eraser else self._brush.label(event.button())
                self._button = event.button()
                self._begin(self._view.to_image(position), label, pressure)
        elif kind == QEvent.Type.TabletMove:
            self._move(position, pressure)
        elif kind == QEvent.Type.TabletRelease:
            self._set_grip(None)
            self._finish()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer; with Ctrl, change the brush's size."""
        notches = event.angleDelta().y() / _WHEEL_NOTCH
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.radius_wanted.emit(stepped_radius(self._brush.radius, notches))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(QPointF(notches * 60.0, 0.0))
        else:
            self.zoom(1.25**notches, event.position())
            self._move_pointer(self._view.to_image(event.position()))
        event.accept()

    def event(self, event: QEvent) -> bool:
        """Zoom by pinching on a touchpad; leave the rest to the handlers."""
        if (
            isinstance(event, QNativeGestureEvent)
            and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture
        ):
            self.zoom(1.0 + event.value(), event.position())
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Take the keys, unless somebody is typing."""
        typing = (QLineEdit, QTextEdit, QAbstractSpinBox)
        if not isinstance(QApplication.focusWidget(), typing):
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._update_shape()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the brush's outline away."""
        self._move_pointer(None)
        super().leaveEvent(event)

    # Keys -----------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hold Space to drag, hold H to see the bare picture, draw with the arrows."""
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space:
            self._space = True
            self._update_cursor()
            self._update_shape()
        elif key == Qt.Key.Key_H:
            self.set_labelling_hidden(True)
        elif key == Qt.Key.Key_Escape and self._stroke is not None:
            self._set_grip(None)
            self.drop_stroke()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._toggle_pen()
        elif key in _ARROWS and self._image is not None:
            self._step(*_ARROWS[key], fine=bool(event.modifiers()))
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Let go of what a held key did."""
        if event.isAutoRepeat():
            return
        if event.key() == Qt.Key.Key_Space:
            self._space = False
            self._set_grip(None)
        elif event.key() == Qt.Key.Key_H:
            self.set_labelling_hidden(False)
        else:
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Let go of held keys, whose release would arrive elsewhere."""
        self._space = False
        self.set_labelling_hidden(False)
        self._update_shape()
        super().focusOutEvent(event)

    def _toggle_pen(self) -> None:
        if self._stroke is not None:
            self._finish()
        elif self._pointer is not None:
            self._button = Qt.MouseButton.NoButton
            self._begin(self._pointer, self._brush.label(Qt.MouseButton.LeftButton))

    def _step(self, dx: int, dy: int, *, fine: bool) -> None:
        size = self.image_size
        start = self._pointer or QPointF(size.width() / 2, size.height() / 2)
        step = 1.0 if fine else _KEY_STEP / self._view.scale
        at = QPointF(
            min(max(start.x() + dx * step, 0.5), size.width() - 0.5),
            min(max(start.y() + dy * step, 0.5), size.height() - 0.5),
        )
        self._continue(at)
        if not self.rect().contains(self._view.to_widget(at).toPoint()):
            self.centre_on(at.x(), at.y())
        self._move_pointer(at)
