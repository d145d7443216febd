"""Explicit features of the training rows, and hash functions on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from shlcore.admm import AdmmSolver, FeatureFunction
from shlcore.clustering import WeightedRows, assign_balanced, kernel_clusters
from shlcore.kernels import relative_squared_distances
from shlcore.parameters import bytes_of
from shlcore.random_features import draw_map
from shlcore.row_blocks import RAW_BYTES, row_blocks, row_chunks, rows_per_block
from shlcore.samples import SampleRows, ScaledRows
from shlcore.scaling import ColumnSummary, learn_scaling, merge, summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shlcore.admm import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Features, FileArrays, Floats, Indices, Table
    from shlcore.kernels import KernelBank
    from shlcore.parameters import Parameters
    from shlcore.random_features import FeatureMap
    from shlcore.row_blocks import Blocks
    from shlcore.samples import ColumnInfo, Rows
    from shlcore.scaling import Scaling
    from shlcore.selection import Choice

    Selector = Callable[
        [Sequence[KernelBank], ScaledRows, Indices, Array], tuple[KernelBank, Choice | None]
    ]
    """Selects kernels for rows with their labels and weights."""


_MIN_ROWS = 64
"""Minimum rows of a block, because matrix products of fewer rows are inefficient."""

_SAMPLE = 1000
"""Sampled rows for kernel matrices among rows (clusters, and the choice of kernels in
`shlcore.random_features`): such a matrix takes 8 MB, and means over its million pairs are accurate
to about three digits."""

_LANDMARK_RESIDUAL = 0.01
"""Residual below which a row is a landmark, as a share of the largest residual."""

_RESIDUAL_SHARE = 0.1
"""Tolerance of ADMM's residuals, as a share of that of eq. (6). On 1500 rows of usps and of
pendigits a share of 1 leaves eq. (6) up to 0.3 % higher and changes one prediction in 1500;
0.03 costs a quarter more sweeps and changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureData:
    """Training rows as blocks of explicit features, with their map and scaling."""

    blocks: Blocks[Features]
    map: FeatureMap
    scaling: Scaling

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.map.bank)

    def bit_solver(self, tol: float, n_jobs: int) -> AdmmSolver:  # noqa: ARG002
        """Return the solver of block 1, which uses all cores."""
        return AdmmSolver(self.blocks, self.map, _RESIDUAL_SHARE * tol)

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters: k-means of a sample, then the nearest mean."""
        rows = some.rows
        chosen = np.sort(rng.choice(rows, min(len(rows), _SAMPLE), replace=False))
        sample = self.blocks.map(_select_rows, _split(chosen, self.blocks.sizes), None)
        features = np.concatenate(sample).astype(np.float64)
        share = some.weights[np.searchsorted(rows, chosen)]
        clusters = kernel_clusters(features @ features.T, share, count, rng)
        members = (clusters == c for c in range(count))
        means = np.stack([np.average(features[own], 0, share[own]) for own in members])
        distances = self.blocks.map(_distances, _split(rows, self.blocks.sizes), means)
        return assign_balanced(np.concatenate(distances), some.weights)

    def neighbour_graph(self) -> None:
        """Return None, because a graph would need the distances of all pairs of rows."""

    def held_out_projections(
        self,
        functions: Sequence[FeatureFunction],
        projections: Floats,  # noqa: ARG002
        costs: Array,  # noqa: ARG002
    ) -> Features:
        """Return f of each row without its slack.

        The row's influence on the weights of the features remains, which is small where rows are
        many more than features.
        """
        hash_ = self.hash_of(functions)
        linear = hash_.weights, hash_.intercepts
        parts = self.blocks.map(_linear, [None] * len(self.blocks.sizes), linear)
        return np.concatenate(parts)

    def residuals(self, functions: Sequence[FeatureFunction]) -> Array:
        """Return the share of each row that the features do not explain.

        Landmarks explain themselves, which says nothing about new rows: they get the median of
        the others.
        """
        hash_ = self.hash_of(functions)
        parts = self.blocks.map(_feature_residuals, [None] * len(self.blocks.sizes), hash_)
        left = np.concatenate(parts)
        others = left > _LANDMARK_RESIDUAL * left.max()
        return np.where(others, left, np.median(left[others]) if others.any() else 0.0)

    def hash_of(self, functions: Sequence[FeatureFunction]) -> FeatureHash:
        """Return the hash functions for further samples."""
        return FeatureHash.from_functions(self.map, self.scaling, functions)


def prepare_feature_data(
    X: Table,
    rows: Rows,
    scaling_info: tuple[ColumnInfo, Indices],
    parameters: Parameters,
    rng: np.random.Generator,
    select: Selector,
) -> tuple[FeatureData, Choice | None]:
    """Learn the scaling, draw the map and compute the features, in two passes over X.

    ``scaling_info`` holds the columns and the samples that the scaling is learnt from. Kernels
    are selected on a sample of the rows.
    """
    columns, samples = scaling_info
    n_components = int(parameters.n_components)
    size = rows_per_block(4 * n_components + RAW_BYTES * X.shape[1], _MIN_ROWS)
    raw = row_blocks(row_chunks(X, rows.first, size))
    # The scaling is learnt from all samples, also from those that inductive learning leaves out.
    same = len(samples) == len(rows.first)
    every = raw if same else row_blocks(row_chunks(X, samples, size))
    counts = rows.weights if same else np.ones(len(samples))
    weights = np.split(counts, np.cumsum(every.sizes)[:-1])
    scaling = learn_scaling(parameters.scale, merge(every.map(_summary, weights, None)))
    n_rows = len(rows.first)
    count = min(n_rows, _SAMPLE + n_components)
    chosen = np.sort(rng.choice(n_rows, count, replace=False))
    sample = np.concatenate(raw.map(_select_rows, _split(chosen, raw.sizes), None))
    order = rng.permutation(count)
    shuffled = as_finite_floats(sample)[order]
    scaled = scaling.apply(shuffled)
    drawn = ScaledRows(SampleRows(shuffled), np.arange(count), scaling)
    banks = parameters.banks(columns, drawn, compact=True)
    bank, choice = select(banks, drawn, rows.labels[chosen[order]], rows.weights[chosen[order]])
    map_ = draw_map(bank, scaled, n_rows, n_components, parameters.features, rng)
    # The ridge regression needs four matrices of this width in double precision.
    budget = int(max(0, bytes_of(parameters.memory) - 32 * map_.n_features**2))
    blocks = raw.with_features(feature_maker(map_, scaling), map_.n_features, budget)
    return FeatureData(blocks, map_, scaling), choice


def _split(rows: Indices, sizes: list[int]) -> list[Indices]:
    """Split ascending row indices by block into indices within the blocks."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    return [part - start for part, start in zip(parts, starts[:-1], strict=True)]


