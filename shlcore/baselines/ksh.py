"""Kernel-Based Supervised Hashing (Liu, Wang, Ji, Jiang and Chang, CVPR 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, eigh, qr, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from shlcore.baselines.base import AnchorHash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array
    from shlcore.kernels import Kernel


class KSH(AnchorHash):
    """Bits learnt one after another so that code products approach the pairs' labels.

    With S = +1 for pairs of one class and -1 otherwise, the codes H minimise
    ``|H H' - n_bits S|^2`` greedily: each bit fits the residual of the earlier ones. A bit is
    the sign of a combination of centred kernels to anchors, found by an eigenproblem
    and refined on a sigmoid in place of the sign. The better of the two is kept.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    n_anchors : int or None, default=300
        Training rows drawn as anchors; None takes all.
    n_labelled : int or None, default=1000
        Training rows drawn for the pairs; None takes all.
    kernels : list of kernels (`shlcore.kernels`) or None
        Whose mean takes the place of the Gaussian; they see columns scaled to [0, 1].
    ridge : float, default=1e-9
        Penalty of the eigenproblem, as a share of its trace; the publication has none.
    max_iter : int, default=100
        Steps of the refinement of a bit (L-BFGS).
    random_state : int, RandomState or None
        Draws anchors and pairs.

    Attributes
    ----------
    anchors_ : (n_anchors, n_features) array
        The anchors.
    width_ : float
        The Gaussian kernel is ``exp(-d^2 / (2 width))``: the mean squared distance to them.
        Absent where kernels were given.
    centre_ : (n_anchors,) array
        Mean kernel values of the training rows.
    coefficients_ : (n_anchors, n_bits) array
        Of the kernels in each bit.
    n_iter_ : int
        Steps of the longest refinement.
    losses_ : (n_bits + 1,) array
        ``|H H' - n_bits S|^2`` before the first bit, and after each.
    """

    targets = "required"

    def __init__(
        self,
        *,
        n_bits: int = 5,
        n_anchors: int | None = 300,
        n_labelled: int | None = 1000,
        kernels: Sequence[Kernel] | None = None,
        ridge: float = 1e-9,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # scikit-learn reads the parameters from this signature, so there is no shared constructor.
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_labelled = n_labelled
        self.kernels = kernels
        self.ridge = ridge
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState, classes: NDArray[np.int64]) -> None:
        kernels = self._draw_anchors(X, rng, self.n_anchors)
        self.centre_ = kernels.mean(axis=0)
        count = len(X) if self.n_labelled is None else min(self.n_labelled, len(X))
        labelled = rng.choice(len(X), count, replace=False)
        K = kernels[labelled] - self.centre_
        residual = _pair_labels(classes[labelled], self.n_bits)
        products = K.T @ K
        # The ridge keeps the eigenproblem definite if anchors are as many as rows, or equal.
        products[np.diag_indices_from(products)] += self.ridge * np.trace(products) + 1e-12
        factor = cholesky(products, lower=True)
        self.n_iter_ = 0
        losses, coefficients = [residual.squared_norm()], []
        for _ in range(self.n_bits):
            start = _spectral(K, residual, factor)
            refined, steps = _smooth(K, residual, start, self.max_iter)
            a = _best_candidate(K, residual, start, refined)
            bits = np.where(K @ a > 0, 1.0, -1.0)
            residual = residual.subtract(bits)
            losses.append(residual.squared_norm())
            coefficients.append(a)
            self.n_iter_ = max(self.n_iter_, steps)
        self.coefficients_, self.losses_ = np.column_stack(coefficients), np.array(losses)

    def _project(self, X: Array) -> Array:
        return np.asarray((self._kernels(X) - self.centre_) @ self.coefficients_)


@dataclass(frozen=True, slots=True, eq=False)
class PairResidual:
    """Residual of the pairs' labels, ``U diag(d) U'``: n x n and of low rank.

    U has one column for each class and each bit so far, far fewer than rows.
    """

    columns: Array
    factors: Array

    def times(self, v: Array) -> Array:
        """Return the product with a vector."""
        return np.asarray(self.columns @ (self.factors * (self.columns.T @ v)))

    def subtract(self, bits: Array) -> PairResidual:
        """Return the residual after one more bit."""
        return PairResidual(np.column_stack([self.columns, bits]), np.append(self.factors, -1.0))

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        products = (self.columns.T @ self.columns) * self.factors
        return float((products * products.T).sum())


def _pair_labels(classes: NDArray[np.int64], n_bits: int) -> PairResidual:
    """Return n_bits times +1 for pairs of one class, -1 for others: ``2 Y Y' - 1 1'``."""
    indicators = np.eye(int(classes.max()) + 1)[classes]
    columns = np.column_stack([indicators, np.ones(len(classes))])
    factors = np.full(columns.shape[1], 2.0 * n_bits)
    factors[-1] = -n_bits
    return PairResidual(columns, factors)


def _spectral(K: Array, residual: PairResidual, factor: Array) -> Array:
    """Maximise ``(K a)' residual (K a)`` with ``|K a|^2`` fixed at the number of rows.

    ``factor`` is the Cholesky factor L of ``K' K``. With ``V = L^-1 K' U`` the problem is that of
    the largest eigenvalue of ``V diag(d) V'``, which lies in the few columns of V.
    """
    V = solve_triangular(factor, K.T @ residual.columns, lower=True)
    Q, T = qr(V, mode="economic")
    largest = eigh(T @ (residual.factors[:, None] * T.T))[1][:, -1]
    a = solve_triangular(factor, Q @ largest, lower=True, trans="T")
    return np.asarray(a * np.sqrt(len(K)))


def _smooth(K: Array, residual: PairResidual, start: Array, steps: int) -> tuple[Array, int]:
    """Maximise ``s' residual s``, ``s = 2 / (1 + exp(-K a)) - 1``; return a and steps."""

    def loss(a: Array) -> tuple[float, Array]:
        s = 2 * expit(K @ a) - 1
        pull = residual.times(s)
        return -float(s @ pull), -(K.T @ (pull * (1 - s**2)))

    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(result.x), int(result.nit)


def _best_candidate(K: Array, residual: PairResidual, *candidates: Array) -> Array:
    """Return the coefficients whose bits, not their relaxation, fit the residual best."""
    signs = [np.where(K @ a > 0, 1.0, -1.0) for a in candidates]
    return candidates[int(np.argmax([bits @ residual.times(bits) for bits in signs]))]
