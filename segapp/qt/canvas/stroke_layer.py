"""Layer of strokes, updated box by box."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.rasterise import (
    EMPTY_RECTANGLE,
    MIN_RADIUS,
    UNMARKED,
    paint_mark,
    stroke_strips,
)
from segapp.model.document import Document, Mark, Patch, Stroke
from segapp.qt.canvas.layers import Layer, lazy_zeros, to_bgra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.imaging.tiles import Rectangle
    from segapp.model.classes import ClassInfo


_AREA_SHARE = 0.04  # of the picture's pixels: a larger mark is hatched
_STRIPES = 400  # along the longer side, drawn ones and gaps
_DRAWN_STRIPE = 3  # one of so many is drawn


class Hatching:
    """Stripes that replace the fill of large areas, so that the picture shows through.

    Memory is allocated with the first large mark.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._width = max(round(max(size) / _STRIPES), 1)  # of a stripe, in image pixels
        self._areas: NDArray[np.int16] | None = None  # 1 where the uppermost mark is large

    def stamp(self, mark: Mark, box: Rectangle | None = None) -> None:
        """Add a mark on top of the others, or its part in a box."""
        is_area = _is_area(mark, self._size)
        if self._areas is None and is_area:
            self._areas = lazy_zeros((*self._size, 2)).view(np.int16)[..., 0]
        if self._areas is None:
            return
        drawn = replace(mark, label=0 if is_area else None, object_number=0)
        if box is None:
            paint_mark(self._areas, drawn, unmarked=0)
        else:
            paint_mark(self._areas[_part(box)], translated(drawn, box[0], box[1]), unmarked=0)

    def clear(self, box: Rectangle) -> None:
        """Remove the marks of a box."""
        if self._areas is not None:
            self._areas[_part(box)] = 0

    def copy(self, box: Rectangle) -> NDArray[np.int16] | None:
        """Return a copy of a box, for `restore`."""
        return None if self._areas is None else self._areas[_part(box)].copy()

    def restore(
        self, box: Rectangle, copied: NDArray[np.int16] | None, where: NDArray[np.bool_]
    ) -> None:
        """Restore some pixels of a box from a copy."""
        if self._areas is not None and copied is not None:
            self._areas[_part(box)][where] = copied[where]

    def apply(self, words: NDArray[np.uint32], box: Rectangle) -> None:
        """Make the pixels of a box between the stripes transparent."""
        if self._areas is None:
            return
        left, top, right, bottom = box
        down, across = np.arange(top, bottom)[:, np.newaxis], np.arange(left, right)
        gaps = (down + across) // self._width % _DRAWN_STRIPE != 0
        words[gaps & (self._areas[_part(box)] != 0)] = 0


def translated(mark: Mark, left: int, top: int) -> Mark:
    """Move a mark by whole pixels, without rounding."""
    if isinstance(mark, Patch):
        return replace(mark, left=mark.left - left, top=mark.top - top)
    return replace(mark, points=tuple((x - left, y - top) for x, y in mark.points))


@lru_cache(maxsize=256)
def _is_area(mark: Mark, size: tuple[int, int]) -> bool:
    if not isinstance(mark, Patch) or mark.label is None:
        return False
    count = int.from_bytes(mark.bits, "big").bit_count()
    return count > _AREA_SHARE * size[0] * size[1]


def _part(box: Rectangle) -> tuple[slice, slice]:
    left, top, right, bottom = box
    return slice(top, bottom), slice(left, right)


