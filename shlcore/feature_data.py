"""What the solver for large data works on: explicit features of the rows, block by block.

@@@
Hash functions of the solver for large data: products with explicit features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from shlcore.admm import FeatureFunction, FeatureMachine
from shlcore.clustering import WeightedRows, assign_balanced, kernel_clusters
from shlcore.kernels import compared_distances
from shlcore.parameters import bytes_of
from shlcore.random_features import draw_map
from shlcore.row_blocks import RAW_BYTES, row_blocks, rows_per_block, slabs
from shlcore.samples import SampleRows, ScaledRows
from shlcore.scaling import ColumnSummary, learn_scaling, merge, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.admm import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Features, FileArrays, Floats, Indices, Table
    from shlcore.parameters import Parameters
    from shlcore.random_features import FeatureMap
    from shlcore.row_blocks import Blocks
    from shlcore.samples import Rows, SeenColumns
    from shlcore.scaling import Scaling


_LEAST_ROWS = 64
"""Rows of a block, however wide: fewer would leave matrix products to calls that cost more."""

_SAMPLE = 1000
"""Rows that stand for all where kernel matrices among rows are needed (clusters, and the
judgement of kernels in `shlcore.random_features`): such a matrix takes 8 MB, and means over
its million pairs are known to about three digits."""

_RESIDUAL_SHARE = 0.1
"""Of the tolerance for eq. (6): ADMM's residuals must be smaller. On 1500 rows of usps and of
pendigits a share of 1 leaves eq. (6) up to 0.3 % higher and changes one prediction in 1500;
0.03 costs a quarter more sweeps and changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """The rows' features and how they are made."""

    blocks: Blocks[Features]
    map: FeatureMap
    scaling: Scaling

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""
        return len(self.map.bank)

    def machine(self, tol: float, n_jobs: int) -> FeatureMachine:  # noqa: ARG002
        """Return what solves block 1, on all cores in any case."""
        return FeatureMachine(self.blocks, self.map, _RESIDUAL_SHARE * tol)

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters: those of a sample, then each row to its nearest mean."""
        rows = some.rows
        chosen = np.sort(rng.choice(rows, min(len(rows), _SAMPLE), replace=False))
        picked = self.blocks.gather(_pick, _split(chosen, self.blocks.sizes), None)
        features = np.concatenate(picked).astype(np.float64)
        share = some.weights[np.searchsorted(rows, chosen)]
        found = kernel_clusters(features @ features.T, share, count, rng)
        members = (found == c for c in range(count))
        means = np.stack([np.average(features[own], 0, share[own]) for own in members])
        distances = self.blocks.gather(_distances, _split(rows, self.blocks.sizes), means)
        return assign_balanced(np.concatenate(distances), some.weights)

    def graph(self) -> None:
        """Tie no rows: every pair of them would have to be compared."""

    def held_out(
        self,
        functions: Sequence[FeatureFunction],
        projections: Floats,  # noqa: ARG002
        costs: Array,  # noqa: ARG002
    ) -> Features:
        """Return f of each row without the slack that is the row's own.

        What the row did for the weights of thousands of features stays in: that is little where
        rows are many more than features.
        """
        hash_ = self.hash_of(functions)
        linear = hash_.weights, hash_.intercepts
        found = self.blocks.gather(_linear, [None] * len(self.blocks.sizes), linear)
        return np.concatenate(found)

    def hash_of(self, functions: Sequence[FeatureFunction]) -> FeatureHash:
        """Make learnt functions ready for further samples."""
        return FeatureHash.of(self.map, self.scaling, functions)


def feature_space(
    X: Table,
    rows: Rows,
    seen: tuple[SeenColumns, Indices],
    parameters: Parameters,
    rng: np.random.Generator,
) -> FeatureSpace:
    """Learn the scaling, draw the map, and lay out the features, in two passes over X.

    ``seen`` says what the columns are, and by which samples they are brought to one scale.
    """
    columns, samples = seen
    n_components = int(parameters.n_components)
    size = rows_per_block(4 * n_components + RAW_BYTES * X.shape[1], _LEAST_ROWS)
    raw = row_blocks(slabs(X, rows.first, size))
    # Rows that take no part (inductive learning) count for the scale all the same.
    alike = len(samples) == len(rows.first)
    whole = raw if alike else row_blocks(slabs(X, samples, size))
    counts = rows.weights if alike else np.ones(len(samples))
    weights = np.split(counts, np.cumsum(whole.sizes)[:-1])
    scaling = learn_scaling(parameters.scale, merge(whole.gather(_summary, weights, None)))
    n_rows = len(rows.first)
    count = min(n_rows, _SAMPLE + n_components)
    chosen = np.sort(rng.choice(n_rows, count, replace=False))
    sample = np.concatenate(raw.gather(_pick, _split(chosen, raw.sizes), None))
    mixed = rng.permutation(checked(sample))
    scaled = scaling.apply(mixed)
    bank = parameters.bank(columns, ScaledRows(SampleRows(mixed), np.arange(count), scaling))
    map_ = draw_map(bank, scaled, n_rows, n_components, parameters.features, rng)
    # The ridge regression needs four matrices of this width in double precision.
    budget = int(max(0, bytes_of(parameters.memory) - 32 * map_.n_features**2))
    blocks = raw.with_features(feature_maker(map_, scaling), map_.n_features, budget)
    return FeatureSpace(blocks, map_, scaling)


def _split(rows: Indices, sizes: list[int]) -> list[Indices]:
    """Split ascending row numbers by block, each counted within its block."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    return [part - start for part, start in zip(parts, starts[:-1], strict=True)]


def _summary(rows: AnyArray, weights: Array, _: None) -> ColumnSummary:
    return summarise(checked(rows).astype(np.float64), weights)


def _linear(features: Features, _: None, linear: tuple[Features, Array]) -> Features:
    weights, intercepts = linear
    return features @ weights + intercepts.astype(np.float32)


def _pick(rows: AnyArray, chosen: Indices, _: None) -> AnyArray:
    return rows[chosen]


def _distances(features: Features, rows: Indices, means: Array) -> Array:
    """Return squared distances to the means, less what is the same for all of them."""
    return compared_distances(features[rows] @ means.T, (means**2).sum(axis=1))


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
