"""Between strokes and learner.

What the marked pixels say about the prototypes, and what the learner says about the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from shlcore import SHL
from shlcore.assignments import hinge_distances

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from segapp.prototypes import Prototypes
    from segapp.settings import Settings
    from shlcore.estimator import FitStep

_UNLABELLED = -1
_LEAST_COVERAGE = 0.02
_FADING = 10
_LEAST_WEIGHT = 1e-9


def _unmarked_weight(marked: NDArray[np.int16], settings: Settings) -> float:
    """Return how much an unmarked pixel counts against a marked one.

    While strokes are few, what the unmarked pixels agree on is the best guess there is. With
    many, it would outvote the user: one stroke could turn a whole region over.
    """
    if not settings.few_strokes:
        return settings.unlabelled_weight
    classes = np.unique(marked[marked >= 0])
    count = sum(ndimage.label(marked == label)[1] for label in classes)
    fading = min(1.0, settings.few_strokes / count) ** _FADING
    return max(settings.unlabelled_weight * fading, _LEAST_WEIGHT)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What is to be learnt.

    Parameters
    ----------
    rows
        The prototype of each row. All prototypes come first, in order; one that holds the
        only strokes of a class besides more of another's comes again at the end.
    labels
        Position of the class in ``classes``, or -1.
    weights
        How much each row counts; the average prototype has weight 1.
    classes
        The document's classes that have marked pixels.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    classes: NDArray[np.intp]

    @classmethod
    def of(cls, prototypes: Prototypes, marked: NDArray[np.int16], settings: Settings) -> Lesson:
        """Give each prototype the class that most of its marked pixels have.

        It counts by the share of it that is marked and agrees: a stroke that only grazes a
        region says little about it.
        """
        classes = np.unique(marked[marked >= 0]).astype(np.intp)
        counts = np.stack([prototypes.count(marked == c) for c in classes], axis=1)
        total, most = counts.sum(axis=1), counts.max(axis=1)
        labels = np.where(total > 0, counts.argmax(axis=1), _UNLABELLED)
        sizes = prototypes.sizes / prototypes.sizes.mean()
        coverage = (2 * most - total) / prototypes.sizes
        weights = sizes * np.where(
            total > 0, np.maximum(coverage, _LEAST_COVERAGE), _unmarked_weight(marked, settings)
        )
        overruled = np.setdiff1d(np.arange(len(classes)), labels)
        again = counts[:, overruled].argmax(axis=0)
        share = np.maximum(counts[again, overruled] / prototypes.sizes[again], _LEAST_COVERAGE)
        return cls(
            np.concatenate((np.arange(len(prototypes)), again)),
            np.concatenate((labels, overruled)),
            np.concatenate((weights, sizes[again] * share)),
            classes,
        )

    @property
    def n_prototypes(self) -> int:
        """How many prototypes there are; rows after these repeat some."""
        return int(self.rows.max()) + 1

    def sources(self) -> list[NDArray[np.intp]]:
        """Return the prototypes under strokes of each class."""
        return [self.rows[self.labels == c] for c in range(len(self.classes))]

    def of_rows(self, grams: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel matrices of the rows, copied only where some repeat."""
        if len(self.rows) == grams.shape[1]:
            return grams
        return grams[:, self.rows[:, None], self.rows]


def learner(settings: Settings, **others: Any) -> SHL:  # noqa: ANN401 - SHL's own parameters
    """Return an estimator with a preset's parameters and others besides."""
    return SHL(
        n_bits=settings.bits,
        n_codewords=settings.codewords,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        p=settings.p,
        transductive=settings.transductive,
        random_state=settings.seed,
        **others,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What was learnt about each prototype.

    Parameters
    ----------
    labels
        Position of its class in the lesson's ``classes``.
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

    @classmethod
    def of(cls, step: FitStep, grams: NDArray[np.float64], lesson: Lesson) -> Answer:
        """Judge the prototypes of a lesson as far as they are learnt."""
        n = lesson.n_prototypes
        model, projections = step.snapshot(), step.projections[:n]
        if np.isnan(projections).any():
            projections = model.project(grams[:, :n])
        return cls.judged(model, projections, model.transduction_[:n])

    @classmethod
    def judged(
        cls, model: SHL, projections: NDArray[np.float64], labels: NDArray[np.intp]
    ) -> Answer:
        """Judge prototypes by f, given the classes they were assigned to."""
        n_bits = projections.shape[1]
        clipped = np.clip(projections, -1.0, 1.0)
        costs = hinge_distances(clipped, model.codewords_).min(axis=2) / (2.0 * n_bits)
        distances = np.sort(hinge_distances(projections, model.codewords_).min(axis=2), axis=1)
        margin = (distances[:, 1] - distances[:, 0]).astype(np.float32)
        powers = np.uint32(1) << np.arange(n_bits, dtype=np.uint32)
        codes = ((projections >= 0) * powers).sum(axis=1, dtype=np.uint32)
        return cls(labels, costs, margin, codes)
