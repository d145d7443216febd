"""Choice of lambda1 by leave-one-out probabilities of labelled rows (span rule).

The cost of a margin violation decides how far functions follow wrong labels: with 20 % of them a
kernel that interpolates loses 5 to 15 points at 1000 against 0.3 (tests/benchmarks/SUPERVISED.md).
For each candidate the bits are fitted to a sample of the labelled rows, and the log loss of the
leave-one-out scores, at their best temperature, is compared: it is smooth where errors are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore.calibration import held_out_loss, leave_one_out
from shlcore.hinge import class_scores
from shlcore.mkl import uniform_weights, weigh_kernels
from shlcore.parallel import one_blas_thread
from shlcore.problem import UNLABELLED, Problem, Start
from shlcore.svm import KernelFunction, solve_svm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Indices
    from shlcore.gram_matrices import Grams


COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
"""Candidates, for rows of mean weight 1 and kernels with k(x, x) = 1."""

_FIRST = COSTS.index(1.0)
"""The search begins here, and follows the smaller loss until it rises."""

FEW_LABELS_COST = 1.0
"""lambda1 with too few labels to compare. At a labelled share of 1 to 10 % of 750 rows 1, 10 and
1000 are equal to 0.2 points (tests/benchmarks/SEMI.md)."""

NO_LABELS_COST = 1000.0
"""lambda1 without any label: clusters keep their rows."""

_LEAST_PER_CLASS = 5
"""Labelled rows per class, in the mean, from which on candidates are compared."""

_SAMPLE = 400
"""Labelled rows that are compared: their loss is accurate to a few percent, and candidates differ
by more."""


def choose_rows(labels: Indices) -> Indices:
    """Choose labelled rows for the comparison, in proportion to their classes."""
    known = np.flatnonzero(labels != UNLABELLED)
    order = known[np.argsort(labels[known], kind="stable")]
    step = max(1.0, len(order) / _SAMPLE)
    return np.sort(order[np.arange(0, len(order), step).astype(np.intp)])


def has_enough_labels(problem: Problem) -> bool:
    """Whether there are labels enough to compare candidates."""
    n_labels = int(np.count_nonzero(problem.labels != UNLABELLED))
    return n_labels >= _LEAST_PER_CLASS * problem.n_classes


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A cost, and the mean kernel weights of the bits, ``(M,)``."""

    lambda1: float
    kernel_weights: Array


def choose_lambda1(problem: Problem, start: Start, rows: Indices, grams: Grams) -> Choice:
    """Return the candidate with the smallest leave-one-out log loss.

    Parameters
    ----------
    rows
        The rows of the comparison, with memberships in the start.
    grams
        Kernel matrices among these rows.
    """
    weights = problem.weights[rows]
    unit = float(weights.mean()) * max(grams.mean_diagonal(), np.finfo(float).tiny)
    words = start.codewords.reshape(-1, problem.n_bits)
    trial = _Trial(
        grams,
        problem.labels[rows],
        weights,
        start.codewords,
        words[start.members[rows]],
        problem.p,
    )
    with one_blas_thread():
        found = {k: trial.fit(COSTS[k] / unit) for k in (_FIRST, _FIRST - 1)}
        step = -1 if found[_FIRST - 1][0] < found[_FIRST][0] else 1
        best = _FIRST - 1 if step < 0 else _FIRST
        while 0 <= best + step < len(COSTS):
            found[best + step] = trial.fit(COSTS[best + step] / unit)
            if found[best + step][0] >= found[best][0]:
                break
            best += step
    weights = found[best][1]
    return Choice(COSTS[best] / unit, weights / (weights**problem.p).sum() ** (1.0 / problem.p))


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """Labelled rows to fit with one candidate after another.

    Parameters
    ----------
    targets
        ``n x B``, the codeword of each row.
    """

    grams: Grams
    labels: Indices
    weights: Array
    codewords: NDArray[np.int8]
    targets: NDArray[np.int8]
    p: float

    def fit(self, cost: float) -> tuple[float, Array]:
        """Return the log loss of leave-one-out scores, and the mean kernel weights."""
        costs = cost * self.weights
        projections = np.empty(self.targets.shape)
        functions: list[KernelFunction] = []
        known: dict[bytes, int] = {}
        for bit, target in enumerate(self.targets.T):
            twin = known.setdefault((target * target[0]).tobytes(), bit)
            if twin == bit:
                function, projections[:, bit] = self._fit(target, costs)
            else:
                sign = float(target[0] * self.targets[0, twin])
                function = functions[twin].scaled(sign)
                projections[:, bit] = sign * projections[:, twin]
            functions.append(function)
        held_out = leave_one_out(self.grams.weighted_sum, functions, projections, costs)
        loss = held_out_loss(class_scores(held_out, self.codewords), self.labels, self.weights)
        return loss, np.mean([function.scales for function in functions], axis=0)

    def _fit(self, target: NDArray[np.int8], costs: Array) -> tuple[KernelFunction, Array]:
        """Fit a bit with equal kernel weights, then once with those of block 2."""
        theta = uniform_weights(len(self.grams), self.p)
        svm = solve_svm(self.grams, theta, target, costs)
        theta = weigh_kernels(svm.squared_norms, theta, self.p)
        svm = solve_svm(self.grams, theta, target, costs, svm.projections)
        function = KernelFunction(svm.support, svm.coefficients, theta, svm.intercept)
        return function, svm.projections
