"""What the exact solver works on: the kernel matrices of the training rows.

@@@
Hash functions of the exact solver: sums of kernels with support rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from shlcore.calibration import leave_one_out
from shlcore.clustering import WeightedRows, kernel_clusters
from shlcore.gram_matrices import Grams, check_stack
from shlcore.parallel import one_blas_thread
from shlcore.semi_supervised import NeighbourGraph
from shlcore.svm import KernelFunction, KernelMachine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array, FileArrays, Floats, Indices
    from shlcore.kernels import KernelBank
    from shlcore.samples import SampleRows, ScaledRows
    from shlcore.scaling import Scaling
    from shlcore.svm import KernelFunction


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows whose kernels are computed, and how to treat further ones alike."""

    bank: KernelBank
    rows: ScaledRows


@dataclass(frozen=True, slots=True, eq=False)
class GramSpace:
    """Kernel matrices, and where they come from.

    Parameters
    ----------
    grams
        Kernel matrices of the rows.
    origin
        The rows; or, when the matrices were given, which of ``n`` samples these are.
    """

    grams: Grams
    origin: GivenRows | tuple[Indices, int]

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""
        return len(self.grams)

    def machine(self, tol: float, n_jobs: int) -> KernelMachine:
        """Return what solves block 1."""
        return KernelMachine(self.grams, tol, n_jobs)

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters, all kernels counting alike."""
        theta = np.ones(self.n_kernels)
        return kernel_clusters(self.grams.weighted_sum(theta, some.rows), some.weights, count, rng)

    def graph(self) -> NeighbourGraph | None:
        """Tie rows to their neighbours, all kernels counting alike."""
        n_rows = self.grams.n_rows
        if n_rows < 3:
            return None
        return NeighbourGraph.of(
            self.grams.weighted_sum(np.ones(self.n_kernels), np.arange(n_rows))
        )

    def held_out(
        self, functions: Sequence[KernelFunction], projections: Floats, costs: Array
    ) -> Array:
        """Return f of each row by the functions of the others."""
        with one_blas_thread():
            return leave_one_out(self.grams.weighted_sum, functions, projections, costs)

    def hash_of(self, functions: Sequence[KernelFunction]) -> RowHash | StackHash:
        """Make learnt functions ready for further samples."""
        hash_ = KernelHash.of(functions)
        if isinstance(self.origin, GivenRows):
            rows = self.origin.rows
            return RowHash(hash_, self.origin.bank, rows.scaling, rows.take(hash_.support))
        first, n_samples = self.origin
        return StackHash(replace(hash_, support=first[hash_.support]), n_samples)


_MANY = 3
"""If more than a third of the columns count, a product with all is faster than choosing them."""


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

    support: Indices
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

    def spread_out(self, n_rows: int) -> KernelHash:
        """Return the same functions with a coefficient, mostly 0, for each of n training rows."""
        coefficients = np.zeros((len(self.coefficients), n_rows))
        coefficients[:, self.support] = self.coefficients
        return KernelHash(np.arange(n_rows), coefficients, self.scales, self.intercepts)

    def arrays(self) -> FileArrays:
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
            return functions.spread_out(self.n_samples).combine(matrices, shape[1])
        columns = (matrix[:, functions.support] for matrix in matrices)
        return functions.combine(columns, shape[1])

    def arrays(self) -> FileArrays:
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

    def project(self, X: SampleRows, chosen: Indices | None = None) -> Array:
        """Return f of (some) samples, a block at a time so that memory stays bounded.

        Without support rows (every bit is constant) that is the intercepts.
        """
        chosen = np.arange(len(X)) if chosen is None else chosen
        found = np.tile(self.intercepts, (len(chosen), 1))
        if not len(self.support_rows):
            return found
        for place, block in X.blocks(chosen, 8 * len(self.support_rows)):
            kernels = self.bank.each(self.scaling.apply(block), self.support_rows)
            found[place] = self.functions.combine(kernels, len(block))
        return found

    def arrays(self) -> FileArrays:
        """Return what a file must hold."""
        return {
            **self.functions.arrays(),
            "support_rows": self.support_rows,
            **self.scaling.arrays(),
        }
