"""Block 1: one weighted binary SVM on a weighted sum of kernels (eq. 7), by LIBSVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.svm import SVC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOLERANCE = 1e-6
"""LIBSVM's usual 1e-3 would leave each margin short by that much: times lambda1 and the
number of rows, the primal value could be twice the optimum. This costs few steps more."""


class Grams:
    """The M kernel matrices of the training rows, and products with their weighted sums."""

    def __init__(self, stack: Array) -> None:
        self._stack = np.ascontiguousarray(stack)

    @classmethod
    def of(cls, matrices: Iterable[Array], n_kernels: int, n_rows: int) -> Grams:
        """Gather matrices as they are made, so that each is held once."""
        stack = np.empty((n_kernels, n_rows, n_rows))
        for place, matrix in zip(stack, matrices, strict=True):
            place[:] = matrix
        return cls(stack)

    def __len__(self) -> int:
        return len(self._stack)

    @property
    def n_rows(self) -> int:
        """How many rows the matrices have."""
        return int(self._stack.shape[1])

    def weighted_sum(self, kernel_weights: Array, rows: NDArray[np.intp] | None = None) -> Array:
        """Return ``sum_m theta_m K_m``, of all rows or among some."""
        if rows is None or len(rows) == self.n_rows:
            # One product reads the stack once and makes no temporary.
            flat = kernel_weights @ self._stack.reshape(len(self), -1)
            return np.asarray(flat.reshape(self.n_rows, self.n_rows))
        total = np.zeros((len(rows), len(rows)))
        for weight, matrix in zip(kernel_weights, self._stack, strict=True):
            total += weight * matrix[np.ix_(rows, rows)]
        return total

    def products(self, support: NDArray[np.intp], coefficients: Array) -> Array:
        """Return ``K_m a`` of each kernel, ``M x n``, where ``a`` is 0 outside ``support``."""
        if 4 * len(support) < self.n_rows:
            # The matrices are symmetric: rows are read in one go, columns are not.
            return np.stack([coefficients @ matrix[support] for matrix in self._stack])
        full = np.zeros(self.n_rows)
        full[support] = coefficients
        return np.asarray(self._stack @ full)


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

    support: NDArray[np.intp]
    coefficients: Array
    intercept: float
    projections: Array
    squared_norms: Array


def solve_svm(grams: Grams, kernel_weights: Array, targets: NDArray[np.int8], costs: Array) -> Svm:
    """Minimise ``sum_n costs_n [1 - y_n f(x_n)]_+ + 1/2 sum_m ||w_m||^2 / theta_m``.

    Parameters
    ----------
    targets
        ``(n,)``, -1 or +1.
    costs
        ``(n,)``; rows of cost 0 take no part. When all that do have one target, there is no
        SVM: w = 0, and beta is that sign.
    """
    rows = np.flatnonzero(costs > 0)
    signs = targets[rows]
    if not rows.size or signs.min() == signs.max():
        sign = float(signs[0]) if rows.size else 1.0
        nobody = np.empty(0, dtype=np.intp)
        return Svm(nobody, np.empty(0), sign, np.full(grams.n_rows, sign), np.zeros(len(grams)))
    svc = SVC(kernel="precomputed", C=1.0, tol=TOLERANCE, cache_size=500)
    svc.fit(grams.weighted_sum(kernel_weights, rows), signs, sample_weight=costs[rows])
    support, coefficients = rows[svc.support_], svc.dual_coef_[0]
    intercept = float(svc.intercept_[0])
    products = grams.products(support, coefficients)
    # Rounding may push the quadratic form of a singular kernel below zero.
    forms = np.maximum(products[:, support] @ coefficients, 0.0)
    projections = kernel_weights @ products + intercept
    return Svm(support, coefficients, intercept, projections, kernel_weights**2 * forms)


def duality_gap(
    kernel_weights: Array, targets: NDArray[np.int8], costs: Array, svm: Svm
) -> tuple[float, float]:
    """Return the primal value of eq. (6) for one bit, and the dual value of eq. (7)."""
    used = kernel_weights > 0
    norm = float((svm.squared_norms[used] / kernel_weights[used]).sum())
    primal = costs @ np.maximum(1.0 - targets * svm.projections, 0.0) + 0.5 * norm
    dual = np.abs(svm.coefficients).sum() - 0.5 * norm
    return float(primal), float(dual)
