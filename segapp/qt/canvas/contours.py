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
    edge_pictures,
    owners,
    redraw_edges,
)
from segapp.qt.canvas.layers import indexed_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.rasterise import Rectangle
    from segapp.model.classes import ClassInfo
    from segapp.qt.canvas.viewport import View


_SMALLEST = 64  # pixels of the longer side: no window shows a picture smaller
# Above this scale a pixel is wider than a line should be, and the lines are drawn as such.
_LARGEST_PIXEL = 1.42
# So many lines are drawn within a frame; more are only met in noise, and drawn as pixels.
_MOST_LINES = 12_000
_WIDTH, _RIM_WIDTH = 1.5, 3.5  # widget pixels
_MARGIN = 3  # pixels around what is seen, into which lines and smoothing reach
_RIM_COLOUR = QColor(0, 0, 0, 150)


class Outline:
    """The edges of a labelling, with a dark rim so that they show on any picture.

    Parameters
    ----------
    labels
        The class of each pixel; kept, not copied.
    classes
        Names and colours; the line around an object has its colour.
    colour
        One colour for all lines instead.
    """

    def __init__(
        self,
        labels: NDArray[np.uint8],
        classes: Sequence[ClassInfo],
        colour: QColor | None = None,
    ) -> None:
        self._labels, self._owner = labels, owners(classes)
        self._colours = [colour or QColor(*info.colour) for info in classes]
        self._pictures = edge_pictures(labels, self._owner, _SMALLEST)
        self._images = [self._image(picture) for picture in self._pictures]

    def redraw(self, labels: NDArray[np.uint8], boxes: Iterable[Rectangle]) -> None:
        """Take labels that differ from those before within some boxes and nowhere else."""
        self._labels = labels
        for box in boxes:
            redraw_edges(self._pictures, labels, self._owner, box)

    def _image(self, picture: NDArray[np.uint8]) -> QImage:
        table = [0] * (LINE + len(self._colours))
        table[RIM] = _RIM_COLOUR.rgba()
        table[LINE:] = [colour.rgba() for colour in self._colours]
        return indexed_image(picture, table)

    def draw(self, painter: QPainter, view: View, room: QRectF) -> None:
        """Draw what is seen in ``room``, all in widget coordinates."""
        lines = self._lines_in(view, room) if view.scale > _LARGEST_PIXEL else None
        painter.save()
        painter.translate(view.x, view.y)
        painter.scale(view.scale, view.scale)
        if lines is None:
            self._draw_picture(painter, view, room)
        else:
            self._draw_lines(painter, lines, view.scale)
        painter.restore()

    def _draw_picture(self, painter: QPainter, view: View, room: QRectF) -> None:
        level = min(max(round(-math.log2(view.scale)), 0), len(self._images) - 1)
        image, factor = self._images[level], 2**level
        height, width = self._labels.shape
        box = _seen(view, room, factor).intersected(image.rect())
        if box.isEmpty():
            return
        painter.setClipRect(QRectF(0, 0, width, height), Qt.ClipOperation.IntersectClip)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.scale(factor, factor)
        # Qt smooths this format several times faster than one with a table of colours.
        seen = image.copy(box).convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
        painter.drawImage(QPointF(box.topLeft()), seen)

    def _draw_lines(self, painter: QPainter, lines: dict[int, list[QLineF]], scale: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rim = QPen(_RIM_COLOUR, _RIM_WIDTH / scale)
        pens = [rim] * len(lines)
        pens += [QPen(self._colours[whose], _WIDTH / scale) for whose in lines]
        for pen, part in zip(pens, [*lines.values()] * 2, strict=True):
            pen.setCapStyle(Qt.PenCapStyle.SquareCap)
            painter.setPen(pen)
            painter.drawLines(part)

    def _lines_in(self, view: View, room: QRectF) -> dict[int, list[QLineF]] | None:
        """Return the lines of the part that is seen by class; None if they are too many."""
        height, width = self._labels.shape
        box = _seen(view, room, 1).intersected(QRect(0, 0, width, height))
        if box.isEmpty():
            return {}
        corner = np.array([box.left(), box.top()] * 2, np.int32)
        part = self._labels[box.top() : box.bottom() + 1, box.left() : box.right() + 1]
        found, whose = border_lines(part, self._owner)
        if len(found) > _MOST_LINES:
            return None
        found += corner
        return {
            int(each): [QLineF(*row) for row in found[whose == each].tolist()]
            for each in np.unique(whose)
        }


def _seen(view: View, room: QRectF, factor: int) -> QRect:
    """Return which pixels of a copy that is ``factor`` times coarser are seen, and some more."""
    start, end = view.to_image(room.topLeft()), view.to_image(room.bottomRight())
    return (
        QRectF(start / factor, end / factor)
        .toAlignedRect()
        .adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)
    )


_MAX_SELECTION_LINES = 20_000
"""So many are drawn within a frame; what is more ragged than that is boxed."""


def outline_of(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    """Return the lines between a mask's pixels and others, in the picture's coordinates.

    ``left`` and ``top`` are where the mask begins in the picture.
    """
    padded, corner = np.pad(mask, 1), np.array([top, left])
    rows = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    columns = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    if len(rows) + len(columns) > _MAX_SELECTION_LINES:
        return _box(mask, left, top)
    return (
        *(QLineF(x, y, x + 1, y) for y, x in (rows + corner).tolist()),
        *(QLineF(x, y, x, y + 1) for y, x in (columns + corner).tolist()),
    )


def _box(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    right, bottom = left + mask.shape[1], top + mask.shape[0]
    return (
        QLineF(left, top, right, top),
        QLineF(right, top, right, bottom),
        QLineF(right, bottom, left, bottom),
        QLineF(left, bottom, left, top),
    )
