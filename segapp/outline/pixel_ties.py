"""Some pixels of an image as a graph: how they are tied to each other and to those around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from segapp.picture.arcs import Arcs
from segapp.picture.neighbours import STEPS
from segapp.picture.region_graph import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds

_WAYS = tuple((kind, way) for kind in range(len(STEPS)) for way in (1, -1))
"""The kinds of pairs, from the one pixel to the other and back."""
_BY_PLACE = sorted(_WAYS, key=lambda each: tuple(each[1] * size for size in STEPS[each[0]]))
_LINES = {each: 1 + _BY_PLACE.index(each) for each in _WAYS}
"""The line of each in a table, by where the other pixel lies: then a pixel's neighbours are in order.
The first line is room for one arc more."""


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """Some pixels of an image, in the order of rows."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Where they are, counted row by row."""
        return self.rows * self.shape[1] + self.columns

    def inner(self) -> bool:
        """Tell whether all have neighbours on all sides."""
        (height, width), rows, columns = self.shape, self.rows, self.columns
        upright = rows[0] > 0 and rows[-1] < height - 1
        return bool(upright and columns.min() > 0 and columns.max() < width - 1)

    def has(self, step: tuple[int, int]) -> NDArray[np.bool_]:
        """Tell which have a neighbour that many rows down and columns to the right."""
        (height, width), (down, right) = self.shape, step
        rows, columns = self.rows + down, self.columns + right
        return (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)

    def pairs(self, step: tuple[int, int]) -> NDArray[np.intp]:
        """Return the place of each pair with such a neighbour among all pairs of its kind.

        It is that of the upper row and the left column of both.
        """
        (down, right), width = step, self.shape[1] - abs(step[1])
        return self.rows * width + (self.columns + (min(down, 0) * width + min(right, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """How some pixels are tied to each other and to those around them.

    Parameters
    ----------
    neighbours
        (Room and directions) x pixels: which of them lies there, -1 where none does.
    weights
        Of the ties, shaped alike; 0 where there is room.
    order
        The places in these tables where there is a neighbour, or room, pixel by pixel.
    places
        Of the pairs in each direction among those of their kind, by kind and way.
    held
        In each direction: pixels beside one that is not among them, where that one is, and how
        strongly they are tied.
    """

    neighbours: NDArray[np.int32]
    weights: NDArray[np.float32]
    order: NDArray[np.intp]
    places: dict[tuple[int, int], NDArray[np.intp]]
    held: list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]]

    @classmethod
    def of(cls, pixels: Pixels, bonds: Bonds, smoothness: float) -> Self:
        """Look around each of some pixels."""
        numbers, inner, width = pixels.numbers, pixels.inner(), pixels.shape[1]
        count, above = len(numbers), (pixels.rows[0] - 1) * width - 1
        node = np.full(numbers[-1] - above + 2 * width, -1, dtype=np.int32)
        node[numbers - above] = np.arange(count)
        neighbours = np.zeros((1 + len(_WAYS), count), dtype=np.int32)
        weights = np.zeros(neighbours.shape, dtype=np.float32)
        places, held = {}, []
        for (kind, way), line in _LINES.items():
            step = way * STEPS[kind][0], way * STEPS[kind][1]
            near, place = numbers + (step[0] * width + step[1]), pixels.pairs(step)
            other = node.take(near - above)
            alone = other < 0
            if not inner:
                there = pixels.has(step)
                place = np.where(there, place, 0)
                other = np.where(there, other, np.int32(-1))
                alone &= there
            weight = smoothness * bonds[kind].take(place)
            beside = np.flatnonzero(alone)
            held.append((beside, near[beside], weight[beside]))
            neighbours[line], weights[line] = other, weight
            places[kind, way] = place
        table = np.arange(count)[:, None] + count * np.arange(1 + len(_WAYS))
        return cls(neighbours, weights, table[(neighbours >= 0).T], places, held)

    def arcs(self) -> Arcs:
        """Return the ties as arcs, pixel by pixel."""
        counts = np.count_nonzero(self.neighbours >= 0, axis=0)
        starts = np.concatenate(([0], np.cumsum(counts)), dtype=np.int32)
        return Arcs(starts, self.neighbours.take(self.order))

    def costs(self) -> NDArray[np.float64]:
        """Return what it costs to part the ends of each arc."""
        return self.weights.take(self.order).astype(np.float64)

    def flow(self, flows: Bonds) -> NDArray[np.float32]:
        """Return what flows along the arcs, given what does along all pairs of each kind."""
        table = np.zeros_like(self.weights)
        for (kind, way), line in _LINES.items():
            np.multiply(flows[kind].take(self.places[kind, way]), way, out=table[line])
        return table.take(self.order)

    def keep(self, flow: NDArray[np.float32], flows: Bonds) -> None:
        """Write what flows along the arcs back to the pairs."""
        table = np.empty_like(self.weights)
        np.put(table, self.order, flow)
        for kind in range(len(STEPS)):
            line = _LINES[kind, 1]
            here = np.flatnonzero(self.neighbours[line] >= 0)
            np.put(flows[kind], self.places[kind, 1][here], table[line, here])

    def edges(self) -> Edges:
        """Return the ties as edges, kind by kind."""
        found = []
        for kind in sorted(range(len(STEPS)), key=STEPS.__getitem__):
            other, weight = (part[_LINES[kind, 1]] for part in (self.neighbours, self.weights))
            here = np.flatnonzero(other >= 0)
            found.append((here, other[here], weight[here]))
        tails, heads, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        return Edges(tails.astype(np.int32), heads, weights.astype(np.float64))
