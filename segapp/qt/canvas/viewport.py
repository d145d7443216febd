"""Scale and offset of the image in a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, QSizeF, Signal

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


# The largest pictures fit a window at 1/64; at 64 a pixel is as large as an icon.
SMALLEST_SCALE = 1 / 64
LARGEST_SCALE = 64.0
# A larger fit of a small picture would show nothing but squares.
_LARGEST_FIT = 8.0
# Widget pixels around a fitted picture, for strokes that begin outside of it.
_MARGIN = 16
# Widget pixels of the picture that stay visible, so that it can be moved back.
_REACH = 48.0


@dataclass(frozen=True, slots=True)
class View:
    """Affine map from image to widget pixels: ``widget = image * scale + (x, y)``."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def to_image(self, point: QPointF) -> QPointF:
        """Return image coordinates of a point in widget coordinates."""
        return QPointF((point.x() - self.x) / self.scale, (point.y() - self.y) / self.scale)

    def to_widget(self, point: QPointF) -> QPointF:
        """Return widget coordinates of a point in image coordinates."""
        return QPointF(point.x() * self.scale + self.x, point.y() * self.scale + self.y)

    def rect_to_widget(self, rect: QRectF) -> QRectF:
        """Return an image rectangle in widget coordinates."""
        return QRectF(
            self.to_widget(rect.topLeft()),
            QSizeF(rect.width() * self.scale, rect.height() * self.scale),
        )

    def pixels_covering(self, rect: QRectF, margin: int = 2) -> QRect:
        """Return the widget pixels of an image rectangle, with a margin for smoothing."""
        return self.rect_to_widget(rect).toAlignedRect().adjusted(-margin, -margin, margin, margin)

    def zoomed(self, factor: float, anchor: QPointF) -> View:
        """Zoom about a fixed point in widget coordinates."""
        scale = min(max(self.scale * factor, SMALLEST_SCALE), LARGEST_SCALE)
        fixed = self.to_image(anchor)
        return View(scale, anchor.x() - fixed.x() * scale, anchor.y() - fixed.y() * scale)

    def panned(self, delta: QPointF) -> View:
        """Move the picture by widget pixels."""
        return View(self.scale, self.x + delta.x(), self.y + delta.y())

    def aligned(self, pixel_ratio: float) -> View:
        """Align image and screen pixels if one is a whole multiple of the other."""
        scale = self.scale * pixel_ratio
        if abs(scale - round(scale)) > 1e-6 * scale:
            return self
        return View(
            self.scale,
            round(self.x * pixel_ratio) / pixel_ratio,
            round(self.y * pixel_ratio) / pixel_ratio,
        )

    def clamped(self, image: QSize, window: QSize) -> View:
        """Limit the offset so that a margin of the picture stays visible."""

        def clamp(shift: float, length: float, room: float) -> float:
            low, high = min(_REACH - length, 0.0), max(room - _REACH, 0.0)
            return min(max(shift, low), high)

        return View(
            self.scale,
            clamp(self.x, image.width() * self.scale, window.width()),
            clamp(self.y, image.height() * self.scale, window.height()),
        )

    @staticmethod
    def fitted(image: QSize, window: QSize) -> View:
        """Return a view of the whole picture, centred, at most eightfold enlarged."""
        room = QSize(max(window.width() - 2 * _MARGIN, 1), max(window.height() - 2 * _MARGIN, 1))
        scale = min(room.width() / image.width(), room.height() / image.height(), _LARGEST_FIT)
        return View.centred(image, window, max(scale, SMALLEST_SCALE))

    @staticmethod
    def centred(image: QSize, window: QSize, scale: float) -> View:
        """Return a view with the picture's centre in the window's centre."""
        return View(
            scale,
            (window.width() - image.width() * scale) / 2,
            (window.height() - image.height() * scale) / 2,
        )


# Factor of a notch of the wheel, or of a zoom command.
ZOOM_STEP = 1.25
# Share of the widget that `show_box` gives to a box.
_BOX_SHARE = 0.4


class Viewport(QObject):
    """The `View` of a widget, and its changes by zooming and panning."""

    changed = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._view = View()
        self._image_size = QSize()
        self._fits = True  # until the user zooms or pans

    @property
    def view(self) -> View:
        """The present map from image to widget."""
        return self._view

    @property
    def image_size(self) -> QSize:
        """Width and height of the picture; empty without one."""
        return self._image_size

    @property
    def screen_scale(self) -> float:
        """Screen pixels per image pixel."""
        return self._view.scale * self._widget.devicePixelRatioF()

    def set_image_size(self, image_size: QSize) -> None:
        """Fit a picture of another size."""
        self._image_size = image_size
        self.fit()

    def fit(self) -> None:
        """Fit the picture to the widget, now and when the widget is resized."""
        if not self._image_size.isEmpty():
            self._set(View.fitted(self._image_size, self._widget.size()))
            self._fits = True

    def show_actual_size(self) -> None:
        """Show one image pixel as one screen pixel, about the present centre."""
        self.zoom(1.0 / self.screen_scale)

    def zoom(self, factor: float, anchor: QPointF | None = None) -> None:
        """Zoom about a point of the widget, or about its centre."""
        self._move_to(self._view.zoomed(factor, anchor or self._centre()))

    def pan(self, delta: QPointF) -> None:
        """Move the picture by widget pixels."""
        self._move_to(self._view.panned(delta))

    def centre_on(self, at: QPointF) -> None:
        """Show a point of the picture in the centre."""
        self.pan(self._centre() - self._view.to_widget(at))

    def ensure_visible(self, at: QPointF) -> None:
        """Centre on a point of the picture unless the widget shows it."""
        if not self._widget.rect().contains(self._view.to_widget(at).toPoint()):
            self.centre_on(at)

    def ensure_box_visible(self, box: QRectF) -> None:
        """Centre on a box of the picture unless the widget shows some of it."""
        shown = QRectF(
            self._view.to_widget(box.topLeft()), self._view.to_widget(box.bottomRight())
        )
        if not QRectF(self._widget.rect()).intersects(shown):
            self.centre_on(box.center())

    def show_box(self, box: QRectF) -> None:
        """Zoom to a box of the picture and its surroundings."""
        room = self._widget.size()
        fitting = min(room.width() / box.width(), room.height() / box.height())
        self.zoom(_BOX_SHARE * fitting / self._view.scale)
        self.centre_on(box.center())

    def handle_resize(self) -> None:
        """Fit a fitted picture again, and keep any other visible."""
        if self._fits:
            self.fit()
        else:
            self._move_to(self._view)

    def _centre(self) -> QPointF:
        return QRectF(self._widget.rect()).center()

    def _move_to(self, view: View) -> None:
        if not self._image_size.isEmpty():
            self._set(view.clamped(self._image_size, self._widget.size()))
            self._fits = False

    def _set(self, view: View) -> None:
        self._view = view.aligned(self._widget.devicePixelRatioF())
        self.changed.emit()
