"""Minimum cuts of Potts energies on graphs of regions and pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from segapp.engine.region_graph import AROUND, Arcs, Edges, LinkArcs

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Two classes are solved exactly by one minimum cut, more by alpha-expansion, each of whose
# moves is again one minimum cut, and by cuts between two classes that could be better.

# SciPy's maximum flow counts in 32-bit integers: costs become multiples of a unit that
# keeps every sum of capacities below this.
_LARGEST_FLOW = 2**30
_FINEST_UNIT = 1e-4  # a pixel's costs are of the order of 1
_EXPANSION_ROUNDS = 3  # at most; a round without improvement is the last


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Distinct pairs of nodes with their cut costs in both directions.

    Parameters
    ----------
    there, back
        Paid when the tail alone is in the set, and when the head alone is.
    arcs
        The pairs sorted by node, if they are known.
    """

    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    there: NDArray[np.float64]
    back: NDArray[np.float64]
    arcs: LinkArcs | None = None


def min_cut(
    preference: NDArray[np.float64], links: Links, flow: NDArray[np.float32] | None = None
) -> NDArray[np.bool_]:
    """Compute the set of nodes with the smallest cost.

    A node in the set costs ``-preference``, one outside nothing (both up to a constant), and
    links cost where they are cut. Among equally good sets the smallest is taken, so that the
    answer does not depend on the solver.

    ``flow`` is the solver's warm start, from tails to heads, and is overwritten by its final
    flow. Any flow is valid, and none changes the answer: the capacity it takes from a link in one
    direction it adds to the other, and the preferences of its ends make up for that. The flow of
    a similar problem saves nearly all the work.
    """
    arcs = links.arcs
    if arcs is None:
        arcs = LinkArcs.of(links.tails, links.heads, len(preference))
    sent = None if flow is None else arcs.per_arc(flow, -flow)
    costs = arcs.per_arc(links.there, links.back)
    reverse = costs if links.there is links.back else arcs.per_arc(links.back, links.there)
    inside = cut_arcs(preference, arcs.arcs, costs, sent, reverse)
    if flow is not None and sent is not None:
        sent.take(arcs.there, out=flow)
    return inside


