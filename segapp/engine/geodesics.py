"""Geodesic distances between regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.engine.region_graph import Edges

_LARGEST_FEATURE_COST = 9.0
"""Largest cost of a step for encoder features: 3 times their deviation, squared."""
_UNREACHABLE = 1e6
"""Distance of a region without a path to it (an image has none)."""


@dataclass(frozen=True, slots=True, eq=False)
class Geodesics:
    """Step costs between regions that touch, in both directions."""

    steps: csr_array

    @classmethod
    def of(
        cls,
        edges: Edges,
        steps: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        feature_distances: NDArray[np.float64] | None = None,
    ) -> Geodesics:
        """Add the change of class probabilities to the cost of each step.

        Parameters
        ----------
        edges, steps
            Between regions that touch, with their own costs (`RegionGraph.steps`).
        probabilities
            Regions x classes, from local features alone; rows sum to 1.
        feature_distances
            Squared distance of encoder features along each edge.
        """
        n = len(probabilities)
        change = 0.5 * np.abs(probabilities[edges.u] - probabilities[edges.v]).sum(axis=1)
        costs = change + steps
        if feature_distances is not None:
            costs += np.minimum(feature_distances, _LARGEST_FEATURE_COST)
        # Both directions, or SciPy would transpose the graph for each search.
        ends = np.concatenate((edges.u, edges.v)), np.concatenate((edges.v, edges.u))
        return cls(csr_array(coo_array((np.tile(costs, 2), ends), shape=(n, n))))

    def distances(self, sources: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each region's distance to the nearest source, of which there may be none."""
        if not len(sources):
            return np.full(self.steps.shape[0], _UNREACHABLE)
        distances = dijkstra(self.steps, indices=sources, min_only=True)
        return np.asarray(np.minimum(distances, _UNREACHABLE))


def nearness(geodesics: Geodesics, sources: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return the share of each class in a region's nearness to all strokes.

    The nearness to a class is one over the distance to the nearest of its ``sources``, the
    regions labelled so. Each row sums to 1: at a stroke of a class that class has all of it.
    """
    distances = np.stack([geodesics.distances(regions) for regions in sources], axis=1)
    closeness = 1.0 / np.maximum(distances, 1e-9)
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))
