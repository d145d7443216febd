"""Some pixels of an image as a graph: how they are tied to each other and to those around them.

Whatever is told of pairs of neighbours is told pixel by pixel, ``pixels x 9``: of the pixel with
itself, for which there is nothing to tell, and with those around it in the order of rows. That is
the order in which a solver reads arcs, and what belongs to one pixel is in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from segapp.picture.arcs import Arcs
from segapp.picture.neighbours import AROUND
from segapp.picture.region_graph import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.number)

_WAYS = len(AROUND)
_FORWARD = range(1 + _WAYS // 2, _WAYS)
"""The ways to the neighbours that come later: each pair of them once."""


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

    def around(self) -> NDArray[np.int32]:
        """Return which of them lie around each, ``pixels x 9``; -1 where none does."""
        wide, above = self.shape[1] + 2, self.rows[0] - 1  # with a frame: nothing is beyond
        places = (self.rows - above) * wide + self.columns + 1
        node = np.full((self.rows[-1] - above + 2) * wide, -1, dtype=np.int32)
        node[places] = np.arange(len(places))
        around: NDArray[np.int32] = node.take(places[:, None] + _steps(wide))
        return around


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """How some pixels are tied to each other and to those around them.

    Parameters
    ----------
    numbers
        Where the pixels are.
    around
        Which of them lie around each, -1 where none does.
    weights
        Of the ties, shaped alike.
    order
        Where in these tables an arc is told of, pixel by pixel. The first of a pixel is that to
        itself, where there is room for another.
    held
        Pixels beside others that are not among them, where those are, and how strongly they are
        tied.
    """

    numbers: NDArray[np.intp]
    around: NDArray[np.int32]
    weights: NDArray[np.float32]
    order: NDArray[np.intp]
    held: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]

    @classmethod
    def of(cls, pixels: Pixels, bonds: NDArray[np.float32], smoothness: float) -> Self:
        """Look around each of some pixels."""
        numbers, around = pixels.numbers, pixels.around()
        weights = bonds.take(numbers, axis=0)
        weights *= np.float32(smoothness)
        there = around >= 0
        # What is beyond the image is tied by nothing.
        beside = np.flatnonzero((weights > 0) & ~there)
        here, way = np.divmod(beside, _WAYS)
        near = numbers.take(here) + _steps(pixels.shape[1]).take(way)
        held = here, near, weights.take(beside)
        return cls(numbers, around, weights, np.flatnonzero(there), held)

    def arcs(self) -> Arcs:
        """Return the ties as arcs, pixel by pixel."""
        ends = np.cumsum(self.around >= 0, dtype=np.int32)[_WAYS - 1 :: _WAYS]
        starts = np.concatenate((np.zeros(1, np.int32), ends))
        return Arcs(starts, self.around.take(self.order))

    def costs(self) -> NDArray[np.float64]:
        """Return what it costs to part the ends of each arc."""
        return self.weights.take(self.order).astype(np.float64)

    def flow(self, flows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what flows along the arcs, given what does from all pixels of the image."""
        return flows.take(self.numbers, axis=0).take(self.order)

    def keep(self, flow: NDArray[np.float32], flows: NDArray[np.float32]) -> None:
        """Write what flows along the arcs back to the pixels of the image."""
        table = flows.take(self.numbers, axis=0)
        table.reshape(-1)[self.order] = flow
        flows[self.numbers] = table

    def edges(self) -> Edges:
        """Return the ties as edges, way by way."""
        found = []
        for way in _FORWARD:
            here = np.flatnonzero(self.around[:, way] >= 0)
            found.append((here, self.around[here, way], self.weights[here, way]))
        tails, heads, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        return Edges(tails.astype(np.int32), heads, weights.astype(np.float64))


def _steps(width: int) -> NDArray[np.intp]:
    """Return how far it is to those around a pixel, counted row by row."""
    return np.array([down * width + right for down, right in AROUND])
