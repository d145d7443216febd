"""Choice of kernels, lambda1 and codewords by leave-one-out probabilities.

The cost of a margin violation decides how far functions follow wrong labels: with 20 % of them a
kernel that interpolates loses 5 to 15 points at 1000 against 0.3. Kernels at the scale of
neighbours suit most data; where columns act together at a large scale (vehicle), broad ones at a
larger cost are ten points ahead (tests/benchmarks/SUPERVISED.md). Several codewords a class pay
where functions are weak (tests/benchmarks/CODEWORDS.md).

For each candidate the bits are fitted to a sample of the labelled rows, and the log loss of the
leave-one-out scores, at their best temperature, is compared: it is smooth where errors are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore.calibration import held_out_loss, leave_one_out
from shlcore.clustering import kernel_clusters
from shlcore.codewords import spread_codewords
from shlcore.hinge import class_scores
from shlcore.mkl import uniform_weights, weigh_kernels
from shlcore.parallel import one_blas_thread
from shlcore.problem import UNLABELLED
from shlcore.svm import KernelFunction, solve_svm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Indices
    from shlcore.gram_matrices import Grams


COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0, 10000.0)
"""Candidates for lambda1, for rows of mean weight 1 and kernels with k(x, x) = 1."""

_FIRST_COSTS = (0.3, 1.0, 10.0)
"""The search begins at the best of these (with further kernels, at the best cost so far), and
follows the smaller loss until it rises."""

CODEWORDS = (2, 3, 5, 8)
"""Candidates for the codewords of a class, beside 1."""

FEW_LABELS_COST = 1.0
"""lambda1 with too few labels to compare. At a labelled share of 1 to 10 % of 750 rows 1, 10 and
1000 are equal to 0.2 points on the sets of tests/benchmarks/SEMI.md."""

NO_LABELS_COST = 1000.0
"""lambda1 without any label: clusters keep their rows."""

_LEAST_PER_CLASS = 5
"""Labelled rows per class, in the mean, from which on candidates are compared."""

_SAMPLE = 400
"""Labelled rows that are compared: their loss is accurate to a few percent, and candidates differ
by more."""

_BITS_PER_DOUBLING = 3
"""Bits for each doubling of the number of codewords in the comparison; a fit has five, unless they
are given."""

_LEAST_GAIN = 0.02
"""Share of the loss that later kernels or further codewords have to gain, so that chance does not
decide."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The candidate with the smallest loss.

    Parameters
    ----------
    bank
        Index of the kernels.
    kernel_weights
        ``(M,)``, the mean over the bits.
    """

    bank: int
    n_codewords: int
    lambda1: float
    kernel_weights: Array


def choose_rows(labels: Indices) -> Indices:
    """Choose labelled rows for the comparison, in proportion to their classes."""
    known = np.flatnonzero(labels != UNLABELLED)
    order = known[np.argsort(labels[known], kind="stable")]
    count = min(len(order), _SAMPLE)
    return np.sort(order[np.arange(count) * len(order) // max(count, 1)])


def has_enough_labels(labels: Indices, n_classes: int) -> bool:
    """Whether there are labels enough to compare candidates."""
    return int(np.count_nonzero(labels != UNLABELLED)) >= _LEAST_PER_CLASS * n_classes


def choose(
    banks: Sequence[Grams],
    labels: Indices,
    weights: Array,
    p: float,
    *,
    n_codewords: int | None,
    n_bits: int | None,
) -> Choice:
    """Return the candidate with the smallest leave-one-out log loss.

    Parameters
    ----------
    banks
        Kernel matrices among some labelled rows, of each set of kernels.
    labels, weights
        ``(n,)``, of these rows.
    n_codewords
        Of each class; None: to be chosen.
    n_bits
        Of the fit; None: as many as suit the number of codewords.
    """
    best: tuple[float, Choice] | None = None
    first: Sequence[float] = _FIRST_COSTS
    with one_blas_thread():
        for index, grams in enumerate(banks):
            trial = _Trial(grams, labels, weights, p, (n_codewords or 1, n_bits))
            loss, cost, theta = _search(trial.fit, first)
            if best is None or loss < (1.0 - _LEAST_GAIN) * best[0]:
                unit = float(weights.mean()) * max(grams.mean_diagonal(), np.finfo(float).tiny)
                best = loss, Choice(index, n_codewords or 1, cost / unit, theta)
                first = (cost,)
        if best is not None and n_codewords is None:
            best = _more_codewords(banks[best[1].bank], labels, weights, p, n_bits, best)
    if best is None:
        raise ValueError("kernels: wanted at least one set of them, got none")
    return best[1]


def _more_codewords(
    grams: Grams,
    labels: Indices,
    weights: Array,
    p: float,
    n_bits: int | None,
    best: tuple[float, Choice],
) -> tuple[float, Choice]:
    """Compare larger numbers of codewords, until the loss rises."""
    unit = float(weights.mean()) * max(grams.mean_diagonal(), np.finfo(float).tiny)
    for count in CODEWORDS:
        total = count * (int(labels.max()) + 1)
        if 2 * total > len(labels) or (n_bits and 2**n_bits < total):
            break
        trial = _Trial(grams, labels, weights, p, (count, n_bits))
        loss, cost, theta = _search(trial.fit, _FIRST_COSTS)
        if loss < (1.0 - _LEAST_GAIN) * best[0]:
            best = loss, Choice(best[1].bank, count, cost / unit, theta)
    return best


def _search(
    fit: Callable[[float], tuple[float, Array]], first: Sequence[float]
) -> tuple[float, float, Array]:
    """Return the smallest loss, its cost and kernel weights."""
    found = {COSTS.index(cost): fit(cost) for cost in first}

    def loss(index: int) -> float:
        if index not in found:
            found[index] = fit(COSTS[index])
        return found[index][0]

    best = min(found, key=loss)
    for step in (-1, 1):
        while 0 <= best + step < len(COSTS) and loss(best + step) < loss(best):
            best += step
    return found[best][0], COSTS[best], found[best][1]


class _Trial:
    """Labelled rows to fit with one cost after another."""

    def __init__(
        self,
        grams: Grams,
        labels: Indices,
        weights: Array,
        p: float,
        size: tuple[int, int | None],
    ) -> None:
        rng = np.random.default_rng(0)
        n_classes = int(labels.max()) + 1
        n_codewords, most = size
        n_bits = _BITS_PER_DOUBLING * max(1, (n_classes * n_codewords - 1).bit_length())
        n_bits = n_bits if most is None else min(n_bits, most)
        self._codewords = spread_codewords(n_classes, n_codewords, n_bits, rng)
        self._grams, self._labels, self._weights, self._p = grams, labels, weights, p
        self._unit = float(weights.mean()) * max(grams.mean_diagonal(), np.finfo(float).tiny)
        members = labels * n_codewords
        if n_codewords > 1:
            every = np.ones(len(grams))
            for c in range(n_classes):
                own = np.flatnonzero(labels == c)
                gram = grams.weighted_sum(every, own)
                members[own] += kernel_clusters(gram, weights[own], n_codewords, rng)
        self._targets: NDArray[np.int8] = self._codewords.reshape(-1, n_bits)[members]
        self._theta = np.tile(uniform_weights(len(grams), p), (n_bits, 1))
        self._is_first = True

    def fit(self, cost: float) -> tuple[float, Array]:
        """Return the log loss of leave-one-out scores, and the mean kernel weights.

        Kernel weights of the last cost are close to those of this one, so that a single fit does.
        """
        costs = cost / self._unit * self._weights
        if self._is_first:
            self._fit_bits(costs)
            self._is_first = False
        functions, projections = self._fit_bits(costs)
        held_out = leave_one_out(self._grams.weighted_sum, functions, projections, costs)
        scores = class_scores(held_out, self._codewords)
        theta = np.mean([function.scales for function in functions], axis=0)
        theta /= max((theta**self._p).sum() ** (1.0 / self._p), np.finfo(float).tiny)
        return held_out_loss(scores, self._labels, self._weights), theta

    def _fit_bits(self, costs: Array) -> tuple[list[KernelFunction], Array]:
        """Fit each bit, then update its kernel weights by block 2."""
        projections = np.empty(self._targets.shape)
        functions: list[KernelFunction] = []
        known: dict[bytes, int] = {}
        for bit, target in enumerate(self._targets.T):
            twin = known.setdefault((target * target[0]).tobytes(), bit)
            if twin != bit:  # the same SVM, up to the sign
                sign = float(target[0] * self._targets[0, twin])
                functions.append(functions[twin].scaled(sign))
                projections[:, bit] = sign * projections[:, twin]
                continue
            theta = self._theta[bit].copy()
            svm = solve_svm(self._grams, theta, target, costs)
            functions.append(KernelFunction(svm.support, svm.coefficients, theta, svm.intercept))
            projections[:, bit] = svm.projections
            self._theta[bit] = weigh_kernels(svm.squared_norms, theta, self._p)
        return functions, projections
