"""Seeds: the marked pixels of an image, stored in tiles."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.pyramid import block_max
from segapp.imaging.rasterise import UNMARKED, mark_patch
from segapp.imaging.tiles import TILE, relative, tile_box, tiles_of
from segapp.model.document import NO_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Box
    from segapp.model.document import Mark, Marks, Patch

_CACHED = 16
"""Documents whose seeds are kept: they share all tiles but those of the newest strokes."""


@dataclass(frozen=True, slots=True, eq=False)
class SeedTile:
    """The seeds of one tile, and the starts of its runs of equal seeds.

    Parameters
    ----------
    marks
        int16, the class of each marked pixel, `UNMARKED` elsewhere.
    rows, columns
        Where along a row a run begins, from the image's corner.
    classes
        The marked classes.
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
    """The class of each marked pixel, at full size and at working resolution.

    Parameters
    ----------
    shape
        Height and width.
    tiles
        By their row and column of tiles; a missing tile has no marks.
    times
        Pixels of the image along a side of a pixel of ``coarse``.
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
        """Return the seeds of an image without marks; ``times`` is a power of two."""
        if times > TILE:
            raise ValueError(f"times: wanted at most {TILE}, got {times}")
        small = tuple(-(-size // times) for size in shape)
        nothing = np.full(small, UNMARKED, np.int16)
        return cls(shape, MappingProxyType({}), times, nothing, nothing)

    @classmethod
    def from_array(cls, marks: NDArray[np.int16]) -> SeedMap:
        """Take marks from an array: classes, and `UNMARKED` elsewhere."""
        height, width = marks.shape
        box = slice(0, height), slice(0, width)
        written = {key: np.array(marks[part]) for key, part in tiles_of(box)}
        return cls.empty((height, width))._with(written)

    def with_marks(self, marks: Iterable[Mark]) -> SeedMap:
        """Paint marks over these, in their order; untouched tiles are shared."""
        written: dict[tuple[int, int], NDArray[np.int16]] = {}
        for mark in marks:
            patch = mark_patch(mark, self.shape)
            if patch is not None:
                self._paint(patch, written)
        return self._with(written) if written else self

    def _paint(self, patch: Patch, written: dict[tuple[int, int], NDArray[np.int16]]) -> None:
        mask = patch.mask()
        box = (
            slice(patch.top, patch.top + patch.height),
            slice(patch.left, patch.left + patch.width),
        )
        inside_image = (
            slice(max(box[0].start, 0), min(box[0].stop, self.shape[0])),
            slice(max(box[1].start, 0), min(box[1].stop, self.shape[1])),
        )
        for key, part in tiles_of(inside_image):
            inside = mask[relative(part, box)]
            if inside.any():
                if key not in written:
                    written[key] = self._tile_copy(key)
                target = written[key][relative(part, tile_box(key, self.shape))]
                target[inside] = UNMARKED if patch.label is None else patch.label

    def _tile_copy(self, key: tuple[int, int]) -> NDArray[np.int16]:
        if key in self.tiles:
            return self.tiles[key].marks.copy()
        rows, columns = tile_box(key, self.shape)
        return np.full((rows.stop - rows.start, columns.stop - columns.start), UNMARKED, np.int16)

    def _with(self, written: dict[tuple[int, int], NDArray[np.int16]]) -> SeedMap:
        tiles, highest = dict(self.tiles), self.highest.copy()
        for key, marks in written.items():
            highest[self._coarse_box(key)] = block_max(marks, self.times)
            if (marks != UNMARKED).any():
                tiles[key] = SeedTile.of(marks, key[0] * TILE, key[1] * TILE)
            else:
                tiles.pop(key, None)
        coarse, lost = _with_every_class(highest, tiles, self.times)
        return SeedMap(self.shape, MappingProxyType(tiles), self.times, highest, coarse, lost)

    def _coarse_box(self, key: tuple[int, int]) -> Box:
        cells = TILE // self.times
        row, column = key[0] * cells, key[1] * cells
        return slice(row, row + cells), slice(column, column + cells)

    def dense(self) -> NDArray[np.int16]:
        """Return the marks as one array of the image's size."""
        marks = np.full(self.shape, UNMARKED, dtype=np.int16)
        for box, tile in self.boxes():
            marks[box] = tile.marks
        return marks

    def boxes(self) -> Iterator[tuple[Box, SeedTile]]:
        """Yield the tiles that hold marks, with the rows and columns that they cover."""
        for key, tile in self.tiles.items():
            yield tile_box(key, self.shape), tile

    def __getitem__(self, box: Box) -> NDArray[np.int16]:
        """Return the marks of some rows and columns, or of every few of them."""
        wanted = tuple(
            range(*side.indices(size)) for side, size in zip(box, self.shape, strict=True)
        )
        marks = np.full(tuple(map(len, wanted)), UNMARKED, dtype=np.int16)
        for covered, tile in self.boxes():
            target = tuple(map(_positions_in, wanted, covered))
            source = tuple(
                slice(side[part.start] - own.start, side[part.stop - 1] - own.start + 1, side.step)
                for side, part, own in zip(wanted, target, covered, strict=True)
                if part.start < part.stop
            )
            if len(source) == len(target):
                marks[target] = tile.marks[source]
        return marks

    def classes(self) -> list[int]:
        """Return the marked classes, in order."""
        return sorted({label for tile in self.tiles.values() for label in tile.classes})

    def differs_from(self, other: SeedMap) -> NDArray[np.bool_]:
        """Return the blocks of ``coarse`` in which any pixel is marked otherwise."""
        differs = np.zeros(self.coarse.shape, dtype=bool)
        for key in self.tiles.keys() | other.tiles.keys():
            if self.tiles.get(key) is not other.tiles.get(key):
                ours, theirs = self._tile_copy(key), other._tile_copy(key)
                block = block_max((ours != theirs).astype(np.int16), self.times)
                differs[self._coarse_box(key)] = block > 0
        return differs

    def pin(self, labels: NDArray[np.uint8]) -> None:
        """Give marked pixels the class they are marked with, in place."""
        for box, tile in self.boxes():
            np.copyto(labels[box], tile.marks, where=tile.marks != UNMARKED, casting="unsafe")

    def run_starts(self) -> NDArray[np.intp]:
        """Return a flat index into the image for each run of equal marks along a row."""
        width = self.shape[1]
        return np.concatenate(
            [np.zeros(0, np.intp), *(t.rows * width + t.columns for t in self.tiles.values())]
        )


