"""Labelled rows from marked pixels, and the learner of a preset."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import ndimage

from shlcore import SHL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from segapp.engine.superpixels import Prototypes
    from segapp.model.settings import Settings
    from shlcore.estimator import FitStep
    from shlcore.kernels import Kernel


UNLABELLED = -2
"""Not -1, which might be a class elsewhere, so that `SHL` warns where there is as much of it."""
_LEAST_COVERAGE = 0.02
"""A row of weight 0 would be left out; a stroke that only grazes a region still says something."""
_FADING = 10
"""Power by which unmarked pixels lose their weight after `Settings.few_strokes`. So steep that it
nearly is a switch: with 6 strokes instead of 3 they count a thousandth. Slower fading was tried
as fixed weights from 0.02 to 0.001 (SEGMENTATION.md), none of which was better at both ends."""
_LEAST_WEIGHT = 1e-9
"""Small enough to say nothing, and positive, since a row of weight 0 would be left out."""


def _unmarked_weight(
    marked: NDArray[np.int16], classes: NDArray[np.intp], settings: Settings
) -> float:
    """Return how much an unmarked pixel counts against a marked one.

    While strokes are few, what the unmarked pixels agree on is the best guess there is. With
    many, it would outvote the user: one stroke could turn a whole region over.
    """
    if not settings.few_strokes:
        return settings.unlabelled_weight
    count = sum(_parts(marked == label) for label in classes)
    fading = float(min(1.0, settings.few_strokes / count) ** _FADING)
    return max(settings.unlabelled_weight * fading, _LEAST_WEIGHT)


def _parts(mask: NDArray[np.bool_]) -> int:
    """Count the connected parts of a mask, most of which is empty.

    Of empty rows and columns that lie side by side one is enough to part what it parts.
    """
    kept = []
    for axis in (1, 0):
        some = np.asarray(mask.any(axis=axis))
        some[1:] |= some[:-1].copy()
        kept.append(some)
    return int(ndimage.label(mask[np.ix_(*kept)])[1])


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """What is to be learnt.

    Parameters
    ----------
    rows
        The prototype of each row. All prototypes come first, in order; one that holds the
        only strokes of a class besides more of another's comes again at the end.
    labels
        Position of the class in ``classes``, or `UNLABELLED`.
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
    def of(
        cls, prototypes: Prototypes, marked: NDArray[np.int16], settings: Settings
    ) -> Supervision:
        """Give each prototype the class that most of its marked pixels have.

        It counts by the share of it that is marked and agrees: a stroke that only grazes a
        region says little about it.
        """
        under = np.flatnonzero(marked >= 0)
        seen = marked.take(under)
        n_classes = int(seen.max()) + 1
        pairs = prototypes.index_map.take(under) * np.intp(n_classes) + seen
        counts = np.bincount(pairs, minlength=len(prototypes) * n_classes)
        counts = counts.reshape(len(prototypes), n_classes)
        classes = np.flatnonzero(counts.any(axis=0))
        counts = counts[:, classes]
        total, most = counts.sum(axis=1), counts.max(axis=1)
        labels = np.where(total > 0, counts.argmax(axis=1), UNLABELLED)
        sizes = prototypes.sizes / prototypes.sizes.mean()
        coverage = (2 * most - total) / prototypes.sizes
        weights = sizes * np.where(
            total > 0,
            np.maximum(coverage, _LEAST_COVERAGE),
            _unmarked_weight(marked, classes, settings),
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


def estimator_of(
    settings: Settings,
    kernels: Literal["precomputed"] | Sequence[Kernel],
    column_groups: Mapping[str, Sequence[int]] | None = None,
) -> SHL:
    """Return an estimator with the settings' parameters; features come scaled already."""
    return SHL(
        n_bits=settings.bits,
        n_codewords=settings.codewords,
        kernels=kernels,
        column_groups=column_groups,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        p=settings.p,
        transductive=settings.transductive,
        # Unmarked regions bring their own weights, which fade as strokes grow.
        unlabelled=UNLABELLED,
        unlabelled_weight=1.0,
        decoding="hamming",
        scale=None,
        probability=False,
        # One pass more than is made: `first_passes` ends the fit, and warns of nothing.
        max_iter=settings.passes + 1,
        random_state=settings.seed,
    )


def first_passes(steps: Iterator[FitStep], settings: Settings) -> Iterator[FitStep]:
    """Yield the steps of the passes that the settings allow; the last one ends a pass."""
    for step in steps:
        yield step
        if step.pass_ended and step.iteration >= settings.passes:
            return


class Laps:
    """Notes how long each named step took; a step begins where the last one ended.

    A step that comes again adds to what it took before.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = time.perf_counter()

    def end(self, name: str) -> None:
        """Note that a step has ended."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._clock
        self._clock = now