def _summary(rows: AnyArray, weights: Array, _: None) -> ColumnSummary:
    return summarise(as_finite_floats(rows).astype(np.float64), weights)


def _linear(features: Features, _: None, linear: tuple[Features, Array]) -> Features:
    weights, intercepts = linear
    return features @ weights + intercepts.astype(np.float32)


def _select_rows(rows: AnyArray, chosen: Indices, _: None) -> AnyArray:
    return rows[chosen]


def _distances(features: Features, rows: Indices, means: Array) -> Array:
    """Return squared distances to the means, less the row's own squared length."""
    return relative_squared_distances(features[rows] @ means.T, (means**2).sum(axis=1))


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
    def from_functions(
        cls, map_: FeatureMap, scaling: Scaling, functions: Sequence[FeatureFunction]
    ) -> FeatureHash:
        """Combine functions on the map's features of scaled rows."""
        weights = np.stack([function.weights for function in functions], axis=1)
        return cls(map_, scaling, weights, np.array([f.intercept for f in functions]))

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.map.bank)

    def project(self, X: Table) -> Features:
        """Return f of rows in single precision, reading X block by block."""
        width = 4 * self.map.n_features + RAW_BYTES * X.shape[1]
        chunks = row_chunks(X, np.arange(X.shape[0]), rows_per_block(width))
        projections = row_blocks(chunks).map(_project, [None] * len(chunks), self)
        return np.concatenate(projections)

    def residuals(self, X: Table) -> Array:
        """Return the share of each sample that the features do not explain."""
        width = 4 * self.map.n_features + RAW_BYTES * X.shape[1]
        chunks = row_chunks(X, np.arange(X.shape[0]), rows_per_block(width))
        return np.concatenate(row_blocks(chunks).map(_residuals, [None] * len(chunks), self))

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds."""
        return {
            **self.map.arrays(),
            "hash_weights": self.weights,
            "hash_intercepts": self.intercepts,
            **self.scaling.arrays(),
        }


def featurise(map_: FeatureMap, scaling: Scaling, rows: AnyArray) -> Features:
    """Return the features of unscaled rows."""
    return map_.transform(scaling.apply(as_finite_floats(rows)))


def as_finite_floats(rows: AnyArray) -> Floats:
    """Return rows as floating-point numbers, or raise a ValueError."""
    if rows.dtype.kind not in "biufO":
        raise ValueError(f"X: wanted real numbers, got {rows.dtype}")
    numbers = cast("Floats", rows) if rows.dtype.kind == "f" else rows.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("X: wanted finite numbers, got NaN or infinity")
    return numbers


def feature_maker(map_: FeatureMap, scaling: Scaling) -> partial[Features]:
    """Return a picklable function from rows to features."""
    return partial(featurise, map_, scaling)


def _kernel_shares(hash_: FeatureHash) -> Array:
    """Return the share of each kernel in the squared weights, ``(M,)``."""
    ends = np.cumsum(hash_.map.widths)[:-1]
    parts = np.split(np.square(hash_.weights.astype(np.float64)).sum(axis=1), ends)
    squares = np.array([part.sum() for part in parts])
    return squares / max(float(squares.sum()), np.finfo(float).tiny)


def _residuals(rows: AnyArray, _: None, hash_: FeatureHash) -> Array:
    return _feature_residuals(featurise(hash_.map, hash_.scaling, rows), None, hash_)


def _feature_residuals(features: Features, _: None, hash_: FeatureHash) -> Array:
    parts = np.split(np.square(features), np.cumsum(hash_.map.widths)[:-1], axis=1)
    explained = np.stack([part.sum(axis=1) for part in parts], axis=1)
    return np.clip(1.0 - explained, 0.0, 1.0) @ _kernel_shares(hash_)


def _project(rows: AnyArray, _: None, hash_: FeatureHash) -> Features:
    features = featurise(hash_.map, hash_.scaling, rows)
    return features @ hash_.weights + hash_.intercepts.astype(np.float32)
