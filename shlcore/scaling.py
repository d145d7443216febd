"""How columns are brought to one scale before kernels compare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SCALES = ("minmax", "standard", None)


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """``(x - offsets) * factors``, column by column."""

    offsets: Array
    factors: Array

    def apply(self, X: Array) -> Array:
        """Scale rows."""
        return (X - self.offsets) * self.factors


def learn_scaling(scale: str | None, X: Array, weights: Array) -> Scaling:
    """Learn a scaling from weighted rows: to [0, 1], to mean 0 and deviation 1, or none.

    Weights count as repetitions do. A constant column is only moved.
    """
    if scale is None:
        return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    if scale == "minmax":
        offsets = X.min(axis=0)
        widths = X.max(axis=0) - offsets
    else:
        offsets = np.average(X, axis=0, weights=weights)
        widths = np.sqrt(np.average((X - offsets) ** 2, axis=0, weights=weights))
    usable = widths > 10 * np.finfo(float).eps * np.maximum(1.0, np.abs(offsets))
    return Scaling(offsets, 1.0 / np.where(usable, widths, 1.0))
