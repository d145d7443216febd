"""Image layers that draw quickly at any zoom, and contours over them."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from segapp.imaging.boundaries import (
    LINE,
    RIM,
    border_lines,
    edge_pyramid,
    line_owners,
    update_edge_pyramid,
)
from segapp.imaging.tiles import TILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.overlay import TilePainter
    from segapp.imaging.tiles import Rectangle
    from segapp.model.classes import ClassInfo
    from segapp.qt.canvas.viewport import View

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


_SMALLEST = 64  # pixels of the longer side of the coarsest level
# Above this scale a pixel is wider than a line: vector lines replace the raster.
_VECTOR_SCALE = 1.42
# Lines that can be drawn within a frame; noise may have more, and is drawn as a raster.
_MAX_LINES = 12_000
_WIDTH, _RIM_WIDTH = 1.5, 3.5  # widget pixels
_CONTOUR_MARGIN = 3  # pixels around the visible ones, into which lines and smoothing reach
_RIM_COLOUR = QColor(0, 0, 0, 150)
_MAX_SELECTION_LINES = 20_000  # drawn within a frame; a mask with more gets its box


class ContourLayer:
    """Contours of a labelling, with a dark rim, drawn quickly at any zoom.

    Parameters
    ----------
    labels
        Class of each pixel; the array is not copied.
    classes
        Names and colours; the contour of an object has its colour.
    colour
        A colour for all contours instead.
    """

    def __init__(
        self,
        labels: NDArray[np.uint8],
        classes: Sequence[ClassInfo],
        colour: QColor | None = None,
    ) -> None:
        self._labels, self._owner = labels, line_owners(classes)
        self._colours = [colour or QColor(*info.colour) for info in classes]
        self._levels = edge_pyramid(labels, self._owner, _SMALLEST)
        self._images = [self._image(level) for level in self._levels]

    def redraw(self, labels: NDArray[np.uint8], boxes: Iterable[Rectangle]) -> None:
        """Show labels that differ from the previous ones within some boxes."""
        self._labels = labels
        for box in boxes:
            update_edge_pyramid(self._levels, labels, self._owner, box)

    def _image(self, picture: NDArray[np.uint8]) -> QImage:
        table = [0] * (LINE + len(self._colours))
        table[RIM] = _RIM_COLOUR.rgba()
        table[LINE:] = [colour.rgba() for colour in self._colours]
        return indexed_qimage(picture, table)

    def draw(self, painter: QPainter, view: View, room: QRectF) -> None:
        """Draw the contours in ``room``, a rectangle in widget coordinates."""
        lines = self._lines_in(view, room) if view.scale > _VECTOR_SCALE else None
        painter.save()
        painter.translate(view.x, view.y)
        painter.scale(view.scale, view.scale)
        if lines is None:
            self._draw_raster(painter, view, room)
        else:
            self._draw_lines(painter, lines, view.scale)
        painter.restore()

    def _draw_raster(self, painter: QPainter, view: View, room: QRectF) -> None:
        level = min(max(round(-math.log2(view.scale)), 0), len(self._images) - 1)
        image, factor = self._images[level], 2**level
        height, width = self._labels.shape
        box = _visible_pixels(view, room, factor).intersected(image.rect())
        if box.isEmpty():
            return
        painter.setClipRect(QRectF(0, 0, width, height), Qt.ClipOperation.IntersectClip)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.scale(factor, factor)
        # Qt smooths this format several times faster than one with a table of colours.
        part = image.copy(box).convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
        painter.drawImage(QPointF(box.topLeft()), part)

    def _draw_lines(self, painter: QPainter, lines: dict[int, list[QLineF]], scale: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rim = QPen(_RIM_COLOUR, _RIM_WIDTH / scale)
        pens = [rim] * len(lines)
        pens += [QPen(self._colours[owner], _WIDTH / scale) for owner in lines]
        for pen, part in zip(pens, [*lines.values()] * 2, strict=True):
            pen.setCapStyle(Qt.PenCapStyle.SquareCap)
            painter.setPen(pen)
            painter.drawLines(part)

    def _lines_in(self, view: View, room: QRectF) -> dict[int, list[QLineF]] | None:
        """Return the visible lines by class; None if there are too many."""
        height, width = self._labels.shape
        box = _visible_pixels(view, room, 1).intersected(QRect(0, 0, width, height))
        if box.isEmpty():
            return {}
        corner = np.array([box.left(), box.top()] * 2, np.int32)
        part = self._labels[box.top() : box.bottom() + 1, box.left() : box.right() + 1]
        found, owner = border_lines(part, self._owner)
        if len(found) > _MAX_LINES:
            return None
        found += corner
        return {
            int(each): [QLineF(*row) for row in found[owner == each].tolist()]
            for each in np.unique(owner)
        }


def _visible_pixels(view: View, room: QRectF, factor: int) -> QRect:
    """Return the visible pixels of a ``factor`` times coarser copy, with a margin."""
    start, end = view.to_image(room.topLeft()), view.to_image(room.bottomRight())
    return (
        QRectF(start / factor, end / factor)
        .toAlignedRect()
        .adjusted(-_CONTOUR_MARGIN, -_CONTOUR_MARGIN, _CONTOUR_MARGIN, _CONTOUR_MARGIN)
    )


def scaled_boundary_lines(mask: NDArray[np.bool_], times: int) -> tuple[QLineF, ...]:
    """Return the boundary lines of a mask, each pixel of it ``times`` as wide."""
    lines = boundary_lines(mask, 0, 0)
    if times == 1:
        return lines
    return tuple(QLineF(line.p1() * times, line.p2() * times) for line in lines)


def boundary_lines(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    """Return the lines between a mask's pixels and the others, in image coordinates.

    ``left`` and ``top`` are the position of the mask in the picture.
    """
    padded, corner = np.pad(mask, 1), np.array([top, left])
    rows = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    columns = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    if len(rows) + len(columns) > _MAX_SELECTION_LINES:
        return _box(mask, left, top)
    return (
        *(QLineF(x, y, end, y) for y, x, end in _runs(rows + corner)),
        *(QLineF(x, y, x, end) for x, y, end in _runs((columns + corner)[:, ::-1])),
    )


def _runs(places: NDArray[np.intp]) -> list[list[int]]:
    """Join neighbours along the second axis: line, first place and end of each run."""
    if not len(places):
        return []
    places = places[np.lexsort((places[:, 1], places[:, 0]))]
    begins = np.ones(len(places), dtype=bool)
    begins[1:] = (np.diff(places, axis=0) != (0, 1)).any(axis=1)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(places)) - 1
    runs: list[list[int]] = np.column_stack((places[first], places[last, 1] + 1)).tolist()
    return runs


def _box(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    right, bottom = left + mask.shape[1], top + mask.shape[0]
    return (
        QLineF(left, top, right, top),
        QLineF(right, top, right, bottom),
        QLineF(right, bottom, left, bottom),
        QLineF(left, bottom, left, top),
    )
