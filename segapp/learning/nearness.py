"""How near a region is to the strokes of each class, going through regions of like colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.picture.region_graph import Edges

_LENGTH = 0.02
"""What a step of average length costs besides the change of likelihood, which is at most 1."""


def nearness(
    edges: Edges,
    lengths: NDArray[np.float64],
    beliefs: NDArray[np.float64],
    sources: Sequence[NDArray[np.intp]],
) -> NDArray[np.float64]:
    """Share of each class in the nearness of a region to all strokes, regions x classes.

    A path costs the change of belief along it and a little for its length; the nearness to a
    class is one over the cost of the cheapest path to a region that is labelled so. Each row
    sums to 1: at a stroke of a class that class has all of it.

    Parameters
    ----------
    edges
        Between regions that touch.
    lengths
        Of the edges, the average being 1.
    beliefs
        Regions x classes, how likely each class is by colour alone; rows sum to 1.
    sources
        For each class the regions under its strokes, at least one.
    """
    n = len(beliefs)
    change = 0.5 * np.abs(beliefs[edges.u] - beliefs[edges.v]).sum(axis=1)
    costs = change + _LENGTH * lengths
    graph = csr_array(
        coo_array((costs, (edges.u.astype(np.int32), edges.v.astype(np.int32))), shape=(n, n))
    )
    distances = np.stack(
        [dijkstra(graph, directed=False, indices=regions, min_only=True) for regions in sources],
        axis=1,
    )
    # A region that no path reaches (there is none in one picture) is equally far from all.
    distances = np.minimum(distances, 1e6)
    closeness = 1.0 / np.maximum(distances, 1e-9)
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))