def _positions_in(wanted: range, covered: slice) -> slice:
    """Return the positions in ``wanted`` of its indices that lie in a slice."""
    first, last = (
        min(max(-(-(end - wanted.start) // wanted.step), 0), len(wanted))
        for end in (covered.start, covered.stop)
    )
    return slice(first, last)


def _with_every_class(
    highest: NDArray[np.int16], tiles: Mapping[tuple[int, int], SeedTile], times: int
) -> tuple[NDArray[np.int16], tuple[int, ...]]:
    """Return ``highest`` with a block for each class, and the classes without one.

    A class takes the block with most of its pixels among those whose class has another one.
    """
    if times == 1:
        return highest, ()
    classes = set[int]().union(*(tile.classes for tile in tiles.values()))
    count = np.bincount(highest[highest != UNMARKED], minlength=max(classes, default=0) + 1)
    missing = sorted(label for label in classes if not count[label])
    if not missing:
        return highest, ()
    coarse, lost, cells = highest.copy(), [], TILE // times
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


class SeedCache:
    """Seeds of the last few documents, so that no older mark is painted again.

    Parameters
    ----------
    shape, times
        Of the image, and how many of its pixels are one at working resolution, along a side.
    """

    def __init__(self, shape: tuple[int, int], times: int) -> None:
        self._empty = SeedMap.empty(shape, times)
        self._seeds: OrderedDict[Marks, SeedMap] = OrderedDict()

    def of(self, marks: Marks) -> SeedMap:
        """Return the seeds that marks cover, painted in their order."""
        known = next((each for each in marks.beginnings() if each in self._seeds), NO_MARKS)
        seeds = self._seeds.get(known, self._empty).with_marks(marks.after(known) or ())
        self._seeds[marks] = seeds
        self._seeds.move_to_end(marks)
        while len(self._seeds) > _CACHED:
            self._seeds.popitem(last=False)
        return seeds
