"""Which class a region is of by what a network sees in it: a ridge from the marked regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.learning.supervision import Supervision

_RIDGE = 0.1
"""Against weights of 1 for each class and for the border; 0.03 and 0.3 are hardly different."""
_STEEPNESS = 5.0
"""Of a belief: with two classes, a sigmoid of so many times their difference. 10 is no better."""
_WEIGHT = 3.0
"""Of the costs where the evidence is 1; it mostly is 0.6 to 0.85, so that they count 1 to 2. From
dabs, on half of the tuning images, weights of 1, 2 and 3 whatever the evidence give an AUC of
0.951, 0.954 and 0.952; this gives 0.954, and does less harm where the network is blind."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRidge:
    """What the strokes say about what the network sees: a linear function, with a constant.

    Parameters
    ----------
    coefficients
        Channels + 1 x classes.
    evidence
        How well it tells a marked region's class when that region is left out: 1 is right and
        sure, 0 no better than a guess.
    """

    coefficients: NDArray[np.float64]
    evidence: float

    @classmethod
    def of(
        cls,
        seen: NDArray[np.float64],
        supervision: Supervision,
        border: NDArray[np.int64],
        background: int,
    ) -> EncoderRidge:
        """Learn from the marked regions, each class counting as much as the others.

        The unmarked border counts as much as a class does, as background where that has marks:
        without it everything that is like neither class would be in doubt, and mostly it is
        background that nobody has marked yet.

        Parameters
        ----------
        seen
            Regions x channels, of length 1, by `segapp.picture.encoded_regions`.
        border
            How many pixels of the border each region has.
        background
            The document's class of what is around.
        """
        known = supervision.labels >= 0
        rows, labels = supervision.rows[known], supervision.labels[known]
        weights = 1.0 / np.bincount(labels)[labels]
        around = np.where(supervision.labels[: len(seen)] < 0, border, 0)
        if background in supervision.classes and around.any():
            (ring,) = np.nonzero(around)
            rows = np.concatenate((rows, ring))
            label = np.searchsorted(supervision.classes, background)
            labels = np.concatenate((labels, np.full(len(ring), label)))
            weights = np.concatenate((weights, around[ring] / around.sum()))
        targets = (labels[:, None] == np.arange(len(supervision.classes))).astype(np.float64)
        coefficients, left_out = ridge(_with_constant(seen[rows]), weights, targets, _RIDGE)
        marked = slice(0, np.count_nonzero(known))
        return cls(coefficients, evidence_of(left_out[marked], labels[marked]))

    def belief(self, seen: NDArray[np.float64]) -> EncoderBelief:
        """Judge regions, of this picture or of another."""
        return EncoderBelief(_with_constant(seen) @ self.coefficients, self.evidence)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderBelief:
    """How well each class fits each region: regions x classes, near 1 for one, near 0 for others.

    ENCODER.md among the benchmarks has what was measured, and what else was tried.
    """

    fit: NDArray[np.float64]
    evidence: float

    def columns(self) -> NDArray[np.float64]:
        """Return features for kernels: with two classes, from -1 to 1 and the other way round."""
        return np.asarray(2.0 * (self.fit - self.fit.mean(axis=1, keepdims=True)))

    def costs(self) -> NDArray[np.float64]:
        """Return what each class costs more than the best; the less, the less evidence."""
        behind = self.fit.max(axis=1, keepdims=True) - self.fit
        return np.asarray(_WEIGHT * self.evidence**2 * np.minimum(behind, 1.0))

    def mixed_with(self, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half of what others believe and half of this; rows sum to 1."""
        likely = np.exp(_STEEPNESS * (self.fit - self.fit.max(axis=1, keepdims=True)))
        return np.asarray(0.5 * (beliefs + likely / likely.sum(axis=1, keepdims=True)))


def _with_constant(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate((seen, np.ones((len(seen), 1))), axis=1)


def evidence_of(left_out: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Return how far ahead the right class is on average, all classes counting alike.

    A class with one region says nothing: without that one, it is not there.
    """
    own = np.take_along_axis(left_out, labels[:, None], axis=1)[:, 0]
    others = left_out.copy()
    np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
    ahead = np.clip(own - others.max(axis=1), -1.0, 1.0)
    counts = np.bincount(labels)
    several = counts > 1
    if not several.any():
        return 1.0
    means = np.bincount(labels, ahead)[several] / counts[several]
    return max(0.0, float(means.mean()))


def ridge(
    x: NDArray[np.float64],
    weights: NDArray[np.float64],
    targets: NDArray[np.float64],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return B with the smallest ``sum_i w_i |x_i B - y_i|² + penalty |B|²``, and its evidence.

    That is what each row would be given if it were left out, in closed form. By rows or by
    columns, whichever are fewer: a network may have many channels.
    """
    if len(x) < x.shape[1]:
        inverse = np.linalg.inv(x @ x.T + np.diag(penalty / weights))
        dual = inverse @ targets
        return x.T @ dual, targets - dual / np.diag(inverse)[:, None]
    weighted = x.T * weights
    inverse = np.linalg.inv(weighted @ x + penalty * np.eye(x.shape[1]))
    coefficients = inverse @ (weighted @ targets)
    own = np.einsum("ij,ji->i", x @ inverse, weighted)[:, None]
    return coefficients, targets - (targets - x @ coefficients) / (1.0 - own)
