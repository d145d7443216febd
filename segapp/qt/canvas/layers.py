"""Pictures that are drawn quickly at any zoom: an array with its halved copies."""

from __future__ import annotations

import math
import mmap
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt

from segapp.qt.canvas.qimage import SCREEN_FORMAT, qimage_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from PySide6.QtGui import QImage, QPainter

    from segapp.values.overlay import Painting

    Box = tuple[int, int, int, int]

# Pixels of the longer side: what fits a screen is drawn quickly and needs no smaller copy.
_SMALLEST_LEVEL = 1024
# Qt's raster engine counts source pixels with 16 bits; larger pictures are drawn in tiles.
_TILE = 16384
# Pixels of two layers that are compared to find what has to be drawn again.
_MOST_COMPARED = 1 << 20
# A power of two, so that a strip has rows of its own in each level that a picture has.
_ROWS_AT_ONCE = 256
# Two bytes of a word with room above each, and what rounds their sum of four up at a half.
_LANES, _HALVES = np.uint32(0x00FF00FF), np.uint32(0x00020002)
_TWO, _EIGHT = np.uint32(2), np.uint32(8)
# Of a little-endian word of RGBA: green and alpha, and the lowest byte.
_GREEN_ALPHA, _BYTE, _SIXTEEN = np.uint32(0xFF00FF00), np.uint32(0xFF), np.uint32(16)


