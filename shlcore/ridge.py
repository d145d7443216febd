"""Ridge regression for all bits at once: the half of ADMM that all rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

if TYPE_CHECKING:
    from shlcore.array_types import Array, Floats

_CG_STEPS = 8
_CG_TOLERANCE = 1e-8
"""Conjugate gradients stop after so many steps, or when the squared residual is so small a
share: 1e-4 of the residual itself, a tenth of what ADMM asks for at the default ``tol``. On
usps and pendigits 2, 4 and 16 steps take ADMM as many sweeps as 8 do, since each sweep goes on
from the last."""

_LEAST_WEIGHT = 1e-9
"""A kernel of weight 0 would divide by 0. With this share of the largest weight its w is as
good as 0."""

_SINGLE_PRECISION_FROM = 3000
"""Features from which on matrices of single precision spare half of the memory and of the
time; below, neither counts. With single precision everywhere usps and pendigits have the same
eq. (6) and sweeps to all digits that were looked at."""

_TINY = np.float32(1e-12)
"""Keeps a division by a direction of length 0 from failing."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """``Z' Z`` of some rows after their mean is taken off, the means, and the count."""

    matrix: Array
    mean: Array
    count: int


class Ridge:
    """Minimises ``rho_b/2 ||Z w + beta - r_b||^2 + 1/2 sum_m ||w_m||^2 / theta_bm`` for all b.

    The bits' matrices ``G + diag(1 / (rho_b theta_b))`` differ on the diagonal alone: the
    inverse of one between them preconditions conjugate gradients for all.
    """

    def __init__(self, gram: Gram, columns: Array, rho: Array) -> None:
        self._gram = gram
        double = len(gram.mean) < _SINGLE_PRECISION_FROM
        self._dtype = np.dtype(np.float64 if double else np.float32)
        self._theta = np.maximum(columns, _LEAST_WEIGHT * columns.max())
        ridge = 1.0 / (rho * self._theta)
        self._ridge = ridge.astype(self._dtype)
        self._matrix = gram.matrix.astype(self._dtype)
        between = gram.matrix + np.diag(np.exp(np.log(ridge).mean(axis=1)))
        factor = cho_factor(between, overwrite_a=True, check_finite=False)
        unit = np.eye(len(between))
        inverse = cho_solve(factor, unit, overwrite_b=True, check_finite=False)
        self._inverse = inverse.astype(self._dtype)

    def solve(self, products: Array, sums: Array, start: Array) -> tuple[Array, Array]:
        """Return w and beta, given ``Z' r``, ``1' r`` and a w to begin with."""
        right = (products - np.outer(self._gram.mean, sums)).astype(self._dtype)
        w = start.astype(self._dtype)
        residual = right - self._apply(w)
        direction = ahead = self._inverse @ residual
        length = (residual * ahead).sum(axis=0)
        scale = np.abs((right * w).sum(axis=0))
        for _ in range(_CG_STEPS):
            if (length <= _CG_TOLERANCE * scale).all():
                break
            image = self._apply(direction)
            step = length / np.maximum((direction * image).sum(axis=0), _TINY)
            w = w + step * direction
            residual = residual - step * image
            ahead = self._inverse @ residual
            before, length = length, (residual * ahead).sum(axis=0)
            direction = ahead + length / np.maximum(before, _TINY) * direction
        weights = w.astype(np.float64)
        return weights, sums / self._gram.count - self._gram.mean @ weights

    def penalty(self, weights: Array) -> Array:
        """Return ``1/2 sum_m ||w_m||^2 / theta_m`` of each bit."""
        return np.asarray(0.5 * (weights**2 / self._theta).sum(axis=0))

    def _apply(self, w: Floats) -> Floats:
        return np.asarray(self._matrix @ w + self._ridge * w)
