"""Some pixels of an image as a graph: how they are tied to each other and to those around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from segapp.picture.arcs import Arcs
from segapp.picture.neighbours import STEPS
from segapp.picture.region_graph import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds

    Number = TypeVar("Number", bound=np.number)

_KINDS = len(STEPS)
_WAYS = tuple((way * down, way * right) for way in (1, -1) for down, right in STEPS)
"""Where the neighbours of a pixel lie: in pairs of each kind from the one, then from the other."""
_IN_ORDER = tuple(sorted(range(len(_WAYS)), key=_WAYS.__getitem__))
"""The ways by where they lead to: then the neighbours of a pixel are in the order of rows."""


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

    def absent(self) -> NDArray[np.bool_] | None:
        """Tell which neighbours are beyond the image, `_WAYS` x pixels; ``None`` if none is."""
        (height, width), rows, columns = self.shape, self.rows, self.columns
        upright = rows[0] > 0 and rows[-1] < height - 1
        if upright and columns.min() > 0 and columns.max() < width - 1:
            return None
        down, right = (np.array(part)[:, None] for part in zip(*_WAYS, strict=True))
        rows, columns = rows + down, columns + right
        beyond = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
        return np.asarray(beyond)

    def pairs(self) -> NDArray[np.intp]:
        """Return the places of the pairs with all neighbours among those of their kind.

        They are `_WAYS` x pixels: that of the upper row and the left column of both.
        """
        width = self.shape[1]
        by_width = {narrower: self.rows * (width - narrower) + self.columns for narrower in (0, 1)}
        places = np.empty((len(_WAYS), len(self.rows)), dtype=np.intp)
        for place, (down, right) in zip(places, _WAYS, strict=True):
            first = min(down, 0) * (width - abs(right)) + min(right, 0)
            np.add(by_width[abs(right)], first, out=place)
        return places


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """How some pixels are tied to each other and to those around them.

    Parameters
    ----------
    neighbours
        `_WAYS` x pixels: which of them lies there, -1 where none does.
    weights
        Of the ties, shaped alike.
    places
        Of the pairs among those of their kind, shaped alike.
    order
        Where in these tables an arc is told of, pixel by pixel. Before those of each pixel there
        is room for one more: that is the place after all others.
    held
        Pixels beside others that are not among them, where those are, and how strongly they are
        tied.
    """

    neighbours: NDArray[np.int32]
    weights: NDArray[np.float32]
    places: NDArray[np.intp]
    order: NDArray[np.intp]
    held: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]

    @classmethod
    def of(cls, pixels: Pixels, bonds: Bonds, smoothness: float) -> Self:
        """Look around each of some pixels."""
        numbers, absent, width = pixels.numbers, pixels.absent(), pixels.shape[1]
        count, above = len(numbers), (pixels.rows[0] - 1) * width - 1
        node = np.full(numbers[-1] - above + width + 2, -1, dtype=np.int32)
        node[numbers - above] = np.arange(count)
        near = numbers + np.array([down * width + right for down, right in _WAYS])[:, None]
        neighbours, places = node.take(near - above), pixels.pairs()
        alone = neighbours < 0
        if absent is not None:
            neighbours[absent], places[absent] = -1, 0
            alone &= ~absent
        weights = np.empty(places.shape, dtype=np.float32)
        for kind, bond in enumerate(bonds):
            weights[kind::_KINDS] = smoothness * _taken(bond, places[kind::_KINDS])
        beside = np.flatnonzero(alone)
        held = beside % count, near.take(beside), weights.take(beside)
        return cls(neighbours, weights, places, _pixel_by_pixel(neighbours), held)

    def arcs(self) -> Arcs:
        """Return the ties as arcs, pixel by pixel."""
        counts = np.count_nonzero(self.neighbours >= 0, axis=0) + 1
        starts = np.concatenate(([0], np.cumsum(counts)), dtype=np.int32)
        return Arcs(starts, self._laid_out(self.neighbours))

    def costs(self) -> NDArray[np.float64]:
        """Return what it costs to part the ends of each arc."""
        return self._laid_out(self.weights).astype(np.float64)

    def flow(self, flows: Bonds) -> NDArray[np.float32]:
        """Return what flows along the arcs, given what does along all pairs of each kind."""
        table = np.empty_like(self.weights)
        for kind, flow in enumerate(flows):
            table[kind::_KINDS] = _taken(flow, self.places[kind::_KINDS])
        np.negative(table[_KINDS:], out=table[_KINDS:])
        return self._laid_out(table)

    def _laid_out(self, table: NDArray[Number]) -> NDArray[Number]:
        """Return what a table tells of each arc; 0 where there is room."""
        return np.append(table, table.dtype.type(0)).take(self.order)

    def keep(self, flow: NDArray[np.float32], flows: Bonds) -> None:
        """Write what flows along the arcs back to the pairs."""
        table = np.empty(self.weights.size + 1, dtype=np.float32)
        table[self.order] = flow
        sent = table[:-1].reshape(self.weights.shape)
        for kind in range(_KINDS):
            here = np.flatnonzero(self.neighbours[kind] >= 0)
            flows[kind].reshape(-1)[self.places[kind][here]] = sent[kind][here]

    def edges(self) -> Edges:
        """Return the ties as edges, kind by kind."""
        found = []
        for kind in sorted(range(_KINDS), key=STEPS.__getitem__):
            here = np.flatnonzero(self.neighbours[kind] >= 0)
            found.append((here, self.neighbours[kind][here], self.weights[kind][here]))
        tails, heads, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        return Edges(tails.astype(np.int32), heads, weights.astype(np.float64))


def _taken(values: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return values at some places; an image of one row has none of most kinds."""
    return values.take(places) if values.size else np.zeros(places.shape, np.float32)


def _pixel_by_pixel(neighbours: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return where in a table of `_WAYS` x pixels there is a neighbour, pixel by pixel.

    First of each pixel comes the place after the table.
    """
    ways, count = neighbours.shape
    there = np.ones((count, 1 + ways), dtype=bool)
    places = np.empty((count, 1 + ways), dtype=np.intp)
    places[:, 0] = ways * count
    starts = count * np.array(_IN_ORDER)
    np.add(np.arange(count)[:, None], starts, out=places[:, 1:])
    for column, way in enumerate(_IN_ORDER, start=1):
        np.greater_equal(neighbours[way], 0, out=there[:, column])
    return places[there]
