"""The layer of strokes, updated box by box."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.rasterise import NOWHERE, THINNEST, UNMARKED, stamp, strips_of
from segapp.model.document import Document, Mark, Patch, Stroke
from segapp.qt.canvas.layers import Layer, in_screen_order, untouched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.imaging.rasterise import Rectangle
    from segapp.model.classes import ClassInfo


_MUCH = 0.04  # of the picture's pixels: what covers more would hide what it is about
_LINES = 400  # along the longer side, drawn ones and gaps: a few screen pixels each when fitted
_EVERY = 3  # of them is drawn


class Hatching:
    """Where the uppermost mark is a large area; no memory is taken before there is one."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._width = max(round(max(size) / _LINES), 1)  # of a line, in pixels of the picture
        self._areas: NDArray[np.int16] | None = None  # 1 where it is, else 0

    def stamp(self, mark: Mark, box: Rectangle | None = None) -> None:
        """Put a mark upon the others, or what of it lies in a part of the picture."""
        is_area = _is_area(mark, self._size)
        if self._areas is None and is_area:
            self._areas = untouched((*self._size, 2)).view(np.int16)[..., 0]
        if self._areas is None:
            return
        drawn = replace(mark, label=0 if is_area else None)
        if box is None:
            stamp(self._areas, drawn, unmarked=0)
        else:
            stamp(self._areas[_part(box)], shifted(drawn, box[0], box[1]), unmarked=0)

    def clear(self, box: Rectangle) -> None:
        """Forget the marks of a part of the picture."""
        if self._areas is not None:
            self._areas[_part(box)] = 0

    def kept(self, box: Rectangle) -> NDArray[np.int16] | None:
        """Return a copy of a part, for `restore`."""
        return None if self._areas is None else self._areas[_part(box)].copy()

    def restore(
        self, box: Rectangle, kept: NDArray[np.int16] | None, where: NDArray[np.bool_]
    ) -> None:
        """Bring back what a part was, at some of its pixels."""
        if self._areas is not None and kept is not None:
            self._areas[_part(box)][where] = kept[where]

    def thin(self, words: NDArray[np.uint32], box: Rectangle) -> None:
        """Make the pixels of a part transparent that lie between the lines of an area."""
        if self._areas is None:
            return
        left, top, right, bottom = box
        down, across = np.arange(top, bottom)[:, np.newaxis], np.arange(left, right)
        gaps = (down + across) // self._width % _EVERY != 0
        words[gaps & (self._areas[_part(box)] != 0)] = 0


def shifted(mark: Mark, left: int, top: int) -> Mark:
    """Move a mark by whole pixels, which floating point does without rounding."""
    if isinstance(mark, Patch):
        return replace(mark, left=mark.left - left, top=mark.top - top)
    return replace(mark, points=tuple((x - left, y - top) for x, y in mark.points))


@lru_cache(maxsize=256)
def _is_area(mark: Mark, size: tuple[int, int]) -> bool:
    if not isinstance(mark, Patch) or mark.label is None:
        return False
    count = int.from_bytes(mark.bits, "big").bit_count()
    return count > _MUCH * size[0] * size[1]


def _part(box: Rectangle) -> tuple[slice, slice]:
    left, top, right, bottom = box
    return slice(top, bottom), slice(left, right)


