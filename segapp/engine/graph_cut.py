"""Minimum cuts of Potts energies on graphs of regions and pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from segapp.engine.region_graph import AROUND, Arcs, Edges, LinkArcs

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Two classes are solved exactly by one minimum cut, more by alpha-expansion, each of whose
# moves is again one minimum cut, and by those of two classes that could be better.

# SciPy's maximum flow counts in 32-bit integers: costs become multiples of a unit that
# keeps every sum of capacities below this.
_LARGEST_FLOW = 2**30
_FINEST_UNIT = 1e-4  # a pixel's costs are of the order of 1
_ROUNDS_OF_EXPANSION = 3  # at the most; a round that finds nothing is the last


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs of nodes, none of them twice, with what it costs to part them either way.

    Parameters
    ----------
    there, back
        Paid when the tail alone is in the set, and when the head alone is.
    arcs
        The pairs, node by node, if somebody keeps that.
    """

    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    there: NDArray[np.float64]
    back: NDArray[np.float64]
    arcs: LinkArcs | None = None


def min_cut(
    preference: NDArray[np.float64], links: Links, flow: NDArray[np.float32] | None = None
) -> NDArray[np.bool_]:
    """Choose the set of nodes with the smallest cost.

    A node in the set costs ``-preference``, one outside nothing (both up to a constant), and
    links cost where they are cut. Among equally good sets the smallest is taken, so that the
    answer does not depend on the solver.

    ``flow`` is what the solver shall begin with, from tails to heads, and becomes what it ends
    with. Any flow is a start, and none changes the answer: what it takes from a link one way it
    adds to the other, and its ends' preferences make up for that. That of a like problem is
    nearly the whole work.
    """
    arcs = links.arcs
    if arcs is None:
        arcs = LinkArcs.of(links.tails, links.heads, len(preference))
    sent = None if flow is None else arcs.laid_out(flow, -flow)
    costs = arcs.laid_out(links.there, links.back)
    against = costs if links.there is links.back else arcs.laid_out(links.back, links.there)
    inside = cut_arcs(preference, arcs.arcs, costs, sent, against)
    if flow is not None and sent is not None:
        sent.take(arcs.there, out=flow)
    return inside


