"""Hash functions of the solver for large data: products with explicit features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from shlcore.row_blocks import row_blocks
from shlcore.slabs import RAW_BYTES, rows_per_block, slabs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.admm_solver import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Features, FileArrays, Floats, Table
    from shlcore.feature_map import FeatureMap
    from shlcore.scaling import Scaling


@dataclass(frozen=True, slots=True, eq=False)
class FeatureHash:
    """Hash functions on explicit features.

    Parameters
    ----------
    weights
        ``D x B``.
    intercepts
        ``(B,)``.
    """

    map: FeatureMap
    scaling: Scaling
    weights: Features
    intercepts: Array

    @classmethod
    def of(
        cls, map_: FeatureMap, scaling: Scaling, functions: Sequence[FeatureFunction]
    ) -> FeatureHash:
        """Gather functions that were learnt on the map's features of scaled rows."""
        weights = np.stack([function.weights for function in functions], axis=1)
        return cls(map_, scaling, weights, np.array([f.intercept for f in functions]))

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""
        return len(self.map.bank)

    def project(self, X: Table) -> Features:
        """Return f of rows in single precision; only blocks of X are ever in memory."""
        width = 4 * self.map.n_features + RAW_BYTES * X.shape[1]
        cut = slabs(X, np.arange(X.shape[0]), rows_per_block(width))
        found = row_blocks(cut).gather(_project, [None] * len(cut), self)
        return np.concatenate(found)

    def arrays(self) -> FileArrays:
        """Return what a file must hold."""
        return {
            **self.map.arrays(),
            "hash_weights": self.weights,
            "hash_intercepts": self.intercepts,
            **self.scaling.arrays(),
        }


def featurise(map_: FeatureMap, scaling: Scaling, rows: AnyArray) -> Features:
    """Return the features of rows as they come."""
    return map_.of(scaling.apply(checked(rows)))


def checked(rows: AnyArray) -> Floats:
    """Return rows as floating-point numbers, or refuse what is none."""
    numbers = cast("Floats", rows) if rows.dtype.kind == "f" else rows.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("X: wanted finite numbers, got NaN or infinity")
    return numbers


def feature_maker(map_: FeatureMap, scaling: Scaling) -> partial[Features]:
    """Return what turns rows into features, also in another process."""
    return partial(featurise, map_, scaling)


def _project(rows: AnyArray, _: None, hash_: FeatureHash) -> Features:
    features = featurise(hash_.map, hash_.scaling, rows)
    return features @ hash_.weights + hash_.intercepts.astype(np.float32)
