"""How well a colour fits the strokes of each class: smoothed histograms of their colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.picture.colour_bins import LEVELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.prototypes import Prototypes

_SMOOTHING = 1.5
_FLOOR = 1e-5
LARGEST_COST = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class ColourLikelihood:
    """Costs of the classes in each histogram bin, ``bins x classes``.

    The likeliest class costs nothing, another the logarithm of how much likelier the best
    one is, at the most `LARGEST_COST`: strokes never show all the colours of a class.
    """

    costs: NDArray[np.float32]

    @classmethod
    def of_strokes(
        cls, bins: NDArray[np.int32], marked: NDArray[np.int16], classes: NDArray[np.intp]
    ) -> ColourLikelihood:
        """Learn from the marked pixels of the classes, each of which must have some."""
        logarithms = np.empty((LEVELS**3, len(classes)), dtype=np.float32)
        for column, label in enumerate(classes):
            counts = np.bincount(bins[marked == label], minlength=LEVELS**3)
            cube = counts.astype(np.float32).reshape(LEVELS, LEVELS, LEVELS)
            density = ndimage.gaussian_filter(cube, _SMOOTHING, truncate=3.0).ravel()
            logarithms[:, column] = np.log(density / density.sum() + _FLOOR)
        below_best = logarithms.max(axis=1, keepdims=True) - logarithms
        return cls(np.minimum(below_best, LARGEST_COST))

    def mean_costs(self, bins: NDArray[np.int32], prototypes: Prototypes) -> NDArray[np.float64]:
        """Return the average costs of the classes in each prototype."""
        index, n = prototypes.index_map.ravel(), len(prototypes)
        sums = [np.bincount(index, column[bins].ravel(), minlength=n) for column in self.costs.T]
        return np.stack(sums, axis=1) / prototypes.sizes[:, None]


def beliefs(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn costs of classes into how likely they are; each row sums to 1."""
    likely = np.exp(costs.min(axis=1, keepdims=True) - costs)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))