def cut_arcs(
    preference: NDArray[np.float64],
    arcs: Arcs,
    costs: NDArray[np.float64],
    flow: NDArray[np.float32] | None = None,
    against: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Do what `min_cut` does, given what each arc costs and what flows along it.

    Both are 0 where there is room, and the flow back is minus the flow there. ``against`` is
    what the ways back cost, if that is not the same.
    """
    n = len(preference)
    if not (preference > 0).any():
        return np.zeros(n, dtype=bool)
    if not (preference < 0).any():
        return np.ones(n, dtype=bool)
    unit = max(_FINEST_UNIT, float(np.abs(preference).sum() + costs.sum()) / _LARGEST_FLOW)
    capacities, surplus = (np.rint(part / unit).astype(np.int32) for part in (costs, preference))
    back = capacities
    if against is not None and against is not costs:
        back = np.rint(against / unit).astype(np.int32)
    if flow is None:
        return _solved(surplus, arcs, capacities, back)[0]
    sent = np.rint(flow / unit).astype(np.int32)
    np.maximum(np.minimum(sent, capacities, out=sent), -back, out=sent)
    surplus -= np.add.reduceat(sent, arcs.starts[:-1], dtype=np.int32)
    inside, more = _solved(surplus, arcs, capacities - sent, back + sent)
    flow[:] = (sent + more) * unit
    return inside


def _solved(
    surplus: NDArray[np.int32],
    arcs: Arcs,
    there: NDArray[np.int32],
    back: NDArray[np.int32],
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Return the smallest of the best sets, and the flow along the arcs.

    What fits through an arc is given ``there`` and, through its way ``back``, likewise.
    """
    over = surplus > 0
    # The solver looks from the source for the sink again and again, over all that it can reach.
    # So it begins where there are fewer nodes; from the other end, all goes the other way.
    if 2 * np.count_nonzero(over) > np.count_nonzero(surplus):
        flow, used = _largest_flow(-surplus, arcs, back)
        np.negative(flow, out=flow)
    else:
        flow, used = _largest_flow(surplus, arcs, there)
    n, first = len(surplus), np.flatnonzero(over & (surplus > used))
    some = np.flatnonzero(there > flow)
    heads = np.concatenate((first, arcs.heads.take(some)), dtype=np.int32)
    heads += 1  # the source comes before all nodes
    starts = np.concatenate(([0], len(first) + some.searchsorted(arcs.starts)), dtype=np.int32)
    rest = csr_array((np.ones(len(heads)), heads, starts), shape=(n + 1, n + 1))
    inside = np.zeros(n + 1, dtype=bool)
    inside[breadth_first_order(rest, 0, return_predecessors=False)] = True
    return inside[1:], flow


def _largest_flow(
    surplus: NDArray[np.int32], arcs: Arcs, capacities: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the flow along the arcs, and how much comes from or goes to each node.

    Every arc comes with its reverse and rows are sorted, as SciPy's solver wants them: it then
    adds nothing, and its flows are in the order of these arcs. The sink comes before the source,
    and both before all nodes, so that what ties a node to either is where there is room, and
    paths end there at once instead of trying all other arcs before.
    """
    n, sink, source = len(surplus), 0, 1
    over = surplus > 0
    short = np.flatnonzero(~over)
    room = n + arcs.starts[:-1]
    starts = np.concatenate(([0, len(short)], n + arcs.starts), dtype=np.int32)
    heads = np.concatenate((short, np.flatnonzero(over), arcs.heads), dtype=np.int32)
    heads += 2
    heads[room] = over
    left = np.concatenate((0 * short, surplus[over], capacities), dtype=np.int32)
    left[room] = np.maximum(-surplus, 0)
    network = csr_array((left, heads, starts), shape=(n + 2, n + 2))
    network.has_sorted_indices = network.has_canonical_format = True
    flow = maximum_flow(network, source, sink).flow.data
    used = np.abs(flow[room])
    flow[room] = 0
    return flow[n:], used


def energy(costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp]) -> float:
    """Potts energy: the nodes' costs for their classes plus the weights of cut edges."""
    nodes = costs[np.arange(len(labels)), labels].sum()
    return float(nodes + edges.weight[labels[edges.u] != labels[edges.v]].sum())


def smallest_energy(
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
    labels = _by_expansion(costs, edges, costs.argmin(axis=1))
    for pair in combinations(range(n_classes), 2):
        two = costs[:, pair]
        # Without the cost of any edge: mostly too much already, and nothing need be cut.
        if two.min(axis=1).sum() < energy(costs, edges, labels):
            cut = np.array(pair)[smallest_energy(two, edges)]
            if energy(costs, edges, cut) < energy(costs, edges, labels):
                labels = _by_expansion(costs, edges, cut)
    return labels


def _by_expansion(
    costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Expand one class after the other as long as the energy falls."""
    best = energy(costs, edges, labels)
    for _ in range(_ROUNDS_OF_EXPANSION):
        before = best
        for label in range(costs.shape[1]):
            candidate = _expanded(costs, edges, labels, label)
            value = energy(costs, edges, candidate)
            if value < best:
                labels, best = candidate, value
        if best >= before - 1e-9 * (1.0 + abs(before)):
            break
    return labels


def _expanded(
    costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp], label: int
) -> NDArray[np.intp]:
    """Let any set of nodes change to one class, the best such set."""
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


# Whatever is told of pairs of neighbours is told pixel by pixel, ``pixels x 9``: of the pixel
# with itself, for which there is nothing to tell, and with those around it in the order of rows.
# That is the order in which a solver reads arcs, and what belongs to one pixel is in one place.

if TYPE_CHECKING:
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
