"""Scale and offset of the image in a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, QSizeF, Signal

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


# The largest pictures fit into a window at 1/64; at 64 a single pixel is as large as an icon.
SMALLEST_SCALE = 1 / 64
LARGEST_SCALE = 64.0
# Small pictures are fitted at eightfold size at the most: more shows nothing but squares.
_LARGEST_FIT = 8.0
# Widget pixels around a fitted picture, on which a stroke along its edge can begin.
_MARGIN = 16
# Widget pixels of a picture that stay in sight, enough to take hold of it again.
_REACH = 48.0


@dataclass(frozen=True, slots=True)
class View:
    """Maps image pixels to widget pixels: ``widget = image * scale + (x, y)``."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def to_image(self, point: QPointF) -> QPointF:
        """Widget coordinates to image coordinates."""
        return QPointF((point.x() - self.x) / self.scale, (point.y() - self.y) / self.scale)

    def to_widget(self, point: QPointF) -> QPointF:
        """Image coordinates to widget coordinates."""
        return QPointF(point.x() * self.scale + self.x, point.y() * self.scale + self.y)

    def rect_to_widget(self, rect: QRectF) -> QRectF:
        """Image rectangle to widget rectangle."""
        return QRectF(
            self.to_widget(rect.topLeft()),
            QSizeF(rect.width() * self.scale, rect.height() * self.scale),
        )

    def pixels_covering(self, rect: QRectF, margin: int = 2) -> QRect:
        """Whole widget pixels that show an image rectangle, with room for smoothing."""
        return self.rect_to_widget(rect).toAlignedRect().adjusted(-margin, -margin, margin, margin)

    def zoomed(self, factor: float, anchor: QPointF) -> View:
        """Zoom so that what lies under ``anchor`` (widget coordinates) stays there."""
        scale = min(max(self.scale * factor, SMALLEST_SCALE), LARGEST_SCALE)
        fixed = self.to_image(anchor)
        return View(scale, anchor.x() - fixed.x() * scale, anchor.y() - fixed.y() * scale)

    def panned(self, delta: QPointF) -> View:
        """Move the picture by widget pixels."""
        return View(self.scale, self.x + delta.x(), self.y + delta.y())

    def aligned(self, pixel_ratio: float) -> View:
        """Put image pixels onto screen pixels where they are of one size, or a multiple."""
        scale = self.scale * pixel_ratio
        if abs(scale - round(scale)) > 1e-6 * scale:
            return self
        return View(
            self.scale,
            round(self.x * pixel_ratio) / pixel_ratio,
            round(self.y * pixel_ratio) / pixel_ratio,
        )

    def within_reach(self, image: QSize, window: QSize) -> View:
        """Keep the picture from being pushed out of sight: a margin of it always shows."""

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
        """Show the whole picture, centred, and never larger than eightfold."""
        room = QSize(max(window.width() - 2 * _MARGIN, 1), max(window.height() - 2 * _MARGIN, 1))
        scale = min(room.width() / image.width(), room.height() / image.height(), _LARGEST_FIT)
        return View.centred(image, window, max(scale, SMALLEST_SCALE))

    @staticmethod
    def centred(image: QSize, window: QSize, scale: float) -> View:
        """Show the picture's centre in the window's centre."""
        return View(
            scale,
            (window.width() - image.width() * scale) / 2,
            (window.height() - image.height() * scale) / 2,
        )


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