def opaque(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Add an alpha channel of 255 to an ``H x W x 3`` array."""
    rgba = np.empty((*rgb.shape[:2], 4), dtype=np.uint8)
    rgba[..., :3] = rgb
    rgba[..., 3] = 255
    return rgba


def in_screen_order(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Exchange red and blue, which is the order that the screen wants; return a copy."""
    words = np.ascontiguousarray(rgba).view(np.uint32)[..., 0]
    swapped = words & _GREEN_ALPHA
    swapped |= (words >> _SIXTEEN) & _BYTE
    swapped |= (words & _BYTE) << _SIXTEEN
    return swapped[..., np.newaxis].view(np.uint8)


def untouched(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros in small pages of memory, none of which is there before it is written to.

    NumPy asks for pages of 2 MB. The first stroke over 300 rows of a picture of 100 MP would touch
    seven of them, each of which is cleared first: 20 ms instead of one.
    """
    memory = mmap.mmap(-1, max(math.prod(shape), 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.uint8, math.prod(shape)).reshape(shape)


def halved(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Average 2 x 2 pixels; an odd last row or column is averaged with itself."""
    height, width, _ = rgba.shape
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    # The mean is that of `segapp.picture.pyramid`, which has three channels and no hurry. Here
    # two channels go at a time in one word, with room for the carry: four times fewer numbers.
    # Rows are summed first: what lies side by side is read faster than every second pixel.
    pixels = rgba.view(np.uint32)[..., 0]
    even = _halved_lanes(pixels & _LANES)
    odd = _halved_lanes((pixels >> _EIGHT) & _LANES)
    odd <<= _EIGHT
    even |= odd
    return even[..., np.newaxis].view(np.uint8)


def _halved_lanes(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    rows = words[::2] + words[1::2]
    lanes = rows[:, ::2] + rows[:, 1::2]
    lanes += _HALVES
    lanes >>= _TWO
    lanes &= _LANES
    return lanes


class Layer:
    """An RGBA picture (alpha premultiplied) with a pyramid of halved copies.

    Drawing takes the level that is at most twice finer than the screen, so the cost follows
    the painted area and not the picture's size. Whoever writes into `pixels`, whose bytes are
    in the screen's order (`in_screen_order`), calls `refresh` with the box that changed.

    Each pixel is drawn as ``times`` x ``times`` image pixels, within the image's ``size`` (height,
    width).
    """

    def __init__(
        self, rgba: NDArray[np.uint8], times: int = 1, size: tuple[int, int] | None = None
    ) -> None:
        levels = [in_screen_order(rgba)]
        while max(levels[-1].shape[:2]) > _SMALLEST_LEVEL:
            levels.append(halved(levels[-1]))
        self._take(levels, times, size or (rgba.shape[0], rgba.shape[1]))

    @classmethod
    def painted(cls, size: tuple[int, int], painting: Painting) -> Layer:
        """Return a layer that is painted a few rows at a time, with no copy of it beside it."""
        layer = cls._of_size(size, lambda shape: np.zeros(shape, dtype=np.uint8))
        height, width = size
        for top in range(0, height, _ROWS_AT_ONCE):
            layer.repaint((0, top, width, min(top + _ROWS_AT_ONCE, height)), painting)
        return layer

    def repaint(self, box: Box, painting: Painting) -> None:
        """Paint a box (left, top, right, bottom) again."""
        left, top, right, bottom = box
        rows, columns = slice(top, bottom), slice(left, right)
        self.pixels[rows, columns] = in_screen_order(painting((rows, columns)))
        self.refresh(box)

    @classmethod
    def blank(cls, size: tuple[int, int]) -> Layer:
        """Return a transparent layer; no memory is touched before something is drawn."""
        return cls._of_size(size, untouched)

    @classmethod
    def _of_size(
        cls, size: tuple[int, int], zeros: Callable[[tuple[int, ...]], NDArray[np.uint8]]
    ) -> Layer:
        height, width = size
        levels = [zeros((height, width, 4))]
        while max(height, width) > _SMALLEST_LEVEL:
            height, width = (height + 1) // 2, (width + 1) // 2
            levels.append(zeros((height, width, 4)))
        layer = cls.__new__(cls)
        layer._take(levels, 1, size)
        return layer

    def _take(self, levels: list[NDArray[np.uint8]], times: int, size: tuple[int, int]) -> None:
        self.pixels = levels[0]
        self._times, self._size = times, size
        self._levels = levels
        self._tiles = [list(_tiles(level)) for level in levels]

    def refresh(self, box: Box) -> None:
        """Carry a changed box (left, top, right, bottom) of the finest level to the others."""
        left, top, right, bottom = box
        for finer, coarser in zip(self._levels, self._levels[1:], strict=False):
            left, top = left // 2, top // 2
            right, bottom = (right + 1) // 2, (bottom + 1) // 2
            coarser[top:bottom, left:right] = halved(
                finer[2 * top : 2 * bottom, 2 * left : 2 * right]
            )

    def changed_from(self, before: Layer) -> Box | None:
        """Return the box of the image outside which both look the same; None if that is all.

        What has more pixels than a screen is not compared: that would take longer than drawing.
        """
        alike = self.pixels.shape == before.pixels.shape and self._times == before._times
        if not alike or self is before or self.pixels.size > 4 * _MOST_COMPARED:
            return None
        differ = self.pixels.view(np.uint32)[..., 0] != before.pixels.view(np.uint32)[..., 0]
        rows, columns = np.flatnonzero(differ.any(axis=1)), np.flatnonzero(differ.any(axis=0))
        if not rows.size:
            return 0, 0, 0, 0
        ends = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
        left, top, right, bottom = (int(end) * self._times for end in ends)
        return left, top, right, bottom

    def draw(self, painter: QPainter, scale: float) -> None:
        """Draw in image coordinates; ``scale`` is screen pixels an image pixel."""
        level, scale = 0, scale * self._times
        while level + 1 < len(self._levels) and scale * 2 ** (level + 1) <= 1.0:
            level += 1
        height, width = self._size
        painter.save()
        # A halved level rounds its size up; nothing may show beyond the picture's edge.
        painter.setClipRect(QRectF(0, 0, width, height), Qt.ClipOperation.IntersectClip)
        painter.setRenderHint(painter.RenderHint.SmoothPixmapTransform, scale * 2**level < 2.0)
        painter.scale(self._times * 2**level, self._times * 2**level)
        for corner, tile in self._tiles[level]:
            painter.drawImage(corner, tile)
        painter.restore()


def _tiles(pixels: NDArray[np.uint8]) -> Iterator[tuple[QPointF, QImage]]:
    height, width, _ = pixels.shape
    for top in range(0, height, _TILE):
        for left in range(0, width, _TILE):
            box = (left, top, min(left + _TILE, width), min(top + _TILE, height))
            yield QPointF(left, top), qimage_over(pixels, box, SCREEN_FORMAT)
