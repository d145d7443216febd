"""Block 1: one weighted binary SVM on a weighted sum of kernels (eq. 7), by LIBSVM.

LIBSVM cannot start from an earlier solution, and it reads all rows. Most do not matter: with an
earlier f as a guess, the rows up to its margin and some behind are solved first, and those
that the new f fails join them. When none does, the answer is that of all rows.


@@@
The exact solver: kernel matrices, and LIBSVM for each bit.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
"""LIBSVM's usual 1e-3 would leave each margin short by that much: times lambda1 and the
number of rows, the primal value could be twice the optimum. This costs few steps more."""

_ROOM = 1e-3
_FEWEST_ROWS = 100
_MORE_ROWS = 1.25
_MOST_ROWS = 0.75
"""Rows of a guess count as support up to this far behind the margin, and LIBSVM begins with so
many more than 1.25 times their number, or with all if that is not under three quarters of
them. Any choice gives the same answer: rows that it leaves out and that the new f fails join in
(`_violators`). On digits with 15 bits none had to, and with 1.1 in every second SVM."""


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
    summed: Callable[[Array, Indices], Array] | None = None,
) -> Svm:
    """Minimise ``sum_n costs_n [1 - y_n f(x_n)]_+ + 1/2 sum_m ||w_m||^2 / theta_m``.

    Parameters
    ----------
    targets
        ``(n,)``, -1 or +1.
    costs
        ``(n,)``; rows of cost 0 take no part. When all that do have one target, there is no
        SVM: w = 0, and beta is that sign.
    guess
        ``(n,)``, f of an earlier solution: saves time, changes nothing.
    summed
        What returns `Grams.weighted_sum`, if somebody keeps that between calls.
    """
    summed = grams.weighted_sum if summed is None else summed
    rows = np.flatnonzero(costs > 0)
    if not rows.size or (targets[rows] == targets[rows[0]]).all():
        sign = float(targets[rows[0]]) if rows.size else 1.0
        nobody = np.empty(0, dtype=np.intp)
        zeros = np.zeros(len(grams))
        return Svm(nobody, np.empty(0), sign, np.full(grams.n_rows, sign), zeros)
    working = rows if guess is None else _near_the_margin(rows, targets * guess, targets)
    while True:
        svc = SVC(kernel="precomputed", C=1.0, tol=TOLERANCE, cache_size=500)
        kernel = summed(kernel_weights, working)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            svc.fit(kernel, targets[working], sample_weight=costs[working])
        support, coefficients = working[svc.support_], svc.dual_coef_[0]
        intercept = float(svc.intercept_[0])
        products = grams.products(support, coefficients)
        projections = kernel_weights @ products + intercept
        # Where LIBSVM has worked f is as exact as there, also with kernels in single precision.
        dual = np.zeros(len(working))
        dual[svc.support_] = coefficients
        projections[working] = kernel @ dual + intercept
        missing = _violators(rows, working, targets * projections)
        if not missing.size:
            break
        working = np.union1d(working, missing)
    # Rounding may push the quadratic form of a singular kernel below zero.
    forms = np.maximum(products[:, support] @ coefficients, 0.0)
    return Svm(support, coefficients, intercept, projections, kernel_weights**2 * forms)


def _near_the_margin(rows: Indices, margins: Floats, targets: NDArray[np.int8]) -> Indices:
    """Choose the rows to begin with: some more than support the guess, the nearest ones."""
    order = rows[np.argsort(margins[rows], kind="stable")]
    support = np.count_nonzero(margins[rows] <= 1.0 + _ROOM)
    count = _FEWEST_ROWS + int(_MORE_ROWS * support)
    chosen = order[:count]
    both = bool((targets[chosen] != targets[chosen[0]]).any())
    return np.sort(chosen) if both and count < _MOST_ROWS * len(rows) else rows


def _violators(rows: Indices, working: Indices, margins: Array) -> Indices:
    """Return rows that must join; all the rest, once the working set is no longer small."""
    if len(working) == len(rows):
        return rows[:0]
    left = np.setdiff1d(rows, working, assume_unique=True)
    short = left[margins[left] < 1.0 - TOLERANCE]
    return left if short.size and len(working) + len(short) > _MOST_ROWS * len(rows) else short


def duality_gap(
    kernel_weights: Array, targets: NDArray[np.int8], costs: Array, svm: Svm
) -> tuple[float, float]:
    """Return the primal value of eq. (6) for one bit, and the dual value of eq. (7)."""
    used = kernel_weights > 0
    norm = float((svm.squared_norms[used] / kernel_weights[used]).sum())
    primal = hinge_loss(costs, targets, svm.projections) + 0.5 * norm
    dual = np.abs(svm.coefficients).sum() - 0.5 * norm
    return float(primal), float(dual)


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
