"""Smallest Potts energies on graphs: a node's cost for its class plus the cost of cut edges.

Two classes are solved exactly by one minimum cut, more by alpha-expansion, each of whose
moves is again one minimum cut, and by those of two classes that could be better.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.region_graph import Edges

# SciPy's maximum flow counts in 32-bit integers: costs become multiples of a unit that
# keeps every sum of capacities below this.
_LARGEST_FLOW = 2**30
_FINEST_UNIT = 1e-4  # a pixel's costs are of the order of 1
_ROUNDS_OF_EXPANSION = 3  # at the most; a round that finds nothing is the last


def min_cut(
    preference: NDArray[np.float64],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    capacities: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Choose the set of nodes with the smallest cost.

    A node in the set costs ``-preference``, one outside nothing (both up to a constant), and
    an edge whose tail is inside and whose head is outside costs its capacity. Among equally
    good sets the smallest is taken, so that the answer does not depend on the solver.
    """
    n = len(preference)
    wanted, unwanted = np.flatnonzero(preference > 0), np.flatnonzero(preference < 0)
    if not wanted.size:
        return np.zeros(n, dtype=bool)
    if not unwanted.size:
        return np.ones(n, dtype=bool)
    source, sink = n, n + 1
    rows = np.concatenate((np.full(wanted.size, source), unwanted, tails))
    columns = np.concatenate((wanted, np.full(unwanted.size, sink), heads))
    costs = np.concatenate((preference[wanted], -preference[unwanted], capacities))
    unit = max(_FINEST_UNIT, float(costs.sum()) / _LARGEST_FLOW)
    counts = np.rint(costs / unit).astype(np.int32)
    graph = csr_array(
        coo_array(
            (counts, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n + 2, n + 2)
        )
    )
    rest = graph - maximum_flow(graph, source, sink).flow
    rest.data = np.maximum(rest.data, 0)
    rest.eliminate_zeros()
    inside = np.zeros(n + 2, dtype=bool)
    inside[breadth_first_order(rest, source, return_predecessors=False)] = True
    return inside[:n]


def energy(costs: NDArray[np.float64], edges: Edges, labels: NDArray[np.intp]) -> float:
    """Potts energy: the nodes' costs for their classes plus the weights of cut edges."""
    nodes = costs[np.arange(len(labels)), labels].sum()
    return float(nodes + edges.weight[labels[edges.u] != labels[edges.v]].sum())


def smallest_energy(costs: NDArray[np.float64], edges: Edges) -> NDArray[np.intp]:
    """Label nodes with a small Potts energy: the smallest for two classes.

    ``costs`` is nodes x classes. With more than two classes the answer cannot be improved by
    any expansion of one class unless the rounds were used up, and is never worse than the best
    with one or two of the classes alone.
    """
    n_classes = costs.shape[1]
    if n_classes == 1:
        return np.zeros(len(costs), dtype=np.intp)
    if n_classes == 2:
        tails, heads = np.concatenate((edges.u, edges.v)), np.concatenate((edges.v, edges.u))
        both_ways = np.concatenate((edges.weight, edges.weight))
        return min_cut(costs[:, 0] - costs[:, 1], tails, heads, both_ways).astype(np.intp)
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
    moved = min_cut(preference, edges.v, edges.u, only_u_moves + only_v_moves - both_stay)
    return np.where(moved, label, labels)
