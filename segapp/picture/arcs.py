"""Graphs as a solver of flows reads them: node by node, every link from both of its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from scipy.sparse import coo_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.number)


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """Links both ways, node by node and in order, with room for one arc before those of a node.

    Parameters
    ----------
    starts
        Where the arcs of each node begin, the room included, and where all end.
    heads
        Where each leads to; anything where there is room.
    """

    starts: NDArray[np.int32]
    heads: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class LinkArcs:
    """The arcs of some links, none of which comes twice.

    Parameters
    ----------
    order
        For each arc the place of its link, that of a way back after all that go there; last comes
        what stands for room.
    there
        The arc of each link from its tail to its head.
    """

    arcs: Arcs
    order: NDArray[np.intp]
    there: NDArray[np.intp]

    @classmethod
    def of(cls, tails: NDArray[np.int32], heads: NDArray[np.int32], n_nodes: int) -> Self:
        """Sort links by their ends."""
        count, nodes = len(tails), np.arange(n_nodes, dtype=np.int32)
        rows = np.concatenate((nodes, tails, heads))
        columns = np.concatenate((0 * nodes, heads + 1, tails + 1))  # room comes first
        places = np.concatenate((0 * nodes + 2 * count, np.arange(2 * count)), dtype=np.int32)
        numbered = coo_array((places, (rows, columns)), shape=(n_nodes, n_nodes + 1))
        numbered.has_canonical_format = True  # no arc comes twice
        table = numbered.tocsr()
        table.sort_indices()
        order = table.data.astype(np.intp)  # as NumPy takes places
        slots = np.empty(2 * count + 1, dtype=np.intp)
        slots[order] = np.arange(len(order))
        return cls(Arcs(table.indptr, table.indices - 1), order, slots[:count])

    def laid_out(self, there: NDArray[Number], back: NDArray[Number]) -> NDArray[Number]:
        """Return what is told of links, both ways, arc by arc; 0 where there is room."""
        return np.concatenate((there, back, np.zeros(1, there.dtype))).take(self.order)
