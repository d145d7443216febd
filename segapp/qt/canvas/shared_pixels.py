"""Pixels that somebody else holds, drawn as they are: no copy of a large picture is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, Qt

from segapp.qt.canvas.qimage import SCREEN_FORMAT, indexed_image, rgb_image
from segapp.qt.canvas.screen_pixels import in_screen_order, opaque

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from PySide6.QtGui import QImage, QPainter

    from segapp.values.overlay import Painting

# Pixels around what is seen, into which smoothing reaches.
_MARGIN = 3
_PIXELS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class SharedPixels:
    """The finest level of a layer: what is seen of it is converted when it is drawn.

    Parameters
    ----------
    pixels
        What ``image`` reads.
    painting
        The same as RGBA.
    """

    pixels: NDArray[np.uint8]
    image: QImage
    painting: Painting

    @classmethod
    def of_picture(cls, rgb: NDArray[np.uint8]) -> SharedPixels:
        """Draw ``H x W x 3`` colours."""
        pixels = np.ascontiguousarray(rgb)
        return cls(pixels, rgb_image(pixels), lambda box: opaque(pixels[box]))

    @classmethod
    def of_labels(
        cls, labels: NDArray[np.uint8], table: NDArray[np.uint8], painting: Painting
    ) -> SharedPixels:
        """Draw labels in the colours of a table: RGBA, each opaque or clear."""
        pixels = np.ascontiguousarray(labels)
        colours = in_screen_order(table[np.newaxis]).view("<u4")[0, :, 0]
        return cls(pixels, indexed_image(pixels, colours.tolist()), painting)

    def draw(self, painter: QPainter) -> None:
        """Draw what is not clipped, in image coordinates.

        A few rows of the window at a time: what is converted stays in memory that is used again.
        """
        to_window = painter.worldTransform()
        to_image, _ = to_window.inverted()
        seen = to_window.mapRect(painter.clipBoundingRect()).toAlignedRect()
        for strip in _strips(seen, to_window.m22()):
            wanted = to_image.mapRect(QRectF(strip))
            around = wanted.toAlignedRect().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
            around = around.intersected(self.image.rect())
            if around.isEmpty():
                continue
            part = self.image.copy(around).convertToFormat(SCREEN_FORMAT)
            painter.save()
            painter.setClipRect(wanted, Qt.ClipOperation.IntersectClip)
            painter.drawImage(QPointF(around.topLeft()), part)
            painter.restore()


def _strips(seen: QRect, scale: float) -> Iterator[QRect]:
    """Divide a part of the window into rows of about as many image pixels as are converted."""
    rows = max(1, round(_PIXELS_AT_ONCE * scale**2 / max(seen.width(), 1)))
    for top in range(seen.top(), seen.bottom() + 1, rows):
        yield QRect(seen.left(), top, seen.width(), min(rows, seen.bottom() + 1 - top))