class StrokeLayer:
    """Pixels of a document's strokes, and of the one being drawn, as a `Layer`.

    Every method returns the box that changed, so that no more than that is painted anew. Where
    nothing was ever drawn no memory is touched: to fill it would hold the window for 0.1 s at
    12 MP, so 0 is what is not marked (`numbers`) and the first class is 1.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.numbers: NDArray[np.int16] = untouched((*size, 2)).view(np.int16)[..., 0]
        self.layer = Layer.blank(size)
        self._hatching = Hatching(size)
        self._document = Document()
        self._bounds: list[Rectangle] = []  # of the document's strokes
        self._colours = _colour_table(self._document.classes)
        self._pieces: list[Stroke] = []  # of the stroke that is being drawn
        self._live = NOWHERE

    def show(self, document: Document) -> Rectangle:
        """Show a document; a stroke in the making that is not in it disappears."""
        before, after = self._document.strokes, document.strokes
        same = _common_start(before, after)
        gone = joined_boxes([self._live, *self._bounds[same:]])
        self._bounds[same:] = [_bounds(mark, self.size) for mark in after[same:]]
        changed = joined_boxes([gone, *self._bounds[same:]])
        recoloured = document.classes != self._document.classes
        if recoloured:
            self._colours = _colour_table(document.classes)
            changed = joined_boxes([gone, *self._bounds])
        added = after[same:]
        only_added = same == len(before) and not recoloured
        drawn = bool(self._pieces) and self._was_drawn(added)
        self._document, self._live, self._pieces = document, NOWHERE, []
        if only_added and drawn and len(added) == 1:
            return NOWHERE  # all of it is there already
        if only_added and gone == NOWHERE:
            for mark in added:
                stamp(self.numbers, mark, unmarked=0)
                self._hatching.stamp(mark)
        else:
            self._repaint(changed)
        self._colour(changed)
        return changed

    def drop(self) -> Rectangle:
        """Forget the stroke that is being drawn."""
        return self.show(self._document)

    def stamp(self, piece: Stroke, *, keep_others: bool = False) -> Rectangle:
        """Add a piece of the stroke that is being drawn, over other classes or around them."""
        left, top, right, bottom = bounds = _bounds(piece, self.size)
        before = self.numbers[top:bottom, left:right].copy() if keep_others else None
        hatched = self._hatching.kept(bounds) if keep_others else None
        box = stamp(self.numbers, piece, unmarked=0)
        self._hatching.stamp(piece)
        if before is not None:
            others = (before != 0) & (before != _number(piece))
            self.numbers[top:bottom, left:right][others] = before[others]
            self._hatching.restore(bounds, hatched, others)
        self._pieces.append(piece)
        self._live = joined_boxes([self._live, box])
        for strip in strips_of(piece, self.size):
            self._colour(strip)
        return box

    def drawn_patch(self, stroke: Stroke) -> Patch | None:
        """Return the pixels that a stroke has marked around other classes, if there are any."""
        left, top, right, bottom = self._live
        if _is_empty(self._live) or stroke.label is None:
            return None
        covered = np.full((bottom - top, right - left), UNMARKED, dtype=np.int16)
        stamp(covered, shifted(stroke, left, top))
        mask = (covered != UNMARKED) & (self.numbers[top:bottom, left:right] == _number(stroke))
        if not mask.any():
            return None
        patch = Patch.of_mask(mask, stroke.label)
        return replace(patch, left=patch.left + left, top=patch.top + top)

    def _was_drawn(self, added: tuple[Mark, ...]) -> bool:
        """Tell whether the drawn pieces are the first of ``added``."""
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
                stamp(part, shifted(mark, left, top), unmarked=0)
                self._hatching.stamp(mark, box)

    def _colour(self, box: Rectangle) -> None:
        left, top, right, bottom = box
        if _is_empty(box):
            return
        pixels = self.layer.pixels.view(np.uint32)[..., 0]
        # No number is beyond the table; to look whether one is takes as long again.
        words = self._colours.take(self.numbers[top:bottom, left:right], mode="wrap")
        self._hatching.thin(words, box)
        pixels[top:bottom, left:right] = words
        self.layer.refresh(box)


def _colour_table(classes: tuple[ClassInfo, ...]) -> NDArray[np.uint32]:
    """Return an empty pixel of RGBA for what is not marked, then an opaque one a class."""
    table = np.zeros((len(classes) + 1, 4), dtype=np.uint8)
    for row, info in enumerate(classes, start=1):
        table[row] = (*info.colour, 255)
    words: NDArray[np.uint32] = in_screen_order(table[np.newaxis]).view(np.uint32)[0, :, 0]
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
        reach = max(mark.radius * max(mark.pressures, default=1.0), THINNEST) + 1
        left, top = (int(v) for v in np.floor(points.min(axis=0) - reach))
        right, bottom = (int(v) for v in np.ceil(points.max(axis=0) + reach))
    return max(left, 0), max(top, 0), min(right, width), min(bottom, height)


def _common_start(first: tuple[Mark, ...], second: tuple[Mark, ...]) -> int:
    for index, (old, new) in enumerate(zip(first, second, strict=False)):
        if old is not new and old != new:
            return index
    return min(len(first), len(second))


def _is_empty(box: Rectangle) -> bool:
    return box[0] >= box[2] or box[1] >= box[3]


def _common(first: Rectangle, second: Rectangle) -> Rectangle:
    return (
        max(first[0], second[0]),
        max(first[1], second[1]),
        min(first[2], second[2]),
        min(first[3], second[3]),
    )


def joined_boxes(boxes: list[Rectangle]) -> Rectangle:
    """Bound all boxes that are not empty."""
    filled = [box for box in boxes if not _is_empty(box)]
    if not filled:
        return NOWHERE
    lefts, tops, rights, bottoms = zip(*filled, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
