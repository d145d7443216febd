"""Error-correcting output codes (Dietterich and Bakiri, JAIR 1995)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.svm import SVC

from shlcore.baselines.base import AnchorHash
from shlcore.codewords import spread_codewords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array
    from shlcore.kernels import Kernel

CODEBOOKS = ("spread", "one-hot")
LEARNERS = ("ridge", "svm")


class ECOC(AnchorHash):
    """Fixed codewords, whose bits are learnt independently by kernel machines.

    The same as *SHL without its second and third block: the same codewords for the same seed, the
    mean of its kernels, and only the bits are learnt.

    Parameters
    ----------
    n_bits : int, default=5
        Length of spread codewords.
    codebook : {"spread", "one-hot"}, default="spread"
        Codewords far apart, or one bit for each class (then ``n_bits`` does not count).
    learner : {"ridge", "svm"}, default="ridge"
        Kernel ridge regression of the bits +1 and -1, or a support vector machine.
    cost : float, default=1.0
        C of the support vector machines; ridge regression adds 1 / cost to the diagonal.
    kernels : list of kernels (`shlcore.kernels`) or None
        Whose mean is used, on columns scaled to [0, 1]; None: one Gaussian, as in KSH.
    random_state : int, RandomState or None
        Draws the codewords.

    Attributes
    ----------
    codewords_ : (n_classes, bits) array of -1 and +1
    coefficients_ : (n, bits) array
        Of the kernels to the training rows in each bit.
    intercepts_ : (bits,) array
    """

    targets = "required"

    def __init__(
        self,
        *,
        n_bits: int = 5,
        codebook: Literal["spread", "one-hot"] = "spread",
        learner: Literal["ridge", "svm"] = "ridge",
        cost: float = 1.0,
        kernels: Sequence[Kernel] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # scikit-learn reads the parameters from this signature, so there is no shared constructor.
        self.n_bits = n_bits
        self.codebook = codebook
        self.learner = learner
        self.cost = cost
        self.kernels = kernels
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState, classes: NDArray[np.int64]) -> None:
        for name, wanted in (("codebook", CODEBOOKS), ("learner", LEARNERS)):
            if getattr(self, name) not in wanted:
                raise ValueError(f"{name}: wanted one of {wanted}, got {getattr(self, name)!r}")
        if not self.cost > 0:
            raise ValueError(f"cost: wanted a number above 0, got {self.cost!r}")
        count = int(classes.max()) + 1
        if self.codebook == "one-hot":
            words = 2.0 * np.eye(count) - 1.0
        else:
            # Drawn as in `shlcore.SHL`, so that both have the same codewords for the same seed.
            drawn = np.random.default_rng(rng.randint(2**31 - 1))
            words = spread_codewords(count, 1, self.n_bits, drawn)[:, 0].astype(float)
        self.codewords_ = words
        K = self._draw_anchors(X, rng, None)
        learn = _ridge if self.learner == "ridge" else _machines
        self.coefficients_, self.intercepts_ = learn(K, words[classes], self.cost)

    def _project(self, X: Array) -> Array:
        return np.asarray(self._kernels(X) @ self.coefficients_ + self.intercepts_)


def _ridge(K: Array, targets: Array, cost: float) -> tuple[Array, Array]:
    """Return ``(K + 1/cost)^-1`` times the centred targets, and their means."""
    means = targets.mean(axis=0)
    system = cho_factor(K + np.eye(len(K)) / cost)
    return np.asarray(cho_solve(system, targets - means)), means


def _machines(K: Array, targets: Array, cost: float) -> tuple[Array, Array]:
    """Fit a support vector machine to each column that is not constant."""
    coefficients, intercepts = np.zeros(targets.shape), targets[0].copy()
    for bit, column in enumerate(targets.T):
        if (column == column[0]).all():
            continue
        machine = SVC(C=cost, kernel="precomputed").fit(K, column)
        coefficients[machine.support_, bit] = machine.dual_coef_[0]
        intercepts[bit] = machine.intercept_[0]
    return coefficients, intercepts
