"""The canvas widget: events, touch, and the view of the image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEventPoint,
    QNativeGestureEvent,
    QPainter,
    QPalette,
    QPointingDevice,
    QTouchEvent,
)
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QTextEdit, QWidget

from segapp.qt.canvas.brush import Brush, Tool, stepped_radius
from segapp.qt.canvas.input import Hand
from segapp.qt.canvas.painting import PAINTERS, Cursor, Scene, Sheet, chequerboard
from segapp.qt.canvas.stroke_layer import StrokeLayer
from segapp.qt.canvas.viewport import ZOOM_STEP, Viewport

if TYPE_CHECKING:
    from PySide6.QtCore import QLineF
    from PySide6.QtGui import (
        QEnterEvent,
        QFocusEvent,
        QKeyEvent,
        QMouseEvent,
        QPaintEvent,
        QResizeEvent,
        QTabletEvent,
        QWheelEvent,
    )

    from segapp.engine.suggestion import Spot
    from segapp.imaging.rasterise import Rectangle
    from segapp.model.document import Document, Mark
    from segapp.qt.canvas.layers import Layer


# Widget pixels: fingers nearer than this are one, and their distance says nothing.
_NEAREST = 8.0


class Touch:
    """Keeps what lies under the fingers under them; it never paints."""

    def __init__(self, viewport: Viewport) -> None:
        self._viewport = viewport
        self._fingers: frozenset[int] = frozenset()
        self._centre = QPointF()
        self._spread = 0.0  # mean distance from the centre

    def take(self, event: QTouchEvent) -> None:
        """Follow the fingers; one that comes or goes moves nothing."""
        down = [
            point for point in event.points() if point.state() is not QEventPoint.State.Released
        ]
        fingers = frozenset(point.id() for point in down)
        places = [point.position() for point in down]
        centre, spread = _centre_and_spread(places)
        if fingers and fingers == self._fingers:
            self._viewport.pan(centre - self._centre)
            if spread > _NEAREST and self._spread > _NEAREST:
                self._viewport.zoom(spread / self._spread, centre)
        self._fingers, self._centre, self._spread = fingers, centre, spread

    def let_go(self) -> None:
        """Forget the fingers: the system has taken them for something else."""
        self._fingers = frozenset()


def _centre_and_spread(places: list[QPointF]) -> tuple[QPointF, float]:
    if not places:
        return QPointF(), 0.0
    n = len(places)
    centre = QPointF(sum(at.x() for at in places) / n, sum(at.y() for at in places) / n)
    spread = sum(math.hypot(at.x() - centre.x(), at.y() - centre.y()) for at in places) / n
    return centre, spread


class PictureView(QWidget):
    """Holds what is to be seen and repaints only what has changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)
        self.viewport = Viewport(self)
        self.viewport.changed.connect(self.update)
        self._image: Layer | None = None
        self._labelling: Sheet | None = None
        self._opacity = 0.5
        self._stroke_opacity = 0.85  # plain to see, and what is below still shows
        self._strokes: StrokeLayer | None = None
        self._strokes_shown = True
        self._labelling_hidden = False  # for good, by the command
        self._peeking = False  # as long as a key is held
        self._spot: Spot | None = None
        self._spot_name = ""
        self._selection: tuple[QLineF, ...] = ()
        self._chequer = chequerboard()

    def set_picture(self, layer: Layer) -> None:
        """Show another picture, whole, without labelling and strokes."""
        self._image = layer
        self._labelling = self._spot = None
        self._selection = ()
        height, width = layer.size
        self._strokes = StrokeLayer((height, width))
        self.viewport.show_whole(QSize(width, height))

    def show_anew(self, layer: Layer) -> None:
        """Show the same picture with other levels or channels, at the same zoom."""
        self._image = layer
        self.update()

    def set_document(self, document: Document) -> None:
        """Show the strokes of a document."""
        if self._strokes is not None:
            self._update_box(self._strokes.show(document))

    def set_labelling(self, sheet: Sheet | None) -> None:
        """Show the labelling over the picture or in its place; None withdraws it."""
        before, self._labelling = self._labelling, sheet
        box = sheet.changed_from(before) if sheet is not None and before is not None else None
        if box is None:
            self.update()
        else:
            self._update_box(box)

    def set_spot(self, spot: Spot | None, name: str = "") -> None:
        """Mark where a stroke would help most, and say so to those who do not know yet."""
        if (spot, name) != (self._spot, self._spot_name):
            self._spot, self._spot_name = spot, name
            self.update()

    def set_selection(self, lines: tuple[QLineF, ...]) -> None:
        """Outline what somebody has chosen, by lines in the picture; none at all ends it."""
        if lines != self._selection:
            self._selection = lines
            self.update()

    def set_opacity(self, opacity: float) -> None:
        """Set how strongly the labelling covers the picture, from 0 to 1."""
        self._opacity = opacity
        self.update()

    def set_stroke_opacity(self, opacity: float) -> None:
        """Set how strongly the strokes cover the picture, from 0 to 1."""
        self._stroke_opacity = opacity
        self.update()

    def set_labelling_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show the bare picture until the answer is wanted again."""
        if hidden != self._labelling_hidden:
            self._labelling_hidden = hidden
            self.update()

    def peek(self, *, on: bool) -> None:
        """Show the bare picture for a moment, and then what was shown before."""
        if on != self._peeking:
            self._peeking = on
            self.update()

    def set_strokes_shown(self, shown: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the strokes; one that is being drawn is always seen."""
        self._strokes_shown = shown
        self.update()

    def _update_box(self, box: Rectangle) -> None:
        """Repaint what shows a box of the picture."""
        left, top, right, bottom = box
        if left < right and top < bottom:
            rect = QRectF(left, top, right - left, bottom - top)
            self.update(self.viewport.view.pixels_covering(rect, 3))

    def _cursor(self) -> Cursor | None:
        """Return the brush's outline, if there is one."""
        return None

    def _is_drawing(self) -> bool:
        """Tell whether a stroke is in the making."""
        return False

    def _scene(self) -> Scene:
        hidden = self._labelling_hidden or self._peeking
        sheet = None if hidden else self._labelling
        bare = hidden or (sheet is not None and sheet.bare)
        shown = (self._strokes_shown and not bare) or self._is_drawing()
        see_through = sheet is not None and sheet.replaces_image
        return Scene(
            view=self.viewport.view,
            ground=self._ground(),
            image=self._image,
            sheet=sheet,
            opacity=self._opacity,
            strokes=self._strokes.layer if self._strokes is not None and shown else None,
            stroke_opacity=self._stroke_opacity,
            spot=None if bare else self._spot,
            spot_name=self._spot_name,
            selection=self._selection,
            cursor=self._cursor(),
            chequer=self._chequer if see_through else None,
            pixel_ratio=self.devicePixelRatioF(),
        )

    def _ground(self) -> QColor:
        """Return a shade darker than the window, from which a picture stands out."""
        window = self.palette().color(QPalette.ColorRole.Window)
        return window.darker(112) if window.lightness() > 128 else window.darker(135)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the layers in their order."""
        painter = QPainter(self)
        painter.setClipRegion(event.region())
        scene = self._scene()
        for paint in PAINTERS:
            paint(painter, scene)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the picture in sight."""
        super().resizeEvent(event)
        self.viewport.follow_widget()

    def sizeHint(self) -> QSize:
        """Ask for room, as the picture is what the window is for."""
        return QSize(900, 640)


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
