"""Large areas that were marked at once: drawn in lines, so that the picture shows between them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.qt.canvas.screen_pixels import untouched
from segapp.values.document import Patch
from segapp.values.rasterize import stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.document import Mark
    from segapp.values.rasterize import Rectangle

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
