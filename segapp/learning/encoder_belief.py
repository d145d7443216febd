"""Which class a region is of by what a network sees in it: a ridge from the marked regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.learning.supervision import Supervision

_RIDGE = 0.1
_STEEPNESS = 5.0
_WEIGHT = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRidge:
    """What the strokes say about what the network sees: a linear function, with a constant.

    ``coefficients`` is channels + 1 x classes.
    """

    coefficients: NDArray[np.float64]

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
        return cls(ridge(_with_constant(seen[rows]), weights, targets, _RIDGE))

    def belief(self, seen: NDArray[np.float64]) -> EncoderBelief:
        """Judge regions, of this picture or of another."""
        return EncoderBelief(_with_constant(seen) @ self.coefficients)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderBelief:
    """How well each class fits each region: regions x classes, near 1 for one, near 0 for others.

    ENCODER.md among the benchmarks has what was measured, and what else was tried.
    """

    fit: NDArray[np.float64]

    def columns(self) -> NDArray[np.float64]:
        """Return features for kernels: with two classes, from -1 to 1 and the other way round."""
        return np.asarray(2.0 * (self.fit - self.fit.mean(axis=1, keepdims=True)))

    def costs(self) -> NDArray[np.float64]:
        """Return what each class costs more than the best."""
        behind = self.fit.max(axis=1, keepdims=True) - self.fit
        return np.asarray(_WEIGHT * np.minimum(behind, 1.0))

    def mixed_with(self, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half of what others believe and half of this; rows sum to 1."""
        likely = np.exp(_STEEPNESS * (self.fit - self.fit.max(axis=1, keepdims=True)))
        return np.asarray(0.5 * (beliefs + likely / likely.sum(axis=1, keepdims=True)))


def _with_constant(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate((seen, np.ones((len(seen), 1))), axis=1)


def ridge(
    x: NDArray[np.float64],
    weights: NDArray[np.float64],
    targets: NDArray[np.float64],
    penalty: float,
) -> NDArray[np.float64]:
    """Return B with the smallest ``sum_i w_i |x_i B - y_i|² + penalty |B|²``.

    By rows or by columns, whichever are fewer: a network may have many channels.
    """
    if len(x) < x.shape[1]:
        inner = x @ x.T + np.diag(penalty / weights)
        return np.asarray(x.T @ np.linalg.solve(inner, targets))
    weighted = x.T * weights
    normal = weighted @ x + penalty * np.eye(x.shape[1])
    return np.asarray(np.linalg.solve(normal, weighted @ targets))
