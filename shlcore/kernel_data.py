"""Kernel matrices of the training rows, and hash functions over support rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor

from shlcore.calibration import RESIDUAL_RIDGE, leave_one_out, new_residuals, residuals
from shlcore.clustering import WeightedRows, kernel_clusters
from shlcore.gram_matrices import Grams, check_stack
from shlcore.parallel import one_blas_thread
from shlcore.semi_supervised import NeighbourGraph
from shlcore.svm import KernelFunction, LibsvmSolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array, FileArrays, Floats, Indices
    from shlcore.kernels import KernelBank
    from shlcore.samples import SampleRows, ScaledRows
    from shlcore.scaling import Scaling
    from shlcore.svm import KernelFunction


@dataclass(frozen=True, slots=True, eq=False)
class KernelRows:
    """Training rows with the kernels and the scaling to apply to further rows."""

    bank: KernelBank
    rows: ScaledRows


@dataclass(frozen=True, slots=True, eq=False)
class KernelData:
    """Training rows as kernel matrices, for the exact solver.

    Parameters
    ----------
    grams
        Kernel matrices of the rows.
    origin
        The rows; or, with precomputed kernels, their indices among the samples and the number of
        samples.
    """

    grams: Grams
    origin: KernelRows | tuple[Indices, int]

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.grams)

    def bit_solver(self, tol: float, n_jobs: int) -> LibsvmSolver:
        """Return the solver of block 1."""
        return LibsvmSolver(self.grams, tol, n_jobs)

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters in the space of the summed kernels."""
        theta = np.ones(self.n_kernels)
        return kernel_clusters(self.grams.weighted_sum(theta, some.rows), some.weights, count, rng)

    def neighbour_graph(self) -> NeighbourGraph | None:
        """Return the neighbour graph of the summed kernels; None for fewer than 3 rows."""
        n_rows = self.grams.n_rows
        if n_rows < 3:
            return None
        return NeighbourGraph.from_gram(
            self.grams.weighted_sum(np.ones(self.n_kernels), np.arange(n_rows))
        )

    def held_out_projections(
        self, functions: Sequence[KernelFunction], projections: Floats, costs: Array
    ) -> Array:
        """Return the leave-one-out f of each row."""
        with one_blas_thread():
            return leave_one_out(self.grams.weighted_sum, functions, projections, costs)

    def residuals(self, functions: Sequence[KernelFunction]) -> Array | None:
        """Return the share of each row that kernels with the other rows do not explain.

        None with precomputed kernels, as k(x, x) of new rows is unknown then.
        """
        hash_ = KernelHash.from_functions(functions)
        theta = hash_.scales.mean(axis=0)
        if not isinstance(self.origin, KernelRows) or not hash_.support.size or not theta.any():
            return None
        total = self.grams.weighted_sum(theta, np.arange(self.grams.n_rows))
        return residuals(total, hash_.support, float(theta.sum()))

    def hash_of(self, functions: Sequence[KernelFunction]) -> RowHash | PrecomputedHash:
        """Return the hash functions for further samples."""
        hash_ = KernelHash.from_functions(functions)
        if isinstance(self.origin, KernelRows):
            rows = self.origin.rows
            return RowHash(hash_, self.origin.bank, rows.scaling, rows.take(hash_.support))
        first, n_samples = self.origin
        return PrecomputedHash(replace(hash_, support=first[hash_.support]), n_samples)