class StrokeLayer:
    """Rendered strokes of a document, and of the unfinished stroke, as a `Layer`.

    Methods return the box to be repainted. In ``numbers`` 0 is unmarked and 1 the first class, so
    that unmarked regions take no memory: filling it takes 0.1 s at 12 MP.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.numbers: NDArray[np.int16] = lazy_zeros((*size, 2)).view(np.int16)[..., 0]
        self.layer = Layer.blank(size)
        self._hatching = Hatching(size)
        self._document = Document()
        self._bounds: list[Rectangle] = []  # of the document's marks
        self._colours = _colour_table(self._document.classes)
        self._pieces: list[Stroke] = []  # of the unfinished stroke
        self._live = EMPTY_RECTANGLE

    def show(self, document: Document) -> Rectangle:
        """Show a document, without an unfinished stroke that is not in it."""
        before, after = self._document.strokes, document.strokes
        common = after.common_beginning(before)
        same, added = len(common), after.after(common) or ()
        removed = union_of_boxes([self._live, *self._bounds[same:]])
        self._bounds[same:] = [_bounds(mark, self.size) for mark in added]
        changed = union_of_boxes([removed, *self._bounds[same:]])
        recoloured = document.classes != self._document.classes
        if recoloured:
            self._colours = _colour_table(document.classes)
            changed = union_of_boxes([removed, *self._bounds])
        only_added = same == len(before) and not recoloured
        drawn = bool(self._pieces) and self._was_drawn(added)
        self._document, self._live, self._pieces = document, EMPTY_RECTANGLE, []
        if only_added and drawn and len(added) == 1:
            return EMPTY_RECTANGLE  # the pieces have drawn it
        if only_added and removed == EMPTY_RECTANGLE:
            for mark in added:
                paint_mark(self.numbers, mark, unmarked=0)
                self._hatching.stamp(mark)
        else:
            self._repaint(changed)
        self._colour(changed)
        return changed

    def drop(self) -> Rectangle:
        """Remove the unfinished stroke."""
        return self.show(self._document)

    def stamp(self, piece: Stroke, *, keep_others: bool = False) -> Rectangle:
        """Draw a piece of the unfinished stroke, over other classes or around them."""
        left, top, right, bottom = bounds = _bounds(piece, self.size)
        before = self.numbers[top:bottom, left:right].copy() if keep_others else None
        hatched = self._hatching.copy(bounds) if keep_others else None
        box = paint_mark(self.numbers, piece, unmarked=0)
        self._hatching.stamp(piece)
        if before is not None:
            others = (before != 0) & (before != _number(piece))
            self.numbers[top:bottom, left:right][others] = before[others]
            self._hatching.restore(bounds, hatched, others)
        self._pieces.append(piece)
        self._live = union_of_boxes([self._live, box])
        for strip in stroke_strips(piece, self.size):
            self._colour(strip)
        return box

    def drawn_patch(self, stroke: Stroke) -> Patch | None:
        """Return the pixels that a stroke has marked around other classes; None if none."""
        left, top, right, bottom = self._live
        if _is_empty(self._live) or stroke.label is None:
            return None
        covered = np.full((bottom - top, right - left), UNMARKED, dtype=np.int16)
        paint_mark(covered, translated(stroke, left, top))
        mask = (covered != UNMARKED) & (self.numbers[top:bottom, left:right] == _number(stroke))
        if not mask.any():
            return None
        patch = Patch.of_mask(mask, stroke.label)
        return replace(patch, left=patch.left + left, top=patch.top + top)

    def covers(self, mark: Mark) -> bool:
        """Return whether a mark has a pixel of the picture."""
        height, width = self.size
        if isinstance(mark, Stroke) and mark.radius >= 1.0:
            inside = (0.0 <= x < width and 0.0 <= y < height for x, y in mark.points)
            if any(inside):
                return True  # without a look at all pixels of a long stroke
        left, top, right, bottom = bounds = _bounds(mark, self.size)
        if _is_empty(bounds):
            return False
        covered = np.full((bottom - top, right - left), UNMARKED, dtype=np.int16)
        paint_mark(covered, replace(translated(mark, left, top), label=0))
        return bool((covered != UNMARKED).any())

    def _was_drawn(self, added: tuple[Mark, ...]) -> bool:
        """Return whether the drawn pieces are the first of ``added``."""
        if not added or not isinstance(added[0], Stroke):
            return False
        return tuple(piece.points[-1] for piece in self._pieces) == added[0].points

    def _repaint(self, box: Rectangle) -> None:
        left, top, right, bottom = box
        if _is_empty(box):
            return
        part = self.numbers[top:bottom, left:right]
        part[...] = 0
        self._hatching.clear(box)
        for mark, bounds in zip(self._document.strokes, self._bounds, strict=True):
            if not _is_empty(_common(bounds, box)):
                paint_mark(part, translated(mark, left, top), unmarked=0)
                self._hatching.stamp(mark, box)

    def _colour(self, box: Rectangle) -> None:
        left, top, right, bottom = box
        if _is_empty(box):
            return
        pixels = self.layer.pixels.view(np.uint32)[..., 0]
        # Numbers never exceed the table; bounds checks would take as long again.
        words = self._colours.take(self.numbers[top:bottom, left:right], mode="wrap")
        self._hatching.apply(words, box)
        pixels[top:bottom, left:right] = words
        self.layer.refresh(box)


def _colour_table(classes: tuple[ClassInfo, ...]) -> NDArray[np.uint32]:
    """Return RGBA words: transparent, for unmarked pixels, then each class's colour."""
    table = np.zeros((len(classes) + 1, 4), dtype=np.uint8)
    for row, info in enumerate(classes, start=1):
        table[row] = (*info.colour, 255)
    words: NDArray[np.uint32] = to_bgra(table[np.newaxis]).view(np.uint32)[0, :, 0]
    return words


def _number(mark: Mark) -> int:
    return 0 if mark.label is None else 1 + mark.label


def _bounds(mark: Mark, size: tuple[int, ...]) -> Rectangle:
    height, width = size
    if isinstance(mark, Patch):
        left, top = mark.left, mark.top
        right, bottom = left + mark.width, top + mark.height
    else:
        points = np.array(mark.points)
        reach = max(mark.radius * max(mark.pressures, default=1.0), MIN_RADIUS) + 1
        left, top = (int(v) for v in np.floor(points.min(axis=0) - reach))
        right, bottom = (int(v) for v in np.ceil(points.max(axis=0) + reach))
    return max(left, 0), max(top, 0), min(right, width), min(bottom, height)


def _is_empty(box: Rectangle) -> bool:
    return box[0] >= box[2] or box[1] >= box[3]


def _common(first: Rectangle, second: Rectangle) -> Rectangle:
    return (
        max(first[0], second[0]),
        max(first[1], second[1]),
        min(first[2], second[2]),
        min(first[3], second[3]),
    )


def union_of_boxes(boxes: list[Rectangle]) -> Rectangle:
    """Return the bounding box of all boxes that are not empty."""
    filled = [box for box in boxes if not _is_empty(box)]
    if not filled:
        return EMPTY_RECTANGLE
    lefts, tops, rights, bottoms = zip(*filled, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
