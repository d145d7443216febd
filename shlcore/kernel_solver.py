"""The exact solver: kernel matrices, and LIBSVM for each bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore.descent import BitSolution, BitTask
from shlcore.hinge import hinge_loss
from shlcore.svm import solve_svm
from shlcore.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.array_types import Array, Indices
    from shlcore.grams import Grams


@dataclass(frozen=True, slots=True, eq=False)
class KernelFunction:
    """``f(x) = sum_m scales_m sum_i coefficients_i k_m(x, x_support_i) + intercept``.

    ``scales`` are the kernel weights under which the SVM was solved. Block 2 changes the
    weights afterwards, but not w, hence not f.
    """

    support: Indices
    coefficients: Array
    scales: Array
    intercept: float


class KernelMachine:
    """Solves block 1 on kernel matrices, one SVM at a time, or the next few on threads.

    Parameters
    ----------
    n_jobs
        How many threads. Bits come one after another, because each may move rows and codewords.
        They seldom do: so the SVMs of the next bits are solved beforehand, as they stand,
        and an answer is used if its bit's turn finds the SVM unchanged. Hence the result does
        not depend on the number of threads.
    """

    at_once = 1
    precision: type[np.floating] = np.float64

    def __init__(self, grams: Grams, tol: float, n_jobs: int = 1) -> None:
        self._grams = grams
        self._tol = tol
        self.foresight = n_jobs if n_jobs > 1 else 0
        self._foreseen: list[tuple[BitTask[KernelFunction], BitSolution[KernelFunction]]] = []
        self._kept: tuple[bytes, Array] | None = None
        self.n_kernels = len(grams)

    def foresee(self, tasks: Sequence[BitTask[KernelFunction]]) -> None:
        """Solve SVMs that are expected to come, each on a thread: LIBSVM and BLAS leave Python."""
        with one_blas_thread(), ThreadPoolExecutor(max(1, self.foresight)) as threads:
            self._foreseen = list(zip(tasks, threads.map(self._answer, tasks), strict=True))

    def solve(self, tasks: Sequence[BitTask[KernelFunction]]) -> list[BitSolution[KernelFunction]]:
        """Solve independent SVMs; what is optimal to ``tol`` already is handed back."""
        # The products are bound by memory, and more threads would only wait for each other.
        with one_blas_thread():
            return [self._foreseen_answer(task) or self._answer(task) for task in tasks]

    def _foreseen_answer(
        self, task: BitTask[KernelFunction]
    ) -> BitSolution[KernelFunction] | None:
        for foreseen, solution in self._foreseen:
            if foreseen.poses_the_same(task):
                return task.present if solution is foreseen.present else solution
        return None

    def _answer(self, task: BitTask[KernelFunction]) -> BitSolution[KernelFunction]:
        return task.present if self._is_optimal(task) else self._solve(task)

    def _summed(self, kernel_weights: Array, rows: Indices) -> Array:
        """Return the weighted sum of kernels; at the start all bits weigh them alike."""
        if len(rows) < self._grams.n_rows:
            return self._grams.weighted_sum(kernel_weights, rows)
        key, kept = kernel_weights.tobytes(), self._kept
        if kept is None or kept[0] != key:
            kept = self._kept = (key, self._grams.weighted_sum(kernel_weights, rows))
        return kept[1]

    def _solve(self, task: BitTask[KernelFunction]) -> BitSolution[KernelFunction]:
        svm = solve_svm(
            self._grams,
            task.kernel_weights,
            task.targets,
            task.costs,
            task.present.projections,
            self._summed,
        )
        function = KernelFunction(
            svm.support, svm.coefficients, task.kernel_weights, svm.intercept
        )
        return BitSolution(function, svm.projections, svm.squared_norms)

    def _is_optimal(self, task: BitTask[KernelFunction]) -> bool:
        """Whether the present solution's duality gap under the new weights is small enough.

        Costs nothing: block 2 changes neither the dual variables nor ``a' K_m a``.
        """
        function = task.present.function
        alpha = function.coefficients * task.targets[function.support]
        feasible = (alpha >= 0).all() and (alpha <= task.costs[function.support]).all()
        if not alpha.size or not feasible:
            return False
        used = function.scales > 0
        norms, theta = task.present.squared_norms[used], task.kernel_weights[used]
        if not theta.all():
            return False
        loss = hinge_loss(task.costs, task.targets, task.present.projections)
        primal = loss + 0.5 * (norms / theta).sum()
        dual = alpha.sum() - 0.5 * (theta * norms / function.scales[used] ** 2).sum()
        return bool(primal - dual <= self._tol * primal)

    def empty(self) -> KernelFunction:
        """Return the function that is 0 everywhere."""
        nobody = np.empty(0, dtype=np.intp)
        return KernelFunction(nobody, np.empty(0), np.zeros(self.n_kernels), 0.0)

    def scaled(self, function: KernelFunction, factor: float) -> KernelFunction:
        """Return ``factor * f``."""
        return KernelFunction(
            function.support,
            factor * function.coefficients,
            function.scales,
            factor * function.intercept,
        )