_MANY = 3
"""If more than a third of the columns are in use, a product with all is faster than indexing."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelHash:
    """B kernel functions over the union of their support rows.

    Parameters
    ----------
    support
        ``(k,)``, indices of training rows.
    coefficients
        ``(B, k)``.
    scales
        ``(B, M)``.
    intercepts
        ``(B,)``.
    """

    support: Indices
    coefficients: Array
    scales: Array
    intercepts: Array

    @classmethod
    def from_functions(cls, functions: Sequence[KernelFunction]) -> KernelHash:
        """Combine functions over the union of their support rows."""
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

    def terms(self, cross_kernels: Iterable[Floats]) -> Array:
        """Return the summands of f but the intercepts, ``n x B x M x k``."""
        kernels = np.stack(list(cross_kernels), axis=1)[:, None]
        weights = self.scales[:, :, None] * self.coefficients[:, None, :]
        return np.asarray(weights[None] * kernels)

    def expanded(self, n_rows: int) -> KernelHash:
        """Return the same functions with a coefficient for each of n training rows."""
        coefficients = np.zeros((len(self.coefficients), n_rows))
        coefficients[:, self.support] = self.coefficients
        return KernelHash(np.arange(n_rows), coefficients, self.scales, self.intercepts)

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds."""
        return {f"hash_{field.name}": getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class PrecomputedHash:
    """Hash functions on precomputed kernels with ``n_samples`` training samples."""

    functions: KernelHash
    n_samples: int

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return int(self.functions.scales.shape[1])

    @property
    def intercepts(self) -> Array:
        """Offsets beta, ``(B,)``."""
        return self.functions.intercepts

    def project(self, X: ArrayLike | Grams) -> Array:
        """Return f, given kernel matrices ``M x m x n``."""
        matrices = list(X if isinstance(X, Grams) else check_stack(X))
        shape = (len(matrices), *matrices[0].shape)
        wanted = (self.n_kernels, self.n_samples)
        if (shape[0], shape[2]) != wanted:
            raise ValueError(
                f"X: wanted {wanted[0]} kernel matrices against {wanted[1]} training "
                f"samples, got shape {shape}"
            )
        functions = self.functions
        if _MANY * len(functions.support) > self.n_samples:
            return functions.expanded(self.n_samples).combine(matrices, shape[1])
        columns = (matrix[:, functions.support] for matrix in matrices)
        return functions.combine(columns, shape[1])

    def terms(self, X: ArrayLike | Grams) -> Array:
        """Return the summands of f over the support rows, given kernel matrices."""
        matrices = X if isinstance(X, Grams) else check_stack(X)
        return self.functions.terms(matrix[:, self.functions.support] for matrix in matrices)

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds."""
        return self.functions.arrays()


@dataclass(frozen=True, slots=True, eq=False)
class RowHash:
    """Hash functions on kernels with scaled support rows."""

    functions: KernelHash
    bank: KernelBank
    scaling: Scaling
    support_rows: Array

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.bank)

    @property
    def intercepts(self) -> Array:
        """Offsets beta, ``(B,)``."""
        return self.functions.intercepts

    def project(self, X: SampleRows, chosen: Indices | None = None) -> Array:
        """Return f of all or some samples, block by block to bound the memory.

        Without support rows (every bit is constant) f is the intercepts.
        """
        chosen = np.arange(len(X)) if chosen is None else chosen
        projections = np.tile(self.intercepts, (len(chosen), 1))
        if not len(self.support_rows):
            return projections
        for rows, block in X.blocks(chosen, 8 * len(self.support_rows)):
            kernels = self.bank.cross_kernels(self.scaling.apply(block), self.support_rows)
            projections[rows] = self.functions.combine(kernels, len(block))
        return projections

    def residuals(self, X: SampleRows) -> Array | None:
        """Return the share of each sample that support rows do not explain."""
        theta = self.functions.scales.mean(axis=0)
        diagonal = float(theta.sum())
        if not len(self.support_rows) or not diagonal > 0.0:
            return None
        among = self._summed_kernel(self.support_rows, theta)
        among[np.diag_indices_from(among)] += RESIDUAL_RIDGE * diagonal
        factor = cho_factor(among)
        found = np.empty(len(X))
        every = np.arange(len(X))
        for rows, block in X.blocks(every, 8 * len(self.support_rows)):
            cross = self._summed_kernel(self.scaling.apply(block), theta)
            found[rows] = new_residuals(cross, factor, diagonal)
        return found

    def _summed_kernel(self, x: Array, theta: Array) -> Array:
        total = np.zeros((len(x), len(self.support_rows)))
        for weight, kernel in zip(
            theta, self.bank.cross_kernels(x, self.support_rows), strict=True
        ):
            total += weight * kernel
        return total

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds."""
        return {
            **self.functions.arrays(),
            "support_rows": self.support_rows,
            **self.scaling.arrays(),
        }