def cut_arcs(
    preference: NDArray[np.float64],
    arcs: Arcs,
    costs: NDArray[np.float64],
    flow: NDArray[np.float32] | None = None,
    reverse: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Compute `min_cut` for the cost of, and the flow along, each arc.

    Both are 0 for spare arcs, and the flow back is minus the flow there. ``reverse`` is the cost
    of the reverse arcs, if that differs.
    """
    n = len(preference)
    if not (preference > 0).any():
        return np.zeros(n, dtype=bool)
    if not (preference < 0).any():
        return np.ones(n, dtype=bool)
    unit = max(_FINEST_UNIT, float(np.abs(preference).sum() + costs.sum()) / _LARGEST_FLOW)
    capacities = np.rint(costs / unit).astype(np.int32)
    surplus = np.rint(preference / unit).astype(np.int32)
    back = capacities
    if reverse is not None and reverse is not costs:
        back = np.rint(reverse / unit).astype(np.int32)
    if flow is None:
        return _solve(surplus, arcs, capacities, back)[0]
    sent = np.rint(flow / unit).astype(np.int32)
    np.maximum(np.minimum(sent, capacities, out=sent), -back, out=sent)
    surplus -= np.add.reduceat(sent, arcs.starts[:-1], dtype=np.int32)
    inside, more = _solve(surplus, arcs, capacities - sent, back + sent)
    flow[:] = (sent + more) * unit
    return inside


def _solve(
    surplus: NDArray[np.int32],
    arcs: Arcs,
    there: NDArray[np.int32],
    back: NDArray[np.int32],
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Return the smallest of the best sets, and the flow along the arcs.

    ``there`` and ``back`` are the capacities of each arc and of its reverse.
    """
    over = surplus > 0
    # The solver searches from the source for the sink repeatedly, over all that it can reach. So
    # it starts at the end with fewer nodes; from the other end, all flows are reversed.
    if 2 * np.count_nonzero(over) > np.count_nonzero(surplus):
        flow, used = _largest_flow(-surplus, arcs, back)
        np.negative(flow, out=flow)
    else:
        flow, used = _largest_flow(surplus, arcs, there)
    n, first = len(surplus), np.flatnonzero(over & (surplus > used))
    residual = np.flatnonzero(there > flow)
    heads = np.concatenate((first, arcs.heads.take(residual)), dtype=np.int32)
    heads += 1  # the source comes before all nodes
    starts = np.concatenate(([0], len(first) + residual.searchsorted(arcs.starts)), dtype=np.int32)
    rest = csr_array((np.ones(len(heads)), heads, starts), shape=(n + 1, n + 1))
    inside = np.zeros(n + 1, dtype=bool)
    inside[breadth_first_order(rest, 0, return_predecessors=False)] = True
    return inside[1:], flow


def _largest_flow(
    surplus: NDArray[np.int32], arcs: Arcs, capacities: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the flow along the arcs, and how much comes from or goes to each node.

    Every arc comes with its reverse and rows are sorted, as SciPy's solver expects: it then adds
    nothing, and its flows are in the order of these arcs. The sink comes before the source, and
    both before all nodes, so that the spare arc of a node leads to either, and paths end there at
    once instead of trying all other arcs before.
    """
    n, sink, source = len(surplus), 0, 1
    over = surplus > 0
    short = np.flatnonzero(~over)
    spare = n + arcs.starts[:-1]
    starts = np.concatenate(([0, len(short)], n + arcs.starts), dtype=np.int32)
    heads = np.concatenate((short, np.flatnonzero(over), arcs.heads), dtype=np.int32)
    heads += 2
    heads[spare] = over
    left = np.concatenate((0 * short, surplus[over], capacities), dtype=np.int32)
    left[spare] = np.maximum(-surplus, 0)
    network = csr_array((left, heads, starts), shape=(n + 2, n + 2))
    network.has_sorted_indices = network.has_canonical_format = True
    flow = maximum_flow(network, source, sink).flow.data
    used = np.abs(flow[spare])
    flow[spare] = 0
    return flow[n:], used


def energy(costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp]) -> float:
    """Compute the Potts energy: the nodes' costs for their classes plus the cut edges."""
    nodes = costs[np.arange(len(labels)), labels].sum()
    return float(nodes + edges.weight[labels[edges.u] != labels[edges.v]].sum())


def minimise_energy(
    costs: NDArray[np.float64], edges: Edges, flow: NDArray[np.float32] | None = None
) -> NDArray[np.intp]:
    """Label nodes with a small Potts energy: the smallest for two classes.

    ``costs`` is nodes x classes. With more than two classes the answer cannot be improved by
    any expansion of one class unless the rounds were used up, and is never worse than the best
    with one or two of the classes alone. ``flow`` along the edges is for two: see `min_cut`.
    """
    n_classes = costs.shape[1]
    if n_classes == 1:
        return np.zeros(len(costs), dtype=np.intp)
    if n_classes == 2:
        links = Links(edges.u, edges.v, edges.weight, edges.weight, edges.arcs)
        return min_cut(costs[:, 0] - costs[:, 1], links, flow).astype(np.intp)
    if edges.arcs is None:
        edges = replace(edges, arcs=LinkArcs.of(edges.u, edges.v, len(costs)))
    labels = _alpha_expansion(costs, edges, costs.argmin(axis=1))
    for pair in combinations(range(n_classes), 2):
        two = costs[:, pair]
        # Without the cost of any edge: mostly too much already, and no cut is needed.
        if two.min(axis=1).sum() < energy(costs, edges, labels):
            cut = np.array(pair)[minimise_energy(two, edges)]
            if energy(costs, edges, cut) < energy(costs, edges, labels):
                labels = _alpha_expansion(costs, edges, cut)
    return labels


def _alpha_expansion(
    costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Expand one class after the other as long as the energy falls."""
    best = energy(costs, edges, labels)
    for _ in range(_EXPANSION_ROUNDS):
        before = best
        for label in range(costs.shape[1]):
            candidate = _expand(costs, edges, labels, label)
            value = energy(costs, edges, candidate)
            if value < best:
                labels, best = candidate, value
        if best >= before - 1e-9 * (1.0 + abs(before)):
            break
    return labels


def _expand(
    costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp], label: int
) -> NDArray[np.intp]:
    """Move the best set of nodes to one class."""
    now_u, now_v = labels[edges.u], labels[edges.v]
    both_stay = edges.weight * (now_u != now_v)
    only_u_moves = edges.weight * (now_v != label)
    only_v_moves = edges.weight * (now_u != label)
    # E(xu, xv) = c + (only_u - both) xu - only_u xv + (only_u + only_v - both) (1 - xu) xv
    preference = costs[np.arange(len(labels)), labels] - costs[:, label]
    preference = preference - np.bincount(edges.u, only_u_moves - both_stay, minlength=len(labels))
    preference += np.bincount(edges.v, only_u_moves, minlength=len(labels))
    v_alone = only_u_moves + only_v_moves - both_stay
    links = Links(edges.u, edges.v, np.zeros_like(v_alone), v_alone, edges.arcs)
    moved = min_cut(preference, links)
    return np.where(moved, label, labels)


# Values of pairs of neighbours are stored by pixel, ``pixels x 9``: of the pixel with itself (the
# spare arc) and with its neighbours in the order of rows. That is the order in which a solver
# reads arcs, and the values of one pixel are adjacent in memory.

_NEIGHBOURHOOD = len(AROUND)
_FORWARD = range(1 + _NEIGHBOURHOOD // 2, _NEIGHBOURHOOD)
"""The neighbours that come later: each pair once."""


@dataclass(frozen=True, slots=True, eq=False)
class PixelGraph:
    """The graph of some pixels of an image and of their fixed neighbours.

    Parameters
    ----------
    indices
        Of the pixels, counted row by row.
    around
        The node around each pixel in each direction, -1 where there is none.
    weights
        Pairwise weights, shaped alike.
    order
        The entries of these tables that are arcs, pixel by pixel. The first of a pixel is that to
        itself, the spare arc.
    fixed
        Pixels with neighbours that are no nodes, the indices of those, and their weights.
    """

    indices: NDArray[np.intp]
    around: NDArray[np.int32]
    weights: NDArray[np.float32]
    order: NDArray[np.intp]
    fixed: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]

    @classmethod
    def of(
        cls,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        shape: tuple[int, int],
        pixel_weights: NDArray[np.float32],
        smoothness: float,
    ) -> Self:
        """Build the graph of some pixels of an image, in the order of rows."""
        indices = rows * shape[1] + columns
        weights = pixel_weights.take(indices, axis=0)
        weights *= np.float32(smoothness)
        wide, above = shape[1] + 2, rows[0] - 1  # with a frame: no node is beyond the image
        framed = (rows - above) * wide + columns + 1
        node = np.full((rows[-1] - above + 2) * wide, -1, dtype=np.int32)
        node[framed] = np.arange(len(framed))
        around: NDArray[np.int32] = node.take(framed[:, None] + _offsets(wide))
        present = around >= 0
        # Neighbours beyond the image have no weight.
        beside = np.flatnonzero((weights > 0) & ~present)
        here, direction = np.divmod(beside, _NEIGHBOURHOOD)
        near = indices.take(here) + _offsets(shape[1]).take(direction)
        fixed = here, near, weights.take(beside)
        return cls(indices, around, weights, np.flatnonzero(present), fixed)

    def arcs(self) -> Arcs:
        """Return the arcs, pixel by pixel."""
        ends = np.cumsum(self.around >= 0, dtype=np.int32)[_NEIGHBOURHOOD - 1 :: _NEIGHBOURHOOD]
        starts = np.concatenate((np.zeros(1, np.int32), ends))
        return Arcs(starts, self.around.take(self.order))

    def cut(
        self, preference: NDArray[np.float64], flows: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """Compute `cut_arcs` from, and into, the ``flows`` from all pixels of the image."""
        costs = self.weights.take(self.order).astype(np.float64)
        table = flows.take(self.indices, axis=0)
        flow = table.take(self.order)
        inside = cut_arcs(preference, self.arcs(), costs, flow)
        table.reshape(-1)[self.order] = flow
        flows[self.indices] = table
        return inside

    def edges(self) -> Edges:
        """Return the pairs as edges, direction by direction."""
        parts = []
        for direction in _FORWARD:
            here = np.flatnonzero(self.around[:, direction] >= 0)
            parts.append((here, self.around[here, direction], self.weights[here, direction]))
        tails, heads, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Edges(tails.astype(np.int32), heads, weights.astype(np.float64))


def _offsets(width: int) -> NDArray[np.intp]:
    """Return the distance from a pixel to those `AROUND` it, counted row by row."""
    return np.array([down * width + right for down, right in AROUND])
