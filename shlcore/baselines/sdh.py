"""Supervised Discrete Hashing (Shen, Shen, Liu and Shen, CVPR 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from shlcore.baselines.base import AnchorHash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array
    from shlcore.kernels import Kernel


class SDH(AnchorHash):
    """Binary codes for a linear classifier of the classes, without relaxation.

    Minimises ``|Y - B W|^2 + classifier_penalty |W|^2 + fitting |B - F(X)|^2`` over the
    classifier W, the codes B (entries +1 and -1) and the hash functions F, which combine
    Gaussian kernels to anchors. Each step is exact: W by ridge regression, F by least
    squares, B bit after bit (discrete cyclic coordinate descent).

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    n_anchors : int or None, default=1000
        Training rows drawn as anchors; None takes all.
    kernels : list of kernels (`shlcore.kernels`) or None
        Whose mean takes the place of the Gaussian; they see columns scaled to [0, 1].
    classifier_penalty : float, default=1.0
        lambda in the publication.
    fitting : float, default=1e-5
        nu in the publication.
    ridge : float, default=1e-9
        Penalty of the hash functions, as a share of the trace of their least-squares system;
        the publication has none.
    max_iter : int, default=5
        Rounds over W, B and F.
    random_state : int, RandomState or None
        Draws anchors and the first codes.

    Attributes
    ----------
    anchors_ : (n_anchors, n_features) array
        The anchors.
    width_ : float
        The Gaussian kernel is ``exp(-d^2 / (2 width))``: the mean squared distance to them.
        Absent where kernels were given.
    coefficients_ : (n_anchors, n_bits) array
        Of the kernels in each bit.
    n_iter_ : int
        Rounds done.
    objectives_ : array
        The objective at first, and after each round.
    """

    targets = "required"

    def __init__(
        self,
        *,
        n_bits: int = 5,
        n_anchors: int | None = 1000,
        kernels: Sequence[Kernel] | None = None,
        classifier_penalty: float = 1.0,
        fitting: float = 1e-5,
        ridge: float = 1e-9,
        max_iter: int = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # scikit-learn reads the parameters from this signature, so there is no shared constructor.
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.kernels = kernels
        self.classifier_penalty = classifier_penalty
        self.fitting = fitting
        self.ridge = ridge
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState, classes: NDArray[np.int64]) -> None:
        kernels = self._draw_anchors(X, rng, self.n_anchors)
        gram = kernels.T @ kernels
        # The ridge keeps the least-squares system definite if anchors are equal.
        gram[np.diag_indices_from(gram)] += self.ridge * np.trace(gram)
        system = cho_factor(gram)
        Y = np.eye(int(classes.max()) + 1)[classes]
        B = np.where(rng.standard_normal((len(X), self.n_bits)) > 0, 1.0, -1.0)
        W, P = self._classifier(B, Y), cho_solve(system, kernels.T @ B)
        objectives = [self._objective(Y, B, W, kernels @ P)]
        for _ in range(self.max_iter):
            B = _cyclic_descent(B, W, Y @ W.T + self.fitting * (kernels @ P))
            W, P = self._classifier(B, Y), cho_solve(system, kernels.T @ B)
            objectives.append(self._objective(Y, B, W, kernels @ P))
        self.coefficients_, self.objectives_ = P, np.array(objectives)
        self.n_iter_ = len(objectives) - 1

    def _classifier(self, B: Array, Y: Array) -> Array:
        ridge = self.classifier_penalty * np.eye(self.n_bits)
        return np.asarray(np.linalg.solve(B.T @ B + ridge, B.T @ Y), dtype=np.float64)

    def _objective(
        self,
        Y: Array,
        B: Array,
        W: Array,
        F: Array,
    ) -> float:
        classified = ((Y - B @ W) ** 2).sum() + self.classifier_penalty * (W**2).sum()
        return float(classified + self.fitting * ((B - F) ** 2).sum())

    def _project(self, X: Array) -> Array:
        return np.asarray(self._kernels(X) @ self.coefficients_)


def _cyclic_descent(B: Array, W: Array, Q: Array, sweeps: int = 10) -> Array:
    """Minimise ``|B W|^2 - 2 tr(B' Q)`` bit by bit, each exactly, the others held."""
    B = B.copy()
    products = W @ W.T
    for _ in range(sweeps):
        changed = False
        for bit in range(B.shape[1]):
            others = B @ products[:, bit] - B[:, bit] * products[bit, bit]
            pull = Q[:, bit] - others
            new = np.where(pull == 0, B[:, bit], np.sign(pull))
            changed |= bool((new != B[:, bit]).any())
            B[:, bit] = new
        if not changed:
            break
    return B
