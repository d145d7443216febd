"""Which part of the picture a widget shows, and how large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Signal

from segapp.qt.canvas.view import View

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

# A notch of the wheel, or a command, zooms by a quarter: three of them about double the size.
ZOOM_STEP = 1.25
# Of the widget, that a box takes when it is shown large.
_SURROUNDED = 0.4


class Viewport(QObject):
    """Zooms and moves the `View` of a widget; without a picture it stays as it is."""

    changed = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._view = View()
        self._image_size = QSize()
        self._fits = True  # follow the widget's size until the user zooms or moves

    @property
    def view(self) -> View:
        """Where the picture lies."""
        return self._view

    @property
    def image_size(self) -> QSize:
        """Width and height of the picture; empty without one."""
        return self._image_size

    @property
    def screen_scale(self) -> float:
        """Pixels of the screen an image pixel."""
        return self._view.scale * self._widget.devicePixelRatioF()

    def show_whole(self, image_size: QSize) -> None:
        """Show another picture, all of it."""
        self._image_size = image_size
        self.fit()

    def fit(self) -> None:
        """Show the whole picture, and keep doing so when the widget's size changes."""
        if not self._image_size.isEmpty():
            self._set(View.fitted(self._image_size, self._widget.size()))
            self._fits = True

    def show_actual_size(self) -> None:
        """Show one image pixel as one pixel of the screen, around the present centre."""
        self.zoom(1.0 / self.screen_scale)

    def zoom(self, factor: float, anchor: QPointF | None = None) -> None:
        """Zoom about a point of the widget, or about its centre."""
        self._move_to(self._view.zoomed(factor, anchor or self._centre()))

    def pan(self, delta: QPointF) -> None:
        """Move the picture by widget pixels."""
        self._move_to(self._view.panned(delta))

    def centre_on(self, at: QPointF) -> None:
        """Bring a point of the picture into the middle."""
        self.pan(self._centre() - self._view.to_widget(at))

    def bring_into_sight(self, at: QPointF) -> None:
        """Centre on a point of the picture unless the widget shows it."""
        if not self._widget.rect().contains(self._view.to_widget(at).toPoint()):
            self.centre_on(at)

    def bring_box_into_sight(self, box: QRectF) -> None:
        """Centre on a box of the picture unless the widget shows some of it."""
        shown = QRectF(
            self._view.to_widget(box.topLeft()), self._view.to_widget(box.bottomRight())
        )
        if not QRectF(self._widget.rect()).intersects(shown):
            self.centre_on(box.center())

    def show_box(self, box: QRectF) -> None:
        """Show a box of the picture large, with a good deal of what surrounds it."""
        room = self._widget.size()
        fitting = min(room.width() / box.width(), room.height() / box.height())
        self.zoom(_SURROUNDED * fitting / self._view.scale)
        self.centre_on(box.center())

    def follow_widget(self) -> None:
        """Keep a fitted picture fitted, and any other in sight, when the size has changed."""
        if self._fits:
            self.fit()
        else:
            self._move_to(self._view)

    def _centre(self) -> QPointF:
        return QRectF(self._widget.rect()).center()

    def _move_to(self, view: View) -> None:
        if not self._image_size.isEmpty():
            self._set(view.within_reach(self._image_size, self._widget.size()))
            self._fits = False

    def _set(self, view: View) -> None:
        self._view = view.aligned(self._widget.devicePixelRatioF())
        self.changed.emit()
