"""Which class a region is of by what a network sees in it: a ridge from the marked regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.learning.supervision import Supervision

_RIDGE = 0.1
_STEEPNESS = 1.5
"""Of a belief: with two classes, the sigmoid of three times g."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderBelief:
    """How far each region leans to each class: regions x classes, 1 for the class, -1 against."""

    leaning: NDArray[np.float64]

    @classmethod
    def of(cls, seen: NDArray[np.float64], supervision: Supervision) -> EncoderBelief:
        """Learn from the marked regions, with all classes counting alike.

        ``seen`` is regions x channels, of length 1, by `segapp.picture.encoded_regions`.
        """
        marked = supervision.labels >= 0
        labels, x = supervision.labels[marked], seen[supervision.rows[marked]]
        n_classes = len(supervision.classes)
        counts = np.bincount(labels, minlength=n_classes)
        weights = len(labels) / (n_classes * counts[labels])
        targets = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
        weighted = x * weights[:, None]
        normal = weighted.T @ x + _RIDGE * np.eye(x.shape[1])
        return cls(seen @ np.linalg.solve(normal, weighted.T @ targets))

    def costs(self) -> NDArray[np.float64]:
        """Return what each class costs more than the best, at the most 1."""
        cut = np.clip(self.leaning, -1.0, 1.0)
        return np.asarray((cut.max(axis=1, keepdims=True) - cut) / 2.0)

    def beliefs(self) -> NDArray[np.float64]:
        """Return how likely the classes are; each row sums to 1."""
        likely = np.exp(_STEEPNESS * (self.leaning - self.leaning.max(axis=1, keepdims=True)))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))
