"""Image layers that draw quickly at any zoom."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QImage

from segapp.imaging.tiles import TILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from PySide6.QtGui import QPainter

    from segapp.imaging.overlay import TilePainter

    Box = tuple[int, int, int, int]

SCREEN_FORMAT = QImage.Format.Format_ARGB32_Premultiplied
"""Qt's native format, drawn twice as fast as RGBA: bytes of blue, green, red and alpha."""

# Pixels of the longer side: a picture that fits a screen needs no smaller copy.
_SMALLEST_LEVEL = 1024
# Qt's raster engine counts source pixels with 16 bits; larger pictures are drawn in tiles.
_TILE = 16384
# Pixels of two layers that are compared to find the box to be repainted.
_MAX_COMPARED = 1 << 20
# Columns that are painted at once: long rows are read faster.
_COLUMNS_AT_ONCE = 4 * TILE
# Pixels around the visible ones, into which smoothing reaches.
_MARGIN = 3
_PIXELS_AT_ONCE = 1 << 20

# Two bytes of a word with room above each, and the half that rounds their sum of four.
_LANES, _HALVES = np.uint32(0x00FF00FF), np.uint32(0x00020002)
_TWO, _EIGHT = np.uint32(2), np.uint32(8)
# Of a little-endian word of RGBA: green and alpha, and the lowest byte.
_GREEN_ALPHA, _BYTE, _SIXTEEN = np.uint32(0xFF00FF00), np.uint32(0xFF), np.uint32(16)


