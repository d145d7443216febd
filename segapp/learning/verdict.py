"""What the learner says about the prototypes: a class, its costs, a margin and a hash code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shlcore.assignments import hinge_distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.learning.supervision import Supervision
    from shlcore import SHL, Grams
    from shlcore.estimator import FitStep


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What was learnt about each prototype: the learner's side of an answer.

    Parameters
    ----------
    labels
        Position of its class in the supervision's ``classes``.
    costs
        Prototypes x classes: how far f, cut to [-1, 1], is from the nearest codeword of the
        class, as a share of the bits, from 0 to 1.
    margin
        Second-best minus best class in hinge distance.
    codes
        The hash code, first bit lowest.
    """

    labels: NDArray[np.intp]
    costs: NDArray[np.float64]
    margin: NDArray[np.float32]
    codes: NDArray[np.uint32]

    def leaning(self, background: int, threshold: float) -> Verdict:
        """Return the verdict with one class dearer by ``threshold``, so that others gain."""
        costs = self.costs.copy()
        costs[:, background] += threshold
        return replace(self, costs=costs, labels=costs.argmin(axis=1))

    @classmethod
    def of(cls, step: FitStep, model: SHL, grams: Grams, supervision: Supervision) -> Verdict:
        """Judge the prototypes that are learnt from by a step and what it has come to."""
        n = supervision.n_prototypes
        projections = step.projections[:n]
        if np.isnan(projections).any():  # rows that took no part in the fit
            projections = model.project(grams)[:n]
        return cls.judged(model, projections, model.transduction_[:n])

    @classmethod
    def judged(
        cls, model: SHL, projections: NDArray[np.float64], labels: NDArray[np.intp]
    ) -> Verdict:
        """Judge prototypes by f, given the classes they were assigned to."""
        n_bits = projections.shape[1]
        clipped = np.clip(projections, -1.0, 1.0)
        costs = hinge_distances(clipped, model.codewords_).min(axis=2) / (2.0 * n_bits)
        distances = np.sort(hinge_distances(projections, model.codewords_).min(axis=2), axis=1)
        margin = (distances[:, 1] - distances[:, 0]).astype(np.float32)
        powers = np.uint32(1) << np.arange(n_bits, dtype=np.uint32)
        codes = ((projections >= 0) * powers).sum(axis=1, dtype=np.uint32)
        return cls(labels, costs, margin, codes)
