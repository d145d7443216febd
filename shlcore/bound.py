"""Theorem 1: a bound on the expected Hamming distance between codes and their codewords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shlcore.estimator import SHL


@dataclass(frozen=True, slots=True)
class Bound:
    """The three terms of Theorem 1 and their sum.

    Parameters
    ----------
    margin_error
        Share of bits whose margin falls short of rho, each by how much (er-hat).
    complexity
        ``2 R / rho * sqrt(r M^(1/p') sqrt(p' / N^3))``.
    confidence
        ``sqrt(log(1 / delta) / (2 N))``.
    """

    margin_error: float
    complexity: float
    confidence: float

    @property
    def total(self) -> float:
        """With probability 1 - delta, er is at most this."""
        return self.margin_error + self.complexity + self.confidence


def theorem_1(
    model: SHL,
    X: ArrayLike,
    y: ArrayLike,
    *,
    rho: float = 1.0,
    delta: float = 0.05,
) -> Bound:
    """Bound er, the expected share of a sample's bits that differ from its class's codeword.

    The terms are those of the paper's eq. (4-33), as printed; R is the largest norm of the
    model's hash functions, and r = 1, since all our kernels have k(x, x) = 1.

    Parameters
    ----------
    model
        Fitted with labels only, one codeword a class.
    X, y
        The training samples and their labels.
    rho
        Margin, chosen independently of the samples.
    delta
        Chance that the bound does not hold.
    """
    check_is_fitted(model)
    if not rho > 0:
        raise ValueError(f"rho: wanted a number above 0, got {rho!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta: wanted a number between 0 and 1, got {delta!r}")
    if model.codewords_.shape[1] != 1:
        raise ValueError(
            f"model: Theorem 1 holds for one codeword a class, got {model.codewords_.shape[1]}"
        )
    labels = np.asarray(y)
    classes = np.searchsorted(model.classes_, labels)
    classes = np.minimum(classes, len(model.classes_) - 1)
    if not np.array_equal(model.classes_[classes], labels):
        raise ValueError("y: wanted labels of the model's classes for every sample, got others")
    margins = model.project(X) * model.codewords_[classes, 0]
    margin_error = float(np.clip(1.0 - margins / rho, 0.0, 1.0).mean())
    n, n_kernels = len(labels), model.kernel_weights_.shape[1]
    conjugate = model.p / (model.p - 1.0)
    radius = float(model.function_norms().max())
    root = np.sqrt(n_kernels ** (1.0 / conjugate) * np.sqrt(conjugate / n**3))
    return Bound(
        margin_error,
        float(2.0 * radius / rho * root),
        float(np.sqrt(np.log(1.0 / delta) / (2.0 * n))),
    )
