"""Block 1 by LIBSVM: weighted binary SVMs on weighted sums of kernels (eq. 7).

LIBSVM cannot start from an earlier solution, and it reads all rows, although most do not matter.
With an earlier f as a guess, the working set begins with the rows up to the margin of f and some
beyond. Rows that violate the margin of the new f are added, until there is none: the solution is
then that of all rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn import config_context
from sklearn.svm import SVC

from shlcore.descent import BitSolution, BitTask
from shlcore.hinge import hinge_loss
from shlcore.parallel import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.gram_matrices import Grams


TOLERANCE = 1e-6
"""LIBSVM's default of 1e-3 would leave each margin short by that much: times lambda1 and the
number of rows, the primal value could be twice the optimum. 1e-6 costs few more iterations."""

MARGIN_SLACK = 1e-3
_MIN_EXTRA_ROWS = 100
_EXTRA_FACTOR = 1.25
_MAX_SHARE = 0.75
"""Rows count as support of the guess up to this slack behind the margin. The working set begins
with 100 rows more than 1.25 times their number, or with all rows if that is more than three
quarters of them. Any choice gives the same solution, because violating rows are added
(`_violators`). On digits with 15 bits no SVM had any, every second one with a factor of 1.1."""


@dataclass(frozen=True, slots=True, eq=False)
class Svm:
    """A solution of eq. (7).

    Parameters
    ----------
    support, coefficients
        Rows with a dual variable above 0, and these variables times the targets.
    intercept
        The offset beta.
    projections
        ``(n,)``, f at all rows.
    squared_norms
        ``(M,)``, ``||w_m||^2``.
    """

    support: Indices
    coefficients: Array
    intercept: float
    projections: Array
    squared_norms: Array


def solve_svm(
    grams: Grams,
    kernel_weights: Array,
    targets: NDArray[np.int8],
    costs: Array,
    guess: Floats | None = None,
    weighted_sum: Callable[[Array, Indices], Array] | None = None,
) -> Svm:
    """Minimise ``sum_n costs_n [1 - y_n f(x_n)]_+ + 1/2 sum_m ||w_m||^2 / theta_m``.

    Parameters
    ----------
    targets
        ``(n,)``, -1 or +1.
    costs
        ``(n,)``; rows of cost 0 are left out. If all others have one target, there is no SVM:
        w = 0, and beta is that sign.
    guess
        ``(n,)``, f of an earlier solution: saves time and leaves the result unchanged.
    weighted_sum
        Replacement of `Grams.weighted_sum` by a caller that caches sums.
    """
    weighted_sum = grams.weighted_sum if weighted_sum is None else weighted_sum
    rows = np.flatnonzero(costs > 0)
    if not rows.size or (targets[rows] == targets[rows[0]]).all():
        sign = float(targets[rows[0]]) if rows.size else 1.0
        none = np.empty(0, dtype=np.intp)
        zeros = np.zeros(len(grams))
        return Svm(none, np.empty(0), sign, np.full(grams.n_rows, sign), zeros)
    working = rows if guess is None else _initial_working_set(rows, targets * guess, targets)
    while True:
        svc = SVC(kernel="precomputed", C=1.0, tol=TOLERANCE, cache_size=500)
        kernel = weighted_sum(kernel_weights, working)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            svc.fit(kernel, targets[working], sample_weight=costs[working])
        support, coefficients = working[svc.support_], svc.dual_coef_[0]
        intercept = float(svc.intercept_[0])
        products = grams.products(support, coefficients)
        projections = kernel_weights @ products + intercept
        # In the working set f has the precision of LIBSVM, also with single-precision kernels.
        dual = np.zeros(len(working))
        dual[svc.support_] = coefficients
        projections[working] = kernel @ dual + intercept
        missing = _violators(rows, working, targets * projections)
        if not missing.size:
            break
        working = np.union1d(working, missing)
    # Rounding may make the quadratic form of a singular kernel negative.
    forms = np.maximum(products[:, support] @ coefficients, 0.0)
    return Svm(support, coefficients, intercept, projections, kernel_weights**2 * forms)


def _initial_working_set(rows: Indices, margins: Floats, targets: NDArray[np.int8]) -> Indices:
    """Select the support rows of the guess and the nearest rows behind the margin."""
    order = rows[np.argsort(margins[rows], kind="stable")]
    support = np.count_nonzero(margins[rows] <= 1.0 + MARGIN_SLACK)
    count = _MIN_EXTRA_ROWS + int(_EXTRA_FACTOR * support)
    chosen = order[:count]
    both = bool((targets[chosen] != targets[chosen[0]]).any())
    return np.sort(chosen) if both and count < _MAX_SHARE * len(rows) else rows


def _violators(rows: Indices, working: Indices, margins: Array) -> Indices:
    """Return the rows to add; all remaining ones if the working set becomes large."""
    if len(working) == len(rows):
        return rows[:0]
    left = np.setdiff1d(rows, working, assume_unique=True)
    short = left[margins[left] < 1.0 - TOLERANCE]
    return left if short.size and len(working) + len(short) > _MAX_SHARE * len(rows) else short


def duality_gap(
    kernel_weights: Array, targets: NDArray[np.int8], costs: Array, svm: Svm
) -> tuple[float, float]:
    """Return the primal value, eq. (6) of one bit, and the dual value, eq. (7)."""
    used = kernel_weights > 0
    norm = float((svm.squared_norms[used] / kernel_weights[used]).sum())
    primal = hinge_loss(costs, targets, svm.projections) + 0.5 * norm
    dual = np.abs(svm.coefficients).sum() - 0.5 * norm
    return float(primal), float(dual)


@dataclass(frozen=True, slots=True, eq=False)
class KernelFunction:
    """``f(x) = sum_m scales_m sum_i coefficients_i k_m(x, x_support_i) + intercept``.

    ``scales`` are the kernel weights with which the SVM was solved. Block 2 changes the weights
    afterwards, but not w, hence not f.
    """

    support: Indices
    coefficients: Array
    scales: Array
    intercept: float

    def scaled(self, factor: float) -> KernelFunction:
        """Return ``factor * f``."""
        return replace(
            self,
            coefficients=factor * self.coefficients,
            intercept=factor * self.intercept,
        )


class LibsvmSolver:
    """Exact solver of block 1 on kernel matrices: LIBSVM, one bit at a time.

    Parameters
    ----------
    n_jobs
        Number of threads. Bits follow one another, because each may move rows and codewords,
        which seldom happens. So the SVMs of the next bits are solved in advance, and a solution
        is used if the SVM is unchanged at its bit's turn. The result does not depend on the
        number of threads.
    """

    batch_size = 1
    precision: type[np.floating] = np.float64

    def __init__(self, grams: Grams, tol: float, n_jobs: int = 1) -> None:
        self._grams = grams
        self._tol = tol
        self.n_prefetch = n_jobs if n_jobs > 1 else 0
        self._prefetched: list[tuple[BitTask[KernelFunction], BitSolution[KernelFunction]]] = []
        self._full_sum: tuple[bytes, Array] | None = None
        self.n_kernels = len(grams)

    def prefetch(self, tasks: Sequence[BitTask[KernelFunction]]) -> None:
        """Solve SVMs in advance on threads, as LIBSVM and BLAS release Python's lock."""
        with one_blas_thread(), ThreadPoolExecutor(max(1, self.n_prefetch)) as threads:
            self._prefetched = list(
                zip(tasks, threads.map(self._solve_if_needed, tasks), strict=True)
            )

    def solve(self, tasks: Sequence[BitTask[KernelFunction]]) -> list[BitSolution[KernelFunction]]:
        """Solve independent SVMs; a solution that is optimal to ``tol`` stays."""
        # Matrix products are bound by memory bandwidth here, so more threads would not help.
        with one_blas_thread():
            return [
                self._prefetched_solution(task) or self._solve_if_needed(task) for task in tasks
            ]

    def _prefetched_solution(
        self, task: BitTask[KernelFunction]
    ) -> BitSolution[KernelFunction] | None:
        for prefetched, solution in self._prefetched:
            if prefetched.is_same_problem(task):
                return task.current if solution is prefetched.current else solution
        return None

    def _solve_if_needed(self, task: BitTask[KernelFunction]) -> BitSolution[KernelFunction]:
        return task.current if self._is_optimal(task) else self._solve(task)

    def _cached_sum(self, kernel_weights: Array, rows: Indices) -> Array:
        """Return the weighted sum of kernels, cached if it is that of all rows."""
        if len(rows) < self._grams.n_rows:
            return self._grams.weighted_sum(kernel_weights, rows)
        key, kept = kernel_weights.tobytes(), self._full_sum
        if kept is None or kept[0] != key:
            kept = self._full_sum = (key, self._grams.weighted_sum(kernel_weights, rows))
        return kept[1]

    def _solve(self, task: BitTask[KernelFunction]) -> BitSolution[KernelFunction]:
        svm = solve_svm(
            self._grams,
            task.kernel_weights,
            task.targets,
            task.costs,
            task.current.projections,
            self._cached_sum,
        )
        function = KernelFunction(
            svm.support, svm.coefficients, task.kernel_weights, svm.intercept
        )
        return BitSolution(function, svm.projections, svm.squared_norms)

    def _is_optimal(self, task: BitTask[KernelFunction]) -> bool:
        """Whether the duality gap of the current solution is small with the new weights.

        The test is cheap, because block 2 changes neither the dual variables nor ``a' K_m a``.
        """
        function = task.current.function
        alpha = function.coefficients * task.targets[function.support]
        feasible = (alpha >= 0).all() and (alpha <= task.costs[function.support]).all()
        if not alpha.size or not feasible:
            return False
        used = function.scales > 0
        norms, theta = task.current.squared_norms[used], task.kernel_weights[used]
        if not theta.all():
            return False
        loss = hinge_loss(task.costs, task.targets, task.current.projections)
        primal = loss + 0.5 * (norms / theta).sum()
        dual = alpha.sum() - 0.5 * (theta * norms / function.scales[used] ** 2).sum()
        return bool(primal - dual <= self._tol * primal)

    def zero(self) -> KernelFunction:
        """Return the function that is 0 everywhere."""
        none = np.empty(0, dtype=np.intp)
        return KernelFunction(none, np.empty(0), np.zeros(self.n_kernels), 0.0)

    def scale(self, function: KernelFunction, factor: float) -> KernelFunction:
        """Return ``factor * f``."""
        return function.scaled(factor)
