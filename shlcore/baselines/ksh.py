"""Kernel-Based Supervised Hashing (Liu, Wang, Ji, Jiang and Chang, CVPR 2012)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.special import expit

from shlcore.baselines.anchors import AnchorHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array


class KSH(AnchorHash):
    """Bits learnt one after another so that code products approach the pairs' labels.

    With S = +1 for pairs of one class and -1 otherwise, the codes H minimise
    ``|H H' - n_bits S|^2`` greedily: each bit fits what the earlier ones left over. A bit is
    the sign of a combination of centred kernels to anchors, found by an eigenproblem
    and refined on a sigmoid in place of the sign. The better of the two is kept.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    n_anchors : int, default=300
        Training rows drawn as anchors.
    n_labelled : int, default=1000
        Training rows drawn for the pairs.
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
        n_anchors: int = 300,
        n_labelled: int = 1000,
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # One line each: scikit-learn's get_params reads this very signature.
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_labelled = n_labelled
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState, classes: NDArray[np.int64]) -> None:
        kernels = self._draw_anchors(X, rng)
        self.centre_ = kernels.mean(axis=0)
        labelled = rng.choice(len(X), min(self.n_labelled, len(X)), replace=False)
        K = kernels[labelled] - self.centre_
        drawn = classes[labelled]
        residue = self.n_bits * np.where(drawn[:, None] == drawn[None, :], 1.0, -1.0)
        products = K.T @ K
        # Anchors may be as many as rows, or alike: keep the eigenproblem definite.
        products[np.diag_indices_from(products)] += 1e-9 * np.trace(products) + 1e-12
        self.n_iter_ = 0
        losses, coefficients = [(residue**2).sum()], []
        for _ in range(self.n_bits):
            start = _spectral(K, residue, products)
            refined, steps = _smooth(K, residue, start, self.max_iter)
            a = _better(K, residue, start, refined)
            bits = np.where(K @ a > 0, 1.0, -1.0)
            residue -= np.outer(bits, bits)
            losses.append((residue**2).sum())
            coefficients.append(a)
            self.n_iter_ = max(self.n_iter_, steps)
        self.coefficients_, self.losses_ = np.column_stack(coefficients), np.array(losses)

    def _project(self, X: Array) -> Array:
        return np.asarray((self._kernels(X) - self.centre_) @ self.coefficients_)


def _spectral(K: Array, residue: Array, products: Array) -> Array:
    """Maximise ``(K a)' residue (K a)`` with ``|K a|^2`` fixed at the number of rows."""
    last = len(products) - 1
    a = eigh(K.T @ (residue @ K), products, subset_by_index=[last, last], driver="gvx")[1][:, 0]
    return np.asarray(a * np.sqrt(len(K)))


def _smooth(K: Array, residue: Array, start: Array, steps: int) -> tuple[Array, int]:
    """Maximise ``s' residue s``, ``s = 2 / (1 + exp(-K a)) - 1``; the answer and the steps."""

    def loss(a: Array) -> tuple[float, Array]:
        s = 2 * expit(K @ a) - 1
        pull = residue @ s
        return -float(s @ pull), -(K.T @ (pull * (1 - s**2)))

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x), int(found.nit)


def _better(K: Array, residue: Array, *candidates: Array) -> Array:
    """Pick the coefficients whose bits, not whose relaxation, fit the residue best."""
    signs = [np.where(K @ a > 0, 1.0, -1.0) for a in candidates]
    return candidates[int(np.argmax([bits @ residue @ bits for bits in signs]))]
