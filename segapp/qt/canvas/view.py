"""Where the picture lies in the window: scale and shift, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, QSizeF

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
