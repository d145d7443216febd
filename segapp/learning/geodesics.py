"""Distances between regions along the picture, dearer where the colours' meaning changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.region_graph import Edges

_LENGTH = 0.02
"""What a step of average length costs besides the change of likelihood, which is at most 1."""
_FARTHEST_APART = 9.0
"""What a step costs at the most for what a head sees: 3 times its deviation, squared."""
_FARTHEST = 1e6
"""A region that no path reaches (there is none in one picture) is equally far from all."""


@dataclass(frozen=True, slots=True, eq=False)
class Geodesics:
    """The regions that touch, with what a step from one to the other costs, either way."""

    steps: csr_array

    @classmethod
    def of(
        cls,
        edges: Edges,
        lengths: NDArray[np.float64],
        beliefs: NDArray[np.float64],
        apart: NDArray[np.float64] | None = None,
    ) -> Geodesics:
        """Make a step cost the change of belief and a little for its length.

        Parameters
        ----------
        edges, lengths
            Between regions that touch; the average length is 1.
        beliefs
            Regions x classes, how likely each class is by colour alone; rows sum to 1.
        apart
            How different the two ends of each edge are to a network's head.
        """
        n = len(beliefs)
        change = 0.5 * np.abs(beliefs[edges.u] - beliefs[edges.v]).sum(axis=1)
        costs = change + _LENGTH * lengths
        if apart is not None:
            costs += np.minimum(apart, _FARTHEST_APART)
        # Both ways, or SciPy would turn the steps round for each search.
        ends = np.concatenate((edges.u, edges.v)), np.concatenate((edges.v, edges.u))
        return cls(csr_array(coo_array((np.tile(costs, 2), ends), shape=(n, n))))

    def distances(self, regions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each region's distance to the nearest of some, of which there may be none."""
        if not len(regions):
            return np.full(self.steps.shape[0], _FARTHEST)
        found = dijkstra(self.steps, indices=regions, min_only=True)
        return np.asarray(np.minimum(found, _FARTHEST))
