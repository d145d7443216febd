"""Marked pixels of an image, stored in tiles."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.rasterise import UNMARKED, mark_patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from segapp.model.document import Mark, Patch


if TYPE_CHECKING:
    Box = tuple[slice, slice]

_TILE = 256
"""Pixels along a side: a multiple of whatever a picture is halved by to be learnt on."""


@dataclass(frozen=True, slots=True, eq=False)
class SeedTile:
    """The marks of one tile, and where its rows of equal marks begin.

    Parameters
    ----------
    marks
        int16, the class of each marked pixel, `UNMARKED` elsewhere.
    rows, columns
        Where along a row a class begins, from the picture's corner.
    classes
        Which ones there are.
    """

    marks: NDArray[np.int16]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    classes: frozenset[int]

    @classmethod
    def of(cls, marks: NDArray[np.int16], top: int, left: int) -> SeedTile:
        """Take marks that are the tile's own."""
        begins = marks != UNMARKED
        begins[:, 1:] &= marks[:, 1:] != marks[:, :-1]
        rows, columns = np.nonzero(begins)
        marks.flags.writeable = False
        return cls(marks, rows + top, columns + left, frozenset(marks[rows, columns].tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class SeedMap:
    """Which pixels are marked with which class, at full size and at a coarser one.

    Parameters
    ----------
    shape
        Height and width.
    tiles
        By their row and column of tiles; where there is none, nothing is marked.
    times
        Pixels of the picture along a side of a pixel of ``coarse``.
    highest
        int16: the highest class that is marked in each block of ``times x times`` pixels,
        so that the smallest mark is kept; `UNMARKED` where there is none.
    coarse
        The same, but that a class which is the highest nowhere has one of its blocks.
    lost
        The classes that have no block even so: there are fewer blocks than classes.
    """

    shape: tuple[int, int]
    tiles: Mapping[tuple[int, int], SeedTile]
    times: int
    highest: NDArray[np.int16]
    coarse: NDArray[np.int16]
    lost: tuple[int, ...] = ()

    @classmethod
    def empty(cls, shape: tuple[int, int], times: int = 1) -> SeedMap:
        """Return a picture without marks; ``times`` is a power of two."""
        if times > _TILE:
            raise ValueError(f"times: wanted at most {_TILE}, got {times}")
        small = tuple(-(-size // times) for size in shape)
        nothing = np.full(small, UNMARKED, np.int16)
        return cls(shape, MappingProxyType({}), times, nothing, nothing)

    @classmethod
    def from_array(cls, marks: NDArray[np.int16]) -> SeedMap:
        """Take the marks of an array: the class of each marked pixel, `UNMARKED` elsewhere."""
        height, width = marks.shape
        written = {key: np.array(marks[box]) for key, box in _tiles_in(0, 0, height, width)}
        return cls.empty((height, width))._with(written)

    def with_marks(self, marks: Iterable[Mark]) -> SeedMap:
        """Paint marks over these, in their order; tiles that none touches are shared."""
        written: dict[tuple[int, int], NDArray[np.int16]] = {}
        for mark in marks:
            patch = mark_patch(mark, self.shape)
            if patch is not None:
                self._paint(patch, written)
        return self._with(written) if written else self

    def _paint(self, patch: Patch, written: dict[tuple[int, int], NDArray[np.int16]]) -> None:
        mask = patch.mask()
        bottom = min(patch.top + patch.height, self.shape[0])
        right = min(patch.left + patch.width, self.shape[1])
        for key, box in _tiles_in(max(patch.top, 0), max(patch.left, 0), bottom, right):
            inside = mask[_moved(box, patch.top, patch.left)]
            if inside.any():
                if key not in written:
                    written[key] = self._copy(key)
                part = written[key][_moved(box, key[0] * _TILE, key[1] * _TILE)]
                part[inside] = UNMARKED if patch.label is None else patch.label

    def _copy(self, key: tuple[int, int]) -> NDArray[np.int16]:
        if key in self.tiles:
            return self.tiles[key].marks.copy()
        rows, columns = _box(key, self.shape)
        return np.full((rows.stop - rows.start, columns.stop - columns.start), UNMARKED, np.int16)

    def _with(self, written: dict[tuple[int, int], NDArray[np.int16]]) -> SeedMap:
        tiles, highest = dict(self.tiles), self.highest.copy()
        cells = _TILE // self.times
        for key, marks in written.items():
            block = _highest(marks, self.times)
            top, left = key[0] * cells, key[1] * cells
            highest[top : top + block.shape[0], left : left + block.shape[1]] = block
            if (marks != UNMARKED).any():
                tiles[key] = SeedTile.of(marks, key[0] * _TILE, key[1] * _TILE)
            else:
                tiles.pop(key, None)
        coarse, lost = _with_every_class(highest, tiles, self.times)
        return SeedMap(self.shape, MappingProxyType(tiles), self.times, highest, coarse, lost)

    def dense(self) -> NDArray[np.int16]:
        """Return the marks as one array of the picture's size."""
        marks = np.full(self.shape, UNMARKED, dtype=np.int16)
        for box, tile in self.boxes():
            marks[box] = tile.marks
        return marks

    def boxes(self) -> Iterator[tuple[Box, SeedTile]]:
        """Yield the tiles that hold marks, with the rows and columns that they cover."""
        for key, tile in self.tiles.items():
            yield _box(key, self.shape), tile

    def __getitem__(self, box: Box) -> NDArray[np.int16]:
        """Return the marks of some rows and columns, or of every few of them."""
        wanted = tuple(
            range(*side.indices(size)) for side, size in zip(box, self.shape, strict=True)
        )
        marks = np.full(tuple(map(len, wanted)), UNMARKED, dtype=np.int16)
        for covered, tile in self.boxes():
            places = tuple(map(_places, wanted, covered))
            of_tile = tuple(
                slice(
                    side[place.start] - own.start, side[place.stop - 1] - own.start + 1, side.step
                )
                for side, place, own in zip(wanted, places, covered, strict=True)
                if place.start < place.stop
            )
            if len(of_tile) == len(places):
                marks[places] = tile.marks[of_tile]
        return marks

    def classes(self) -> list[int]:
        """Return the classes that are marked somewhere, in order."""
        return sorted({label for tile in self.tiles.values() for label in tile.classes})

    def differs_from(self, other: SeedMap) -> NDArray[np.bool_]:
        """Tell in which blocks of ``coarse`` any pixel is marked otherwise."""
        differs = np.zeros(self.coarse.shape, dtype=bool)
        cells = _TILE // self.times
        for key in self.tiles.keys() | other.tiles.keys():
            one, two = self.tiles.get(key), other.tiles.get(key)
            if one is two:
                continue
            shape = (one or two).marks.shape  # type: ignore[union-attr]  # one of them is there
            ours, theirs = (
                tile.marks if tile is not None else np.full(shape, UNMARKED, np.int16)
                for tile in (one, two)
            )
            block = _highest((ours != theirs).astype(np.int16), self.times) > 0
            top, left = key[0] * cells, key[1] * cells
            differs[top : top + block.shape[0], left : left + block.shape[1]] = block
        return differs

    def pin(self, labels: NDArray[np.uint8]) -> None:
        """Give marked pixels the class they are marked with, in place."""
        for box, tile in self.boxes():
            np.copyto(labels[box], tile.marks, where=tile.marks != UNMARKED, casting="unsafe")

    def run_starts(self) -> NDArray[np.intp]:
        """Return a place in each row of equal marks, numbered row by row from the corner."""
        width = self.shape[1]
        return np.concatenate(
            [np.zeros(0, np.intp), *(t.rows * width + t.columns for t in self.tiles.values())]
        )


def _box(key: tuple[int, int], shape: tuple[int, int]) -> Box:
    rows, columns = (
        slice(place * _TILE, min((place + 1) * _TILE, size))
        for place, size in zip(key, shape, strict=True)
    )
    return rows, columns


def _places(wanted: range, covered: slice) -> slice:
    """Return which of some places lie in a part, as places among them."""
    first, last = (
        min(max(-(-(end - wanted.start) // wanted.step), 0), len(wanted))
        for end in (covered.start, covered.stop)
    )
    return slice(first, last)


def _moved(box: Box, top: int, left: int) -> Box:
    """Return a box as it is numbered from another corner."""
    rows, columns = box
    return slice(rows.start - top, rows.stop - top), slice(
        columns.start - left, columns.stop - left
    )


def _tiles_in(
    top: int, left: int, bottom: int, right: int
) -> Iterator[tuple[tuple[int, int], Box]]:
    """Yield the tiles that a box touches, with the part of the box that lies in each."""
    if top >= bottom or left >= right:
        return
    for row in range(top // _TILE, -(-bottom // _TILE)):
        for column in range(left // _TILE, -(-right // _TILE)):
            yield (
                (row, column),
                (
                    slice(max(row * _TILE, top), min((row + 1) * _TILE, bottom)),
                    slice(max(column * _TILE, left), min((column + 1) * _TILE, right)),
                ),
            )


def _highest(marks: NDArray[np.int16], times: int) -> NDArray[np.int16]:
    """Return the highest value of each block of ``times x times``."""
    if times == 1:
        return marks
    rows, columns = (np.arange(0, size, times) for size in marks.shape)
    return np.asarray(
        np.maximum.reduceat(np.maximum.reduceat(marks, rows, axis=0), columns, axis=1)
    )


def _with_every_class(
    highest: NDArray[np.int16], tiles: Mapping[tuple[int, int], SeedTile], times: int
) -> tuple[NDArray[np.int16], tuple[int, ...]]:
    """Return ``highest`` with a block for each class, and the classes for which there is none.

    A class takes the block with most of its pixels among those whose class has another one.
    """
    if times == 1:
        return highest, ()
    classes = set[int]().union(*(tile.classes for tile in tiles.values()))
    count = np.bincount(highest[highest != UNMARKED], minlength=max(classes, default=0) + 1)
    missing = sorted(label for label in classes if not count[label])
    if not missing:
        return highest, ()
    coarse, lost, cells = highest.copy(), [], _TILE // times
    for label in missing:
        best: tuple[int, int, int] | None = None
        for (row, column), tile in sorted(tiles.items(), key=lambda item: item[0]):
            if label not in tile.classes:
                continue
            rows, columns = np.nonzero(tile.marks == label)
            rows, columns = rows // times + row * cells, columns // times + column * cells
            blocks, pixels = np.unique(rows * coarse.shape[1] + columns, return_counts=True)
            pixels = np.where(count[coarse.take(blocks)] > 1, pixels, 0)
            chosen = int(pixels.argmax())
            if pixels[chosen] > (best[0] if best else 0):
                best = int(pixels[chosen]), *divmod(int(blocks[chosen]), coarse.shape[1])
        if best is None:
            lost.append(label)
            continue
        count[coarse[best[1:]]] -= 1
        count[label] += 1
        coarse[best[1:]] = label
    return coarse, tuple(lost)


_KEPT = 16
"""States whose marks are kept: they share all tiles but those that the last strokes touched."""


class SeedCache:
    """Paints no mark again that the last few documents had; what it returns is as if it did.

    Parameters
    ----------
    shape, times
        Of the picture, and how many of its pixels are one where is learnt, along a side.
    """

    def __init__(self, shape: tuple[int, int], times: int) -> None:
        self._empty = SeedMap.empty(shape, times)
        self._kept: OrderedDict[tuple[Mark, ...], SeedMap] = OrderedDict()

    def of(self, marks: tuple[Mark, ...]) -> SeedMap:
        """Return what some marks cover, in their order."""
        known = [state for state in self._kept if marks[: len(state)] == state]
        begun = max(known, key=len, default=())
        found = self._kept.get(begun, self._empty).with_marks(marks[len(begun) :])
        self._kept[marks] = found
        self._kept.move_to_end(marks)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
