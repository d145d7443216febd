"""Learnt hash functions, ready for samples that were not there in training."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shlcore.row_blocks import row_blocks, slabs
from shlcore.svm import Grams, check_stack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from shlcore.admm_solver import FeatureFunction
    from shlcore.kernel_solver import KernelFunction
    from shlcore.kernels import KernelBank
    from shlcore.random_features import FeatureMap
    from shlcore.scaling import Scaling

    Array = NDArray[np.float64]

_BLOCK_BYTES = 64 * 2**20


class Hash(Protocol):
    """All B hash functions of a fitted estimator."""

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""

    @property
    def intercepts(self) -> Array:
        """``(B,)``."""

    def project(self, X: Any) -> Array:  # noqa: ANN401 - rows, or kernel matrices
        """Return f, ``n x B``, of checked samples."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file must hold."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelHash:
    """B kernel functions over the union of their support rows.

    Parameters
    ----------
    support
        ``(k,)``, which training rows these are.
    coefficients
        ``(B, k)``.
    scales
        ``(B, M)``.
    intercepts
        ``(B,)``.
    """

    support: NDArray[np.intp]
    coefficients: Array
    scales: Array
    intercepts: Array

    @classmethod
    def of(cls, functions: Sequence[KernelFunction]) -> KernelHash:
        """Bring the functions onto one set of support rows."""
        support = np.unique(np.concatenate([function.support for function in functions]))
        coefficients = np.zeros((len(functions), len(support)))
        for row, function in zip(coefficients, functions, strict=True):
            row[np.searchsorted(support, function.support)] = function.coefficients
        return cls(
            support,
            coefficients,
            np.stack([function.scales for function in functions]),
            np.array([function.intercept for function in functions]),
        )

    def combine(self, cross_kernels: Iterable[Array], n_rows: int) -> Array:
        """Return f (``n x B``), given each kernel between n rows and the support rows."""
        total = np.tile(self.intercepts, (n_rows, 1))
        for kernel, scales in zip(cross_kernels, self.scales.T, strict=True):
            total += kernel @ (self.coefficients * scales[:, None]).T
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields under names."""
        return {f"hash_{field.name}": getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class StackHash:
    """Hash functions on precomputed kernels between samples and ``n_samples`` training ones."""

    functions: KernelHash
    n_samples: int

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""
        return int(self.functions.scales.shape[1])

    @property
    def intercepts(self) -> Array:
        """``(B,)``."""
        return self.functions.intercepts

    def project(self, X: Any) -> Array:  # noqa: ANN401 - a stack of matrices, or Grams
        """Return f, given kernel matrices ``M x m x n``."""
        matrices = list(X if isinstance(X, Grams) else check_stack(X))
        shape = (len(matrices), *matrices[0].shape)
        wanted = (self.n_kernels, self.n_samples)
        if (shape[0], shape[2]) != wanted:
            raise ValueError(
                f"X: wanted {wanted[0]} kernel matrices against {wanted[1]} training "
                f"samples, got shape {shape}"
            )
        columns = (matrix[:, self.functions.support] for matrix in matrices)
        return self.functions.combine(columns, shape[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file must hold."""
        return self.functions.arrays()


@dataclass(frozen=True, slots=True, eq=False)
class RowHash:
    """Hash functions on kernels with support rows (scaled)."""

    functions: KernelHash
    bank: KernelBank
    scaling: Scaling
    support_rows: Array

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""
        return len(self.bank)

    @property
    def intercepts(self) -> Array:
        """``(B,)``."""
        return self.functions.intercepts

    def project(self, X: Array) -> Array:
        """Return f of rows, a block at a time so that memory stays bounded."""
        size = max(1, _BLOCK_BYTES // (8 * max(1, len(self.support_rows))))
        blocks = [
            self.functions.combine(self.bank.each(block, self.support_rows), len(block))
            for first in range(0, len(X), size)
            for block in (self.scaling.apply(X[first : first + size]),)
        ]
        return np.concatenate(blocks)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file must hold."""
        return {
            **self.functions.arrays(),
            "support_rows": self.support_rows,
            "offsets": self.scaling.offsets,
            "factors": self.scaling.factors,
        }


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
    weights: NDArray[np.float32]
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

    def project(self, X: Any) -> NDArray[Any]:  # noqa: ANN401 - an array, a memory map or Dask's
        """Return f of rows in single precision; only blocks of X are ever in memory."""
        size = max(1, _BLOCK_BYTES // (4 * max(1, self.map.n_features)))
        cut = slabs(X, np.arange(X.shape[0]), size)
        found = row_blocks(cut).gather(_project, [None] * len(cut), self)
        return np.concatenate(found)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file must hold."""
        return {
            **self.map.arrays(),
            "hash_weights": self.weights,
            "hash_intercepts": self.intercepts,
            "offsets": self.scaling.offsets,
            "factors": self.scaling.factors,
        }


def featurise(map_: FeatureMap, scaling: Scaling, rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return the features of rows as they come."""
    return map_.of(scaling.apply(checked(rows)))


def checked(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows as floating-point numbers, or refuse what is none."""
    numbers = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("X: wanted finite numbers, got NaN or infinity")
    return numbers


def feature_maker(map_: FeatureMap, scaling: Scaling) -> partial[NDArray[np.float32]]:
    """Return what turns rows into features, also in another process."""
    return partial(featurise, map_, scaling)


def _project(rows: NDArray[Any], _: None, hash_: FeatureHash) -> NDArray[np.float32]:
    features = featurise(hash_.map, hash_.scaling, rows)
    return features @ hash_.weights + hash_.intercepts.astype(np.float32)
