"""The canvas: Qt's events become what the hand does; wheel and pinch move the view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QNativeGestureEvent, QPointingDevice, QTouchEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QTextEdit,
    QWidget,
)

from segapp.qt.canvas.brush import Brush, Tool, stepped_radius
from segapp.qt.canvas.hand import Hand
from segapp.qt.canvas.painting import Cursor
from segapp.qt.canvas.picture_view import PictureView
from segapp.qt.canvas.touch import Touch
from segapp.qt.canvas.viewport import ZOOM_STEP

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

# Qt counts the wheel in eighths of a degree, and a notch of nearly every mouse is 15 degrees.
_WHEEL_NOTCH = 120.0
# Widget pixels that a notch with Shift moves the picture sideways.
_PAN_STEP = 60.0
# Widget pixels around the brush's circle that its line, with its dark rim, may cover.
_RING = 6.0
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class Canvas(PictureView):
    """Shows the picture and lets a hand work on it."""

    stroke_finished = Signal(object)  # Mark
    stroke_grew = Signal()
    stroke_dropped = Signal()
    fill_wanted = Signal(object, object)  # QPointF in image coordinates, class or None
    radius_wanted = Signal(float)
    pointer_moved = Signal(object)  # QPointF in image coordinates, or None outside

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setTabletTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_AcceptTouchEvents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Picture"))
        self.setAccessibleDescription(
            self.tr(
                "Arrow keys move the brush, Return puts it down and lifts it, "
                "Escape drops the stroke."
            )
        )
        self._hand = Hand(self.viewport, self)
        self._ringed = QRect()  # where the brush's outline was painted last
        self._touch = Touch(self.viewport)
        self._hand.stroke_finished.connect(self.stroke_finished)
        self._hand.stroke_dropped.connect(self.stroke_dropped)
        self._hand.fill_wanted.connect(self.fill_wanted)
        self._hand.drew.connect(lambda _: self.stroke_grew.emit())
        self._hand.pointer_moved.connect(self.pointer_moved)
        self._hand.drew.connect(self._update_box)
        self._hand.changed.connect(self._show_hand)
        self.viewport.changed.connect(self._show_hand)

    @property
    def brush(self) -> Brush:
        """The brush as it is set."""
        return self._hand.brush

    def stroke_so_far(self) -> Mark | None:
        """Return the stroke in the making that will teach; None when there is none."""
        return None if self.brush.retouches else self._hand.stroke

    def set_brush(self, brush: Brush) -> None:
        """Use another size, class or tool from the next stroke on."""
        self._hand.set_brush(brush)

    def set_picture(self, layer: Layer) -> None:
        """Show another picture; a stroke in the making belonged to the old one."""
        super().set_picture(layer)
        if self._strokes is not None:
            self._hand.take_picture(self._strokes)

    # Cursor ---------------------------------------------------------------------------

    def _is_drawing(self) -> bool:
        return self._hand.is_drawing

    def _cursor(self) -> Cursor | None:
        hand = self._hand
        if hand.pointer is None or self._image is None or hand.would_drag:
            return None
        erasing = hand.brush.tool is Tool.ERASER
        radius = hand.brush.radius_in_picture(self.viewport.view.scale)
        return Cursor(hand.pointer, radius, QColor(*hand.colour), erasing)

    def _show_hand(self) -> None:
        """Draw the brush where it is now and no longer where it was, and shape the pointer."""
        self.update(self._ringed)
        self._ringed = QRect()
        if self._hand.pointer is not None:
            at = self.viewport.view.to_widget(self._hand.pointer)
            scale = self.viewport.view.scale
            reach = self.brush.radius_in_picture(scale) * scale + _RING
            self._ringed = QRectF(
                at.x() - reach, at.y() - reach, 2 * reach, 2 * reach
            ).toAlignedRect()
        self.update(self._ringed)
        if self._image is None:
            shape = Qt.CursorShape.ArrowCursor
        elif self._hand.is_dragging:
            shape = Qt.CursorShape.ClosedHandCursor
        elif self._hand.would_drag:
            shape = Qt.CursorShape.OpenHandCursor
        else:
            shape = Qt.CursorShape.CrossCursor
        if self.cursor().shape() != shape:
            self.setCursor(shape)

    # Pointer --------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a stroke or take hold of the picture."""
        buttons = (
            Qt.MouseButton.LeftButton,
            Qt.MouseButton.RightButton,
            Qt.MouseButton.MiddleButton,
        )
        if event.button() in buttons:
            straight = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._hand.press(
                event.position(), event.button(), straight=straight, time=event.timestamp()
            )

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """End a polygon; for every other tool it is a press like any other."""
        if self.brush.tool is Tool.POLYGON and self._hand.is_drawing:
            self._hand.lift()
        else:
            self.mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with the stroke, or drag the picture."""
        self._hand.move(event.position(), buttons=event.buttons(), time=event.timestamp())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish the stroke, or let go of the picture."""
        self._hand.release(event.button(), event.position())

    def tabletEvent(self, event: QTabletEvent) -> None:
        """Draw with a pen: its pressure is the brush's width, its other end erases."""
        position, pressure = event.position(), event.pressure()
        kind = event.type()
        if kind == QEvent.Type.TabletPress:
            # The buttons on a pen's side have classes like a mouse's, and no pressure.
            is_tip = event.button() is Qt.MouseButton.LeftButton
            self._hand.press(
                position,
                event.button(),
                pressure if is_tip else None,
                by_pen=True,
                erases=event.pointerType() is QPointingDevice.PointerType.Eraser,
                straight=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier),
                time=event.timestamp(),
            )
        elif kind == QEvent.Type.TabletMove:
            self._hand.move(position, pressure, time=event.timestamp())
        elif kind == QEvent.Type.TabletRelease:
            self._hand.lift()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer; with Ctrl, change the brush's size."""
        notches = event.angleDelta().y() / _WHEEL_NOTCH
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.radius_wanted.emit(stepped_radius(self.brush.radius, notches))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.viewport.pan(QPointF(notches * _PAN_STEP, 0.0))
        else:
            self.viewport.zoom(ZOOM_STEP**notches, event.position())
            self._hand.point_at(self.viewport.view.to_image(event.position()))
        event.accept()

    def event(self, event: QEvent) -> bool:
        """Zoom by pinching on a touchpad, take fingers; leave the rest to the handlers."""
        if isinstance(event, QTouchEvent):
            if event.type() == QEvent.Type.TouchCancel or self._hand.is_drawing:
                self._touch.let_go()  # a hand that rests beside the pen means nothing
            else:
                self._touch.take(event)
            event.accept()
            return True
        if (
            isinstance(event, QNativeGestureEvent)
            and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture
        ):
            self.viewport.zoom(1.0 + event.value(), event.position())
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Take the keys, unless somebody is typing."""
        typing = (QLineEdit, QTextEdit, QAbstractSpinBox)
        if not isinstance(QApplication.focusWidget(), typing):
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the brush's outline away."""
        self._hand.point_at(None)
        super().leaveEvent(event)

    # Keys -----------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hold Space to drag, hold H to see the bare picture, draw with the arrows."""
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space:
            self._hand.hold_space(held=True)
        elif key == Qt.Key.Key_H:
            self.peek(on=True)
        elif key == Qt.Key.Key_Escape and self._hand.is_drawing:
            self._hand.drop_stroke()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            straight = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._hand.toggle_pen(straight=straight)
        elif key in _ARROWS and self._image is not None:
            fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._hand.step(*_ARROWS[key], fine=fine)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Let go of what a held key did."""
        if event.isAutoRepeat():
            return
        if event.key() == Qt.Key.Key_Space:
            self._hand.hold_space(held=False)
        elif event.key() == Qt.Key.Key_H:
            self.peek(on=False)
        else:
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Let go of held keys, whose release would arrive elsewhere."""
        self._hand.hold_space(held=False)
        self.peek(on=False)
        super().focusOutEvent(event)
