"""Pixels that somebody else holds, drawn as they are: no copy of a large picture is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF

from segapp.qt.canvas.qimage import SCREEN_FORMAT, indexed_image, rgb_image
from segapp.qt.canvas.screen_pixels import in_screen_order, opaque

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QImage, QPainter

    from segapp.values.overlay import Painting

# Pixels around what is seen, into which smoothing reaches.
_MARGIN = 3


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
        """Draw what is not clipped, in image coordinates."""
        around = (-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
        seen = painter.clipBoundingRect().toAlignedRect().adjusted(*around)
        seen = seen.intersected(self.image.rect())
        if not seen.isEmpty():
            part = self.image.copy(seen).convertToFormat(SCREEN_FORMAT)
            painter.drawImage(QPointF(seen.topLeft()), part)
