"""Contours of classes and of the selected region."""

from __future__ import annotations

import math
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
from segapp.qt.canvas.layers import indexed_qimage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Rectangle
    from segapp.model.classes import ClassInfo
    from segapp.qt.canvas.viewport import View


_SMALLEST = 64  # pixels of the longer side of the coarsest level
# Above this scale a pixel is wider than a line: vector lines replace the raster.
_VECTOR_SCALE = 1.42
# Lines that can be drawn within a frame; noise may have more, and is drawn as a raster.
_MAX_LINES = 12_000
_WIDTH, _RIM_WIDTH = 1.5, 3.5  # widget pixels
_MARGIN = 3  # pixels around the visible ones, into which lines and smoothing reach
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
        .adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
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
