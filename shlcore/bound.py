"""Bounds on the expected Hamming distance between codes and their codewords.

`theorem_1` is that of the paper as printed, which can fail: its complexity falls with N^(-3/4),
and R is taken from the learnt functions. `margin_bound` is valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shlcore.estimator import SHL


@dataclass(frozen=True, slots=True)
class Bound:
    """The three terms of a bound and their sum.

    Parameters
    ----------
    margin_error
        Mean shortfall of the bits' margins below rho, at most 1 a bit (er-hat).
    complexity
        Rademacher complexity of functions of such norms.
    confidence
        Deviation that a random sample exceeds with probability delta.
    """

    margin_error: float
    complexity: float
    confidence: float

    @property
    def total(self) -> float:
        """Bound on er with probability 1 - delta."""
        return self.margin_error + self.complexity + self.confidence


def theorem_1(
    model: SHL,
    X: ArrayLike,
    y: ArrayLike,
    *,
    rho: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    """Compute Theorem 1 as printed, which can fail.

    Noise labels and a narrow Gaussian violate it. The terms are those of the paper's eq. (4-33),
    ``2 R / rho * sqrt(r M^(1/p') sqrt(p' / N^3))`` and ``sqrt(log(1 / delta) / (2 N))``; R is the
    largest norm of the model's hash functions, and r = 1, since all our kernels have k(x, x) = 1.

    Parameters
    ----------
    model
        FitResult with labels only, one codeword a class.
    X, y
        The training samples and their labels.
    rho
        Margin, chosen before the samples are known.
    delta
        Probability that the bound fails, if the theorem were true.

    Returns
    -------
    Bound
        See `margin_bound` for a valid bound.
    """
    margin_error = _margin_error(model, X, y, rho, delta)
    n, n_kernels = len(np.asarray(y)), model.kernel_weights_.shape[1]
    conjugate = model.p / (model.p - 1.0)
    radius = float(model.function_norms().max())
    root = np.sqrt(n_kernels ** (1.0 / conjugate) * np.sqrt(conjugate / n**3))
    return Bound(
        margin_error,
        float(2.0 * radius / rho * root),
        float(np.sqrt(np.log(1.0 / delta) / (2.0 * n))),
    )


def margin_bound(
    model: SHL,
    X: ArrayLike,
    y: ArrayLike,
    *,
    rho: float = 1.0,
    delta: float = 0.05,
    fixed_codewords: bool = False,
) -> Bound:
    """Bound er, the expected share of bits that differ from the class's codeword.

    With probability 1 - delta over N independent samples, er is at most ``total``, for kernels
    with k(x, x) <= 1 (and a scaling) that were chosen before the samples were known.

    For one bit let ``a = R sqrt(c) + abs(beta)``, where R is the norm of its function, beta its
    offset and ``c = min((2 p' - 1) M^(1/p'), M)`` for M kernels under a p-norm with conjugate
    p'. Functions of at most that size have a Rademacher complexity of at most ``a sqrt(2 / N)``:
    Hoelder's inequality for the kernel weights, and for the moments of a Rademacher sum in a
    Hilbert space the constant 2 p' - 1. The margin loss is 1/rho-Lipschitz, which doubles that
    over rho. As a is not known in advance, each power of two gets a part of delta; so does
    each codebook, unless it was fixed.

    Parameters
    ----------
    model
        FitResult with labels only, one codeword a class.
    X, y
        The training samples and their labels.
    rho
        Margin, chosen before the samples are known.
    delta
        Probability that the bound fails.
    fixed_codewords
        Whether the codewords were chosen before the samples were known and did not change.

    Returns
    -------
    Bound
        Its terms and their sum.
    """
    margin_error = _margin_error(model, X, y, rho, delta)
    n, (n_bits, n_kernels) = len(np.asarray(y)), model.kernel_weights_.shape
    conjugate = model.p / (model.p - 1.0)
    spread = min((2.0 * conjugate - 1.0) * n_kernels ** (1.0 / conjugate), float(n_kernels))
    offsets = np.abs(model._result.hash.intercepts)
    size = float((model.function_norms() * np.sqrt(spread) + offsets).max())
    power = math.ceil(math.log2(max(size, np.finfo(float).tiny)))
    index = 2 * abs(power) + (power < 0)
    log_inverse = math.log((index + 1) * (index + 2) / delta)
    if not fixed_codewords:
        log_inverse += len(model.classes_) * n_bits * math.log(2.0)
    complexity = 2.0 / rho * 2.0**power * math.sqrt(2.0 / n)
    return Bound(margin_error, complexity, math.sqrt(log_inverse / (2.0 * n)))


def _margin_error(model: SHL, X: ArrayLike, y: ArrayLike, rho: float, delta: float) -> float:
    """Check the arguments of a bound, and return its first term."""
    check_is_fitted(model)
    if not rho > 0:
        raise ValueError(f"rho: wanted a number above 0, got {rho!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta: wanted a number between 0 and 1, got {delta!r}")
    if model.codewords_.shape[1] != 1:
        raise ValueError(
            f"model: the bounds are about one codeword a class, got {model.codewords_.shape[1]}"
        )
    labels = np.asarray(y)
    classes = np.searchsorted(model.classes_, labels)
    classes = np.minimum(classes, len(model.classes_) - 1)
    if not np.array_equal(model.classes_[classes], labels):
        raise ValueError("y: wanted labels of the model's classes for every sample, got others")
    margins = model.project(X) * model.codewords_[classes, 0]
    return float(np.clip(1.0 - margins / rho, 0.0, 1.0).mean())