def add_alpha(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Add an alpha channel of 255 to an ``H x W x 3`` array."""
    rgba = np.empty((*rgb.shape[:2], 4), dtype=np.uint8)
    rgba[..., :3] = rgb
    rgba[..., 3] = 255
    return rgba


def to_bgra(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Exchange red and blue, which is the order that the screen wants; return a copy."""
    words = np.ascontiguousarray(rgba).view(np.uint32)[..., 0]
    swapped = words & _GREEN_ALPHA
    swapped |= (words >> _SIXTEEN) & _BYTE
    swapped |= (words & _BYTE) << _SIXTEEN
    return swapped[..., np.newaxis].view(np.uint8)


def lazy_zeros(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros in small pages of memory that are allocated on the first write.

    NumPy asks for pages of 2 MB: the first stroke over 300 rows of a picture of 100 MP would clear
    seven of them, in 20 ms instead of one.
    """
    memory = mmap.mmap(-1, max(math.prod(shape), 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.uint8, math.prod(shape)).reshape(shape)


def halve(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Average 2 x 2 pixels; an odd last row or column is averaged with itself."""
    height, width, _ = rgba.shape
    if height % 2 or width % 2:
        rgba = np.pad(rgba, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    # The same mean as in `segapp.imaging.pyramid`, but of two channels at a time in one word, with
    # room for the carry. Rows are summed first, as contiguous reads are faster.
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


def qimage_view(
    rgba: NDArray[np.uint8],
    box: tuple[int, int, int, int] | None = None,
    form: QImage.Format = QImage.Format.Format_RGBA8888_Premultiplied,
) -> QImage:
    """Return a view of a C-contiguous ``H x W x 4`` array, alpha premultiplied.

    The image shares the array's memory, which the caller keeps alive. ``box`` (left, top, right,
    bottom) selects a part of the array; ``form`` is the order of the bytes.
    """
    height, width, _ = rgba.shape
    left, top, right, bottom = box or (0, 0, width, height)
    first = (top * width + left) * 4
    last = ((bottom - 1) * width + right) * 4
    return QImage(
        rgba.reshape(-1)[first:last].data,
        right - left,
        bottom - top,
        rgba.strides[0],
        form,
    )


def rgb_qimage(rgb: NDArray[np.uint8]) -> QImage:
    """Return a view of a C-contiguous ``H x W x 3`` array."""
    height, width, _ = rgb.shape
    return QImage(rgb.reshape(-1).data, width, height, 3 * width, QImage.Format.Format_RGB888)


def indexed_qimage(values: NDArray[np.uint8], colours: Sequence[int]) -> QImage:
    """Return a view of a C-contiguous ``H x W`` array with a table of 0xAARRGGBB."""
    height, width = values.shape
    form = QImage.Format.Format_Indexed8
    image = QImage(values.reshape(-1).data, width, height, width, form)
    image.setColorTable(colours)
    return image


class Layer:
    """An RGBA picture (alpha premultiplied) with a pyramid of halved copies.

    Drawing takes the level that is at most twice finer than the screen, so that the cost depends
    on the painted area and not on the picture's size. After writing into `pixels`, which are in
    the screen's byte order (`to_bgra`), call `refresh` with the box that changed. The finest level
    may be a `ZeroCopyImage` (`over`): then the layer has the halved copies alone.

    Each pixel is drawn as ``times`` x ``times`` image pixels, within the image's ``size`` (height,
    width).
    """

    _shared: ZeroCopyImage | None

    def __init__(
        self, rgba: NDArray[np.uint8], times: int = 1, size: tuple[int, int] | None = None
    ) -> None:
        levels = [to_bgra(rgba)]
        while max(levels[-1].shape[:2]) > _SMALLEST_LEVEL:
            levels.append(halve(levels[-1]))
        self._take(levels, times, size or (rgba.shape[0], rgba.shape[1]))

    @classmethod
    def painted(cls, size: tuple[int, int], painting: TilePainter) -> Layer:
        """Return a layer that is painted tile by tile; clear tiles take no memory."""
        layer = cls._of_size(size, lambda shape: np.zeros(shape, dtype=np.uint8))
        layer._paint_first(painting)
        return layer

    @classmethod
    def over(cls, shared: ZeroCopyImage) -> Layer:
        """Return a layer whose finest level is a read-only image without a copy."""
        size = shared.image.height(), shared.image.width()
        layer = cls._of_size(size, lambda shape: np.zeros(shape, dtype=np.uint8), shared)
        layer._paint_first(shared.painting)
        return layer

    def replace_image(self, shared: ZeroCopyImage) -> None:
        """Replace the finest level; `repaint` the boxes that differ."""
        self._shared = shared

    def repaint(self, box: Box, painting: TilePainter) -> None:
        """Paint a box (left, top, right, bottom) again."""
        left, top, right, bottom = box
        self._write(box, painting((slice(top, bottom), slice(left, right))))

    @classmethod
    def blank(cls, size: tuple[int, int]) -> Layer:
        """Return a transparent layer, which takes memory when it is drawn into."""
        return cls._of_size(size, lazy_zeros)

    @classmethod
    def _of_size(
        cls,
        size: tuple[int, int],
        zeros: Callable[[tuple[int, ...]], NDArray[np.uint8]],
        shared: ZeroCopyImage | None = None,
    ) -> Layer:
        height, width = size
        levels = [zeros((height, width, 4) if shared is None else (0, 0, 4))]
        while max(height, width) > _SMALLEST_LEVEL:
            height, width = (height + 1) // 2, (width + 1) // 2
            levels.append(zeros((height, width, 4)))
        layer = cls.__new__(cls)
        layer._take(levels, 1, size, shared)
        return layer

    def _take(
        self,
        levels: list[NDArray[np.uint8]],
        times: int,
        size: tuple[int, int],
        shared: ZeroCopyImage | None = None,
    ) -> None:
        self.size = size
        self._times, self._levels, self._shared = times, levels, shared
        self.pixels = levels[0]  # to be written into; empty over a `ZeroCopyImage`
        self._tiles = [list(_tiles(level)) for level in levels]

    def _paint_first(self, painting: TilePainter) -> None:
        """Paint a clear layer; a tile of a single colour is filled at all levels at once."""
        height, width = self.size
        for top in range(0, height, TILE):
            for left in range(0, width, _COLUMNS_AT_ONCE):
                right, bottom = min(left + _COLUMNS_AT_ONCE, width), min(top + TILE, height)
                rgba = np.ascontiguousarray(painting((slice(top, bottom), slice(left, right))))
                words = rgba.view(np.uint32)[..., 0]
                if words[0, 0] != words[-1, -1] or (words != words[0, 0]).any():
                    self._write((left, top, right, bottom), rgba)
                elif words[0, 0]:
                    self._fill((left, top, right, bottom), rgba[:1, :1])

    def _fill(self, box: Box, colour: NDArray[np.uint8]) -> None:
        word = to_bgra(colour).view(np.uint32)[..., 0]
        for level in self._levels:
            left, top, right, bottom = box
            level.view(np.uint32)[top:bottom, left:right, 0] = word
            box = left // 2, top // 2, (right + 1) // 2, (bottom + 1) // 2

    def _write(self, box: Box, rgba: NDArray[np.uint8]) -> None:
        left, top, right, bottom = box
        pixels = to_bgra(rgba)
        if self._shared is None:
            self.pixels[top:bottom, left:right] = pixels
            self.refresh(box)
        elif len(self._levels) > 1:
            box = left // 2, top // 2, (right + 1) // 2, (bottom + 1) // 2
            left, top, right, bottom = box
            self._levels[1][top:bottom, left:right] = halve(pixels)
            self.refresh(box, first_level=1)

    def refresh(self, box: Box, first_level: int = 0) -> None:
        """Update the halved copies of a box (left, top, right, bottom) of a level."""
        left, top, right, bottom = box
        for finer, coarser in pairwise(self._levels[first_level:]):
            left, top = left // 2, top // 2
            right, bottom = (right + 1) // 2, (bottom + 1) // 2
            coarser[top:bottom, left:right] = halve(
                finer[2 * top : 2 * bottom, 2 * left : 2 * right]
            )

    def changed_box(self, before: Layer) -> Box | None:
        """Return the box of the image that differs from ``before``; None if it is unknown.

        Layers with more pixels than a screen are not compared: drawing them is faster.
        """
        alike = self.pixels.shape == before.pixels.shape and self._times == before._times
        too_many = not self.pixels.size or self.pixels.size > 4 * _MAX_COMPARED
        if not alike or self is before or too_many:
            return None
        differ = self.pixels.view(np.uint32)[..., 0] != before.pixels.view(np.uint32)[..., 0]
        rows, columns = np.flatnonzero(differ.any(axis=1)), np.flatnonzero(differ.any(axis=0))
        if not rows.size:
            return 0, 0, 0, 0
        ends = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
        left, top, right, bottom = (int(end) * self._times for end in ends)
        return left, top, right, bottom

    def draw(self, painter: QPainter, scale: float) -> None:
        """Draw in image coordinates; ``scale`` is in screen pixels per image pixel."""
        level, scale = 0, scale * self._times
        while level + 1 < len(self._levels) and scale * 2 ** (level + 1) <= 1.0:
            level += 1
        height, width = self.size
        painter.save()
        # A halved level's size is rounded up; nothing may show beyond the picture's edge.
        painter.setClipRect(QRectF(0, 0, width, height), Qt.ClipOperation.IntersectClip)
        painter.setRenderHint(painter.RenderHint.SmoothPixmapTransform, scale * 2**level < 2.0)
        painter.scale(self._times * 2**level, self._times * 2**level)
        if level == 0 and self._shared is not None:
            self._shared.draw(painter)
        for corner, tile in self._tiles[level]:
            painter.drawImage(corner, tile)
        painter.restore()


def _tiles(pixels: NDArray[np.uint8]) -> Iterator[tuple[QPointF, QImage]]:
    height, width, _ = pixels.shape
    for top in range(0, height, _TILE):
        for left in range(0, width, _TILE):
            box = (left, top, min(left + _TILE, width), min(top + _TILE, height))
            yield QPointF(left, top), qimage_view(pixels, box, SCREEN_FORMAT)


@dataclass(frozen=True, slots=True, eq=False)
class ZeroCopyImage:
    """View of an array as an image, whose visible part is converted when it is drawn.

    Parameters
    ----------
    pixels
        The memory of ``image``.
    painting
        The same pixels as RGBA.
    """

    pixels: NDArray[np.uint8]
    image: QImage
    painting: TilePainter

    @classmethod
    def of_picture(cls, rgb: NDArray[np.uint8]) -> ZeroCopyImage:
        """Return a view of ``H x W x 3`` colours."""
        pixels = np.ascontiguousarray(rgb)
        return cls(pixels, rgb_qimage(pixels), lambda box: add_alpha(pixels[box]))

    @classmethod
    def of_labels(
        cls, labels: NDArray[np.uint8], table: NDArray[np.uint8], painting: TilePainter
    ) -> ZeroCopyImage:
        """Return a view of labels in the colours of a table: RGBA, each opaque or clear."""
        pixels = np.ascontiguousarray(labels)
        colours = to_bgra(table[np.newaxis]).view("<u4")[0, :, 0]
        return cls(pixels, indexed_qimage(pixels, colours.tolist()), painting)

    def draw(self, painter: QPainter) -> None:
        """Draw the part inside the clip rectangle, in image coordinates.

        Drawing a few rows at a time keeps the converted pixels in the processor's cache.
        """
        to_window = painter.worldTransform()
        to_image, _ = to_window.inverted()
        visible = to_window.mapRect(painter.clipBoundingRect()).toAlignedRect()
        for strip in _strips(visible, to_window.m22()):
            target = to_image.mapRect(QRectF(strip))
            around = target.toAlignedRect().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
            around = around.intersected(self.image.rect())
            if around.isEmpty():
                continue
            part = self.image.copy(around).convertToFormat(SCREEN_FORMAT)
            painter.save()
            painter.setClipRect(target, Qt.ClipOperation.IntersectClip)
            painter.drawImage(QPointF(around.topLeft()), part)
            painter.restore()


def _strips(rect: QRect, scale: float) -> Iterator[QRect]:
    """Divide a rectangle of the window into strips of about equally many image pixels."""
    rows = max(1, round(_PIXELS_AT_ONCE * scale**2 / max(rect.width(), 1)))
    for top in range(rect.top(), rect.bottom() + 1, rows):
        yield QRect(rect.left(), top, rect.width(), min(rows, rect.bottom() + 1 - top))
