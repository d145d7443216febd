"""Canvas widget: display of the image and its layers, and event handlers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QEventPoint,
    QKeyEvent,
    QNativeGestureEvent,
    QPainter,
    QPalette,
    QPointingDevice,
    QTouchEvent,
)
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QTextEdit, QWidget

from segapp.qt.canvas.brush import Brush, BrushTarget, Tool, scaled_radius
from segapp.qt.canvas.input import CanvasInput
from segapp.qt.canvas.painting import (
    PAINTERS,
    BrushCursor,
    Glow,
    LabelOverlay,
    Scene,
    chequerboard,
)
from segapp.qt.canvas.stroke_layer import StrokeLayer
from segapp.qt.canvas.viewport import ZOOM_STEP, Viewport

if TYPE_CHECKING:
    from PySide6.QtCore import QLineF
    from PySide6.QtGui import (
        QEnterEvent,
        QFocusEvent,
        QMouseEvent,
        QPaintEvent,
        QResizeEvent,
        QTabletEvent,
        QWheelEvent,
    )

    from segapp.engine.suggestion import Spot
    from segapp.imaging.tiles import Rectangle
    from segapp.model.document import Document, Mark
    from segapp.model.picture import Scale
    from segapp.qt.canvas.layers import Layer


# Widget pixels: below this mean distance, a change of the fingers' spread is noise.
_MIN_SPREAD = 8.0


class TouchNavigation:
    """Panning and zooming by fingers on a touch screen."""

    def __init__(self, viewport: Viewport) -> None:
        self._viewport = viewport
        self._fingers: frozenset[int] = frozenset()
        self._centre = QPointF()
        self._spread = 0.0  # mean distance from the centre

    def handle(self, event: QTouchEvent) -> None:
        """Keep the same image points under the fingers."""
        down = [
            point for point in event.points() if point.state() is not QEventPoint.State.Released
        ]
        fingers = frozenset(point.id() for point in down)
        positions = [point.position() for point in down]
        centre, spread = _centre_and_spread(positions)
        if fingers and fingers == self._fingers:  # a finger that is added moves nothing
            self._viewport.pan(centre - self._centre)
            if spread > _MIN_SPREAD and self._spread > _MIN_SPREAD:
                self._viewport.zoom(spread / self._spread, centre)
        self._fingers, self._centre, self._spread = fingers, centre, spread

    def reset(self) -> None:
        """Forget the fingers, as when the system cancels the gesture."""
        self._fingers = frozenset()


def _centre_and_spread(points: list[QPointF]) -> tuple[QPointF, float]:
    if not points:
        return QPointF(), 0.0
    n = len(points)
    centre = QPointF(sum(at.x() for at in points) / n, sum(at.y() for at in points) / n)
    spread = sum(math.hypot(at.x() - centre.x(), at.y() - centre.y()) for at in points) / n
    return centre, spread


class PictureView(QWidget):
    """The image with its layers; only changed regions are repainted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)
        self.viewport = Viewport(self)
        self.viewport.changed.connect(self.update)
        self._image: Layer | None = None
        self._overlay: LabelOverlay | None = None
        self._opacity = 0.5
        self._stroke_opacity = 0.85
        self._strokes: StrokeLayer | None = None
        self._strokes_shown = True
        self._labelling_hidden = False  # by the command
        self._peeking = False  # while a key is held
        self._spot: Spot | None = None
        self._spot_name = ""
        self._selection: tuple[QLineF, ...] = ()
        self._glow: tuple[Glow, ...] = ()
        self._proposal: tuple[QLineF, ...] = ()
        self._chequer = chequerboard()
        self._scale: Scale | None = None
        self._bar_shown = True
        self._greyed = False

    def set_picture(self, layer: Layer) -> None:
        """Show another picture in full, without labelling and strokes."""
        self._image = layer
        self._overlay = self._spot = None
        self._selection = self._proposal = ()
        self._glow = ()
        height, width = layer.size
        self._strokes = StrokeLayer((height, width))
        self.viewport.set_image_size(QSize(width, height))

    def replace_layer(self, layer: Layer) -> None:
        """Show the same picture with other levels or channels, at the same zoom."""
        self._image = layer
        self.update()

    def set_document(self, document: Document) -> None:
        """Show the strokes of a document."""
        if self._strokes is not None:
            self._update_box(self._strokes.show(document))

    def set_overlay(self, overlay: LabelOverlay | None) -> None:
        """Show a labelling over the picture or in its place; None removes it."""
        before, self._overlay = self._overlay, overlay
        box = None if overlay is None or before is None else overlay.changed_box(before)
        if box is None:
            self.update()
        else:
            self._update_box(box)

    def set_spot(self, spot: Spot | None, name: str = "") -> None:
        """Ring the least certain region, with an optional label."""
        if (spot, name) != (self._spot, self._spot_name):
            self._spot, self._spot_name = spot, name
            self.update()

    def set_selection(self, lines: tuple[QLineF, ...]) -> None:
        """Show the contour of the selected region, as lines in image coordinates."""
        if lines != self._selection:
            self._selection = lines
            self.update()

    def set_proposal(self, lines: tuple[QLineF, ...]) -> None:
        """Show the contour of the proposed object, as lines in image coordinates."""
        if lines or self._proposal:
            self._proposal = lines
            self.update()

    def set_glow(self, glow: tuple[Glow, ...]) -> None:
        """Let some strokes glow."""
        if glow or self._glow:
            self._glow = glow
            self.update()

    def set_scale(self, scale: Scale | None) -> None:
        """Set the size of a pixel, for the scale bar."""
        self._scale = scale
        self.update()

    def set_scale_bar_shown(self, shown: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the scale bar."""
        self._bar_shown = shown
        self.update()

    def set_opacity(self, opacity: float) -> None:
        """Set the opacity of the labelling, from 0 to 1."""
        self._opacity = opacity
        self.update()

    def set_stroke_opacity(self, opacity: float) -> None:
        """Set the opacity of the strokes, from 0 to 1."""
        self._stroke_opacity = opacity
        self.update()

    def set_labelling_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the labelling."""
        if hidden != self._labelling_hidden:
            self._labelling_hidden = hidden
            self.update()

    def peek(self, *, on: bool) -> None:
        """Hide the labelling for as long as a key is held."""
        if on != self._peeking:
            self._peeking = on
            self.update()

    def set_strokes_shown(self, shown: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the strokes; a stroke that is being drawn is always shown."""
        self._strokes_shown = shown
        self.update()

    def _update_box(self, box: Rectangle) -> None:
        """Repaint a box of the picture."""
        left, top, right, bottom = box
        if left < right and top < bottom:
            rect = QRectF(left, top, right - left, bottom - top)
            self.update(self.viewport.view.pixels_covering(rect, 3))

    def _cursor(self) -> BrushCursor | None:
        """Return the preview circle of the brush; subclasses have one."""
        return None

    def _is_drawing(self) -> bool:
        """Return whether a stroke is being drawn; subclasses have strokes."""
        return False

    def _scene(self) -> Scene:
        hidden = self._labelling_hidden or self._peeking
        overlay = None if hidden else self._overlay
        bare = hidden or (overlay is not None and overlay.bare)
        shown = (self._strokes_shown and not bare) or self._is_drawing()
        transparent = overlay is not None and overlay.replaces_image
        return Scene(
            view=self.viewport.view,
            background=self._background(),
            image=self._image,
            overlay=overlay,
            opacity=self._opacity,
            strokes=self._strokes.layer if self._strokes is not None and shown else None,
            stroke_opacity=self._stroke_opacity,
            spot=None if bare else self._spot,
            spot_name=self._spot_name,
            selection=self._selection,
            proposal=self._proposal,
            glow=self._glow,
            cursor=self._cursor(),
            chequer=self._chequer if transparent else None,
            pixel_ratio=self.devicePixelRatioF(),
            scale=self._scale if self._bar_shown else None,
        )

    def _background(self) -> QColor:
        """Return a shade that is darker than the window."""
        window = self.palette().color(QPalette.ColorRole.Window)
        return window.darker(112) if window.lightness() > 128 else window.darker(135)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the layers from bottom to top."""
        painter = QPainter(self)
        painter.setClipRegion(event.region())
        scene = self._scene()
        for paint in PAINTERS:
            paint(painter, scene)
        if self._greyed:
            veil = self._background()
            veil.setAlpha(_VEIL)
            painter.fillRect(event.rect(), veil)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the picture visible."""
        super().resizeEvent(event)
        self.viewport.handle_resize()

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(900, 640)


# Milliseconds before the canvas is greyed, as most pictures are there earlier; and of 255.
_GREY_DELAY, _VEIL = 150, 170
# Qt's unit is an eighth of a degree; a notch of nearly every mouse is 15 degrees.
_WHEEL_NOTCH = 120.0
# Widget pixels that the picture moves sideways per notch with Shift.
_PAN_STEP = 60.0
# Widget pixels outside the brush's circle that its line and halo may cover.
_CURSOR_MARGIN = 6.0
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class Canvas(PictureView):
    """The view on which strokes are drawn."""

    stroke_finished = Signal(object)  # Mark
    stroke_extended = Signal()
    stroke_cancelled = Signal()
    fill_requested = Signal(object, object)  # QPointF in image coordinates, class or None
    proposals_held = Signal(bool)  # whether the key is held
    proposal_resized = Signal(float)  # by notches of the wheel, while the key is held
    explain_requested = Signal(object)  # QPointF in image coordinates; None when the key is let go
    select_requested = Signal(object, bool)  # QPointF in image coordinates, whether to add
    radius_requested = Signal(float)
    pointer_moved = Signal(object)  # QPointF in image coordinates, or None outside
    panels_requested = Signal()  # to be hidden or shown

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setTabletTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_AcceptTouchEvents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Image"))
        self.setAccessibleDescription(
            self.tr(
                "Arrow keys move the brush, Return puts it down and lifts it, Escape "
                "cancels the stroke."
            )
        )
        self._paints = False  # whether the focus came by a pointer and not by keys
        self._input = CanvasInput(self.viewport, self)
        self._grey_timer = QTimer(self)
        self._grey_timer.setSingleShot(True)
        self._grey_timer.setInterval(_GREY_DELAY)
        self._grey_timer.timeout.connect(self._grey)
        self._cursor_rect = QRect()  # of the last painted preview circle
        self._explaining = self._proposing = False  # while a key is held
        self._touch = TouchNavigation(self.viewport)
        self._input.stroke_finished.connect(self.stroke_finished)
        self._input.stroke_cancelled.connect(self.stroke_cancelled)
        self._input.fill_requested.connect(self.fill_requested)
        self._input.explain_requested.connect(self.explain_requested)
        self._input.select_requested.connect(self.select_requested)
        self._input.drawn.connect(lambda _: self.stroke_extended.emit())
        self._input.pointer_moved.connect(self.pointer_moved)
        self._input.drawn.connect(self._update_box)
        self._input.changed.connect(self._update_cursor)
        self.viewport.changed.connect(self._update_cursor)

    @property
    def brush(self) -> Brush:
        """The present brush."""
        return self._input.brush

    def unfinished_stroke(self) -> Mark | None:
        """Return the stroke that is being drawn, if the learner gets it."""
        return self._input.stroke if self.brush.target is BrushTarget.STROKES else None

    def set_brush(self, brush: Brush) -> None:
        """Set size, class and tool of the next stroke."""
        self._input.set_brush(brush)

    def block(self, *, on: bool) -> None:
        """Take no strokes, and after a moment be greyed, while the picture is about to go."""
        self._input.block(on=on)
        if on:
            self._grey_timer.start()
        else:
            self._grey_timer.stop()
            self._grey(on=False)

    def _grey(self, *, on: bool = True) -> None:
        if on != self._greyed:
            self._greyed = on
            self.update()

    def set_picture(self, layer: Layer) -> None:
        """Show another picture and cancel an unfinished stroke."""
        super().set_picture(layer)
        if self._strokes is not None:
            self._input.set_stroke_layer(self._strokes)

    # Cursor --------------------------------------------------------------------------------

    def _is_drawing(self) -> bool:
        return self._input.is_drawing

    def _cursor(self) -> BrushCursor | None:
        pointer = self._input.pointer
        blocked = self._input.pans_on_press or self._input.is_blocked
        if pointer is None or self._image is None or blocked:
            return None
        radius = self.brush.radius_in_picture(self.viewport.view.scale)
        erasing = self.brush.tool is Tool.ERASER
        return BrushCursor(pointer, radius, QColor(*self._input.colour), erasing)

    def _update_cursor(self) -> None:
        """Repaint the preview circle at its old and new position; set the mouse cursor."""
        self.update(self._cursor_rect)
        self._cursor_rect = QRect()
        if self._input.pointer is not None:
            at = self.viewport.view.to_widget(self._input.pointer)
            scale = self.viewport.view.scale
            reach = self.brush.radius_in_picture(scale) * scale + _CURSOR_MARGIN
            self._cursor_rect = QRectF(
                at.x() - reach, at.y() - reach, 2 * reach, 2 * reach
            ).toAlignedRect()
        self.update(self._cursor_rect)
        if self._input.is_blocked:
            shape = Qt.CursorShape.WaitCursor
        elif self._image is None:
            shape = Qt.CursorShape.ArrowCursor
        elif self._input.is_panning:
            shape = Qt.CursorShape.ClosedHandCursor
        elif self._input.pans_on_press:
            shape = Qt.CursorShape.OpenHandCursor
        else:
            shape = Qt.CursorShape.CrossCursor
        if self.cursor().shape() != shape:
            self.setCursor(shape)

    # Pointer --------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a stroke, or begin to pan."""
        buttons = (
            Qt.MouseButton.LeftButton,
            Qt.MouseButton.RightButton,
            Qt.MouseButton.MiddleButton,
        )
        self._paints = True
        if event.button() in buttons:
            straight = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._input.press(
                event.position(), event.button(), straight=straight, time=event.timestamp()
            )

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Finish a polygon; with other tools, act as for a single press."""
        if self.brush.tool is Tool.POLYGON and self._input.is_drawing:
            self._input.finish_stroke()
        else:
            self.mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Extend the stroke, or pan."""
        self._input.move(event.position(), buttons=event.buttons(), time=event.timestamp())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish the stroke, or end panning."""
        self._input.release(event.button(), event.position())

    def tabletEvent(self, event: QTabletEvent) -> None:
        """Draw with a pen: pressure scales the width, the eraser end erases."""
        position, pressure = event.position(), event.pressure()
        kind = event.type()
        if kind == QEvent.Type.TabletPress:
            # A pen's side buttons paint as a mouse's buttons do: without pressure.
            is_tip = event.button() is Qt.MouseButton.LeftButton
            self._input.press(
                position,
                event.button(),
                pressure if is_tip else None,
                by_pen=True,
                erases=event.pointerType() is QPointingDevice.PointerType.Eraser,
                straight=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier),
                time=event.timestamp(),
            )
        elif kind == QEvent.Type.TabletMove:
            self._input.move(position, pressure, time=event.timestamp())
        elif kind == QEvent.Type.TabletRelease:
            self._input.lift_pen()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer; resize the brush with Ctrl, pan sideways with Shift."""
        notches = event.angleDelta().y() / _WHEEL_NOTCH
        if self._proposing:
            self.proposal_resized.emit(notches)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.radius_requested.emit(scaled_radius(self.brush.radius, notches))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.viewport.pan(QPointF(notches * _PAN_STEP, 0.0))
        else:
            self.viewport.zoom(ZOOM_STEP**notches, event.position())
            self._input.set_pointer(self.viewport.view.to_image(event.position()))
        event.accept()

    def event(self, event: QEvent) -> bool:
        """Handle touches and a touchpad's pinch; leave other events to their handlers."""
        if isinstance(event, QTouchEvent):
            if event.type() == QEvent.Type.TouchCancel or self._input.is_drawing:
                self._touch.reset()  # a palm that rests beside the pen must not pan
            else:
                self._touch.handle(event)
            event.accept()
            return True
        if isinstance(event, QKeyEvent) and self._paints and _is_tab(event):
            self.panels_requested.emit()  # who moves the focus by keys goes on to the next widget
            return True
        if (
            isinstance(event, QNativeGestureEvent)
            and event.gestureType() is Qt.NativeGestureType.ZoomNativeGesture
        ):
            self.viewport.zoom(1.0 + event.value(), event.position())
            return True
        return super().event(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Take the keyboard focus, except from a text field."""
        typing = (QLineEdit, QTextEdit, QAbstractSpinBox)
        if not isinstance(QApplication.focusWidget(), typing):
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Remove the preview circle."""
        self._input.set_pointer(None)
        super().leaveEvent(event)

    # Keys -----------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Act while Space, H, W or Q is held; draw with the arrow keys."""
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space:
            self._input.hold_space(held=True)
        elif key == Qt.Key.Key_H:
            self.peek(on=True)
        elif key == Qt.Key.Key_W:
            self._hold_explain(on=True)
        elif key == Qt.Key.Key_Q:
            self._hold_proposals(on=True)
        elif key == Qt.Key.Key_Escape and self._input.is_drawing:
            self._input.cancel_stroke()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if event.isAutoRepeat():
                return
            straight = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._input.toggle_pen(straight=straight)
        elif key in _ARROWS and self._image is not None:
            fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._input.move_by_key(*_ARROWS[key], fine=fine)
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """End the effect of a held key."""
        if event.isAutoRepeat():
            return
        if event.key() == Qt.Key.Key_Space:
            self._input.hold_space(held=False)
        elif event.key() == Qt.Key.Key_H:
            self.peek(on=False)
        elif event.key() == Qt.Key.Key_W:
            self._hold_explain(on=False)
        elif event.key() == Qt.Key.Key_Q:
            self._hold_proposals(on=False)
        else:
            super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Note whether a pointer brought the focus."""
        self._paints = event.reason() is Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """End the effect of held keys, as another widget will get their release."""
        self._input.hold_space(held=False)
        self.peek(on=False)
        self._hold_explain(on=False)
        self._hold_proposals(on=False)
        super().focusOutEvent(event)

    def _hold_proposals(self, *, on: bool) -> None:
        """Propose objects while a key is held."""
        if on != self._proposing:
            self._proposing = on
            self.proposals_held.emit(on)

    def _hold_explain(self, *, on: bool) -> None:
        """Ask for the reasons of the pixel under the pointer while a key is held."""
        if on != self._explaining and not (on and self._input.pointer is None):
            self._explaining = on
            self.explain_requested.emit(self._input.pointer if on else None)


def _is_tab(event: QKeyEvent) -> bool:
    plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
    return event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Tab and plain
