"""The classifier of regions: training rows, estimator and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import ndimage

from shlcore import SHL
from shlcore.hinge import hinge_distances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from segapp.engine.superpixels import Prototypes
    from segapp.model.settings import Settings
    from shlcore.estimator import FitStep
    from shlcore.kernels import Kernel


UNLABELLED = -2
"""Not -1, which might be a class elsewhere, so that `SHL` warns where it occurs as often."""
_LEAST_COVERAGE = 0.02
"""A row of weight 0 would be left out; a stroke that only grazes a region counts a little."""
_FADING = 10
"""Power by which unmarked pixels lose their weight after `Settings.few_strokes`. So steep that it
nearly is a switch: with 6 strokes instead of 3 they count a thousandth. Slower fading was tried
as fixed weights from 0.02 to 0.001 (NOTES.md), none of which was better at both ends."""
_LEAST_WEIGHT = 1e-9
"""Negligible, and positive, since a row of weight 0 would be left out."""


def _unmarked_weight(strokes: float, settings: Settings) -> float:
    """Return the weight of an unmarked pixel against a marked one, by strokes a class.

    While strokes are few, the agreement of the unmarked pixels is the best guess there is. With
    many, it would outvote the user: one stroke could turn a whole region over.
    """
    if not settings.few_strokes:
        return settings.unlabelled_weight
    fading = min(1.0, settings.few_strokes / (2.0 * strokes)) ** _FADING
    return max(settings.unlabelled_weight * fading, _LEAST_WEIGHT)


def _strokes_per_class(marked: NDArray[np.int16], classes: NDArray[np.intp]) -> float:
    """Count connected marks, per class that has any."""
    count = 0
    for label in classes:
        mask = marked == label
        # Most of it is empty: one of adjacent empty rows or columns separates as many do.
        kept = []
        for axis in (1, 0):
            some = np.asarray(mask.any(axis=axis))
            some[1:] |= some[:-1].copy()
            kept.append(some)
        count += int(ndimage.label(mask[np.ix_(*kept)])[1])
    return count / len(classes)


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """Weighted training rows with their labels.

    Parameters
    ----------
    rows
        The prototype of each row. All prototypes come first, in order; one that holds the
        only strokes of a class besides more of another's comes again at the end.
    labels
        Position of the class in ``classes``, or `UNLABELLED`.
    weights
        Of each row; the average prototype has weight 1.
    classes
        The document's classes that have marked pixels.
    strokes
        The number of strokes (connected marks) per class.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    classes: NDArray[np.intp]
    strokes: float = 1.0

    @classmethod
    def of(
        cls, prototypes: Prototypes, marked: NDArray[np.int16], settings: Settings
    ) -> Supervision:
        """Label each prototype with the class of most of its marked pixels.

        Its weight is the share of it that is marked and agrees: a stroke that only grazes a
        region says little about it.
        """
        indices = np.flatnonzero(marked >= 0)
        marks = marked.take(indices)
        n_classes = int(marks.max()) + 1
        pairs = prototypes.index_map.take(indices) * np.intp(n_classes) + marks
        counts = np.bincount(pairs, minlength=len(prototypes) * n_classes)
        counts = counts.reshape(len(prototypes), n_classes)
        classes = np.flatnonzero(counts.any(axis=0))
        counts = counts[:, classes]
        total, most = counts.sum(axis=1), counts.max(axis=1)
        labels = np.where(total > 0, counts.argmax(axis=1), UNLABELLED)
        sizes = prototypes.sizes / prototypes.sizes.mean()
        coverage = (2 * most - total) / prototypes.sizes
        strokes = _strokes_per_class(marked, classes)
        weights = sizes * np.where(
            total > 0,
            np.maximum(coverage, _LEAST_COVERAGE),
            _unmarked_weight(strokes, settings),
        )
        overruled = np.setdiff1d(np.arange(len(classes)), labels)
        again = counts[:, overruled].argmax(axis=0)
        share = np.maximum(counts[again, overruled] / prototypes.sizes[again], _LEAST_COVERAGE)
        return cls(
            np.concatenate((np.arange(len(prototypes)), again)),
            np.concatenate((labels, overruled)),
            np.concatenate((weights, sizes[again] * share)),
            classes,
            strokes,
        )

    @property
    def n_prototypes(self) -> int:
        """The number of prototypes; rows after these repeat some."""
        return int(self.rows.max()) + 1

    def sources(self) -> list[NDArray[np.intp]]:
        """Return the prototypes under strokes of each class."""
        return [self.rows[self.labels == c] for c in range(len(self.classes))]


def make_estimator(
    settings: Settings,
    kernels: Literal["precomputed"] | Sequence[Kernel],
    column_groups: Mapping[str, Sequence[int]] | None = None,
) -> SHL:
    """Return an estimator with the settings' parameters, for scaled features."""
    return SHL(
        n_bits=settings.bits,
        n_codewords=settings.codewords,
        codewords="learnt",
        kernels=kernels,
        column_groups=column_groups,
        lambda1=settings.lambda1,
        # About a thousand regions of mean weight 1.
        lambda2=settings.lambda2 / 1000.0,
        p=settings.p,
        semi_supervised="paper" if settings.transductive else "none",
        # Unmarked regions bring their own weights, which fade as strokes grow.
        unlabelled=UNLABELLED,
        unlabelled_weight=1.0,
        decoding="hamming",
        scale=None,
        probability=False,
        # One pass more than is used: `first_passes` ends the fit, without a warning.
        max_iter=settings.passes + 1,
        random_state=settings.seed,
    )


def first_passes(steps: Iterator[FitStep], settings: Settings) -> Iterator[FitStep]:
    """Yield the steps of the passes that the settings allow; the last one ends a pass."""
    for step in steps:
        yield step
        if step.pass_ended and step.iteration >= settings.passes:
            return


@dataclass(frozen=True, slots=True, eq=False)
class RegionScores:
    """Classes of the prototypes, with the learner's costs, margins and codes.

    Parameters
    ----------
    labels
        Position of the class in the supervision's ``classes``.
    costs
        Prototypes x classes: the distance of f, clipped to [-1, 1], from the nearest codeword of
        the class, as a share of the bits, from 0 to 1.
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
    def of(
        cls, model: SHL, projections: NDArray[np.float64], labels: NDArray[np.intp]
    ) -> RegionScores:
        """Score prototypes by f, given the classes they were assigned to."""
        n_bits = projections.shape[1]
        clipped = np.clip(projections, -1.0, 1.0)
        costs = hinge_distances(clipped, model.codewords_).min(axis=2) / (2.0 * n_bits)
        distances = np.sort(hinge_distances(projections, model.codewords_).min(axis=2), axis=1)
        margin = (distances[:, 1] - distances[:, 0]).astype(np.float32)
        powers = np.uint32(1) << np.arange(n_bits, dtype=np.uint32)
        codes = ((projections >= 0) * powers).sum(axis=1, dtype=np.uint32)
        return cls(labels, costs, margin, codes)

    def plus(self, costs: NDArray[np.float64]) -> RegionScores:
        """Return the scores with more costs and the same labels."""
        return replace(self, costs=self.costs + costs)

    def apply_threshold(self, background: int, threshold: float) -> RegionScores:
        """Return the scores with one class dearer by ``threshold``, and their labels."""
        costs = self.costs.copy()
        costs[:, background] += threshold
        return replace(self, costs=costs, labels=costs.argmin(axis=1))
