"""Scaling of columns to a common range, also from summaries of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.array_types import Array, FileArrays, Floats


SCALES = ("minmax", "standard", None)


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The affine map ``(x - offsets) * factors`` of each column."""

    offsets: Array
    factors: Array

    def apply(self, X: Floats) -> Array:
        """Scale rows."""
        return (X - self.offsets) * self.factors

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds."""
        return {"offsets": self.offsets, "factors": self.factors}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSummary:
    """Weighted moments and range of each column.

    Parameters
    ----------
    weight
        Sum of the rows' weights.
    mean, scatter
        Weighted mean, and weighted sum of squared deviations from it.
    low, high
        Smallest and largest value.
    """

    weight: float
    mean: Array
    scatter: Array
    low: Array
    high: Array


def summarise(X: Array, weights: Array) -> ColumnSummary:
    """Summarise rows; a weight of 2 counts like two equal rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # the range does not need them
        mean = np.average(X, axis=0, weights=weights)
        scatter = weights @ (X - mean) ** 2
    return ColumnSummary(float(weights.sum()), mean, scatter, X.min(axis=0), X.max(axis=0))


def merge(parts: Sequence[ColumnSummary]) -> ColumnSummary:
    """Merge the summaries of several parts into that of all their rows."""
    if len(parts) == 1:
        return parts[0]
    shares = np.array([part.weight for part in parts])
    means = np.stack([part.mean for part in parts])
    mean = np.average(means, axis=0, weights=shares)
    scatter = np.sum([part.scatter for part in parts], axis=0) + shares @ (means - mean) ** 2
    low = np.min([part.low for part in parts], axis=0)
    high = np.max([part.high for part in parts], axis=0)
    return ColumnSummary(float(shares.sum()), mean, scatter, low, high)


def unscaled(n_columns: int) -> Scaling:
    """Return the identity."""
    return Scaling(np.zeros(n_columns), np.ones(n_columns))


def learn_scaling(scale: str | None, summary: ColumnSummary) -> Scaling:
    """Learn a scaling: to [0, 1], to mean 0 and standard deviation 1, or none.

    A constant column is shifted and not stretched.
    """
    scaling = _scaling(scale, summary)
    with np.errstate(over="ignore", invalid="ignore"):
        width = float(((summary.high - summary.low) * scaling.factors).max())
    if scale == "standard" and not np.isfinite(summary.scatter).all():
        width = np.inf
    if width and not _LEAST_WIDTH < width < 1.0 / _LEAST_WIDTH:
        raise ValueError(
            f"X: wanted columns whose distances have finite squares above 0, got a largest range "
            f"of {width:.1e}; scale='minmax' helps"
        )
    return scaling


_LEAST_WIDTH = 1e-150
"""Smallest range of a column whose square is above 0."""


def _scaling(scale: str | None, summary: ColumnSummary) -> Scaling:
    if scale is None:
        return unscaled(len(summary.mean))
    if scale == "minmax":
        offsets, widths = summary.low, summary.high - summary.low
    else:
        offsets, widths = summary.mean, np.sqrt(summary.scatter / summary.weight)
    # A width of the order of rounding errors means that the column is constant: errors of its own
    # values, or of values of size 1, unless all columns are smaller.
    largest = max(float(np.abs([summary.low, summary.high]).max()), np.finfo(float).tiny)
    usable = widths > 10 * np.finfo(float).eps * np.maximum(min(1.0, largest), np.abs(offsets))
    usable &= widths >= np.finfo(float).tiny  # 1 / width would be infinite
    return Scaling(offsets, 1.0 / np.where(usable, widths, 1.0))
