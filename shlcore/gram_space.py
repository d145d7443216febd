"""What the exact solver works on: the kernel matrices of the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shlcore.clustering import WeightedRows, kernel_clusters
from shlcore.kernel_hash import KernelHash, RowHash, StackHash
from shlcore.kernel_solver import KernelFunction, KernelMachine
from shlcore.leave_one_out import leave_one_out
from shlcore.spreading import NeighbourGraph
from shlcore.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.grams import Grams
    from shlcore.kernels import KernelBank
    from shlcore.sample_rows import ScaledRows


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
