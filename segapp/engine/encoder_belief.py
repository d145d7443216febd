"""Class probabilities of regions from encoder features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.encoder_features import directions, inverse, spread
from segapp.engine.prior import border_of
from segapp.engine.supervision import UNLABELLED, Supervision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.superpixels import Prototypes
    from segapp.model.settings import Settings


# For the picture that is marked it is one over a kernel of its regions; for a model that is
# carried to other pictures, a linear function of what the network sees.

_RIDGE = 0.1
"""Against weights of 1 for each class and for the border; 0.03 and 0.3 are hardly different."""
_STEEPNESS = 5.0
"""Of a belief: with two classes, a sigmoid of so many times their difference. 10 is no better."""
_UNMARKED = 0.4
"""By how much a region may be nearer to the background and still be in doubt. The border says that
what nobody has marked is background, so that an object's unmarked parts come to lie between the
two, and belong together with the marked ones rather than with what is around. 0.7 is no better."""
_WEIGHT = 3.0
"""Of the costs where the evidence is 1; it mostly is 0.6 to 0.85, so that they count 1 to 2. From
dabs, on half of the tuning images, weights of 1, 2 and 3 whatever the evidence give an AUC of
0.951, 0.954 and 0.952; this gives 0.954, and does less harm where the network is blind."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderBelief:
    """How well each class fits each region: regions x classes, near 1 for one, near 0 for others.

    ENCODER.md among the benchmarks has what was measured, and what else was tried.

    Parameters
    ----------
    evidence
        How well it tells a marked region's class when that region is left out: 1 is right and
        sure, 0 no better than a guess.
    background
        The place of the background among the classes; ``None`` if it is not one of them.
    """

    fit: NDArray[np.float64]
    evidence: float
    background: int | None = None

    @classmethod
    def of(
        cls,
        kernel: NDArray[np.float64],
        supervision: Supervision,
        border: NDArray[np.int64],
        background: int,
    ) -> EncoderBelief:
        """Learn from the marked regions of a picture, and judge all of them.

        Parameters
        ----------
        kernel
            Regions x regions, by `segapp.engine.encoder_features.kinship`.
        border
            How many pixels of the border each region has.
        background
            The document's class of what is around.
        """
        marks = _Marks.of(supervision, len(kernel), border, background)
        with_constant = kernel[:, marks.rows] + 1.0
        dual, left_out = kernel_ridge(
            with_constant[marks.rows], marks.weights, marks.targets, _RIDGE
        )
        return cls(with_constant @ dual, marks.evidence(left_out), marks.background)

    def likely(self) -> NDArray[np.float64]:
        """Return how likely each class is, what is in doubt being no background yet."""
        fit = self.fit.copy()
        if self.background is not None:
            fit[:, self.background] -= _UNMARKED
        likely = np.exp(_STEEPNESS * (fit - fit.max(axis=1, keepdims=True)))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def columns(self) -> NDArray[np.float64]:
        """Return features for kernels: with two classes, from -1 to 1 and the other way round."""
        likely = self.likely()
        return np.asarray(2.0 * (likely - likely.mean(axis=1, keepdims=True)))

    def mixed_with(self, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half of what others believe and half of this; rows sum to 1."""
        return np.asarray(0.5 * (beliefs + self.likely()))

    def costs(self) -> NDArray[np.float64]:
        """Return what each class costs more than the best; the less, the less evidence."""
        behind = self.fit.max(axis=1, keepdims=True) - self.fit
        return np.asarray(_WEIGHT * self.evidence**2 * np.minimum(behind, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRidge:
    """What the strokes say about what the network sees: a linear function, with a constant.

    Parameters
    ----------
    coefficients
        Channels + 1 x classes.
    evidence
        As `EncoderBelief` has it.
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
        """Learn from the marked regions; ``seen`` is regions x channels, of length 1."""
        marks = _Marks.of(supervision, len(seen), border, background)
        x = _with_constant(seen[marks.rows])
        coefficients, left_out = ridge(x, marks.weights, marks.targets, _RIDGE)
        return cls(coefficients, marks.evidence(left_out))

    def belief(self, seen: NDArray[np.float64]) -> EncoderBelief:
        """Judge regions, of this picture or of another."""
        return EncoderBelief(_with_constant(seen) @ self.coefficients, self.evidence)


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    """Regions to learn from: the marked ones first, then those of the unmarked border.

    Parameters
    ----------
    count
        How many are marked.
    background
        The place of the background among the classes, if it is one of them.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]
    targets: NDArray[np.float64]
    count: int
    background: int | None

    @classmethod
    def of(
        cls,
        supervision: Supervision,
        n_regions: int,
        border: NDArray[np.int64],
        background: int,
    ) -> _Marks:
        """Let each class count as much as the others.

        The unmarked border counts as much as a class does, as background where that has marks:
        without it everything that is like neither class would be in doubt, and mostly it is
        background that nobody has marked yet.
        """
        known = supervision.labels >= 0
        rows, labels = supervision.rows[known], supervision.labels[known]
        weights, count = 1.0 / np.bincount(labels)[labels], len(rows)
        place = None
        if background in supervision.classes:
            place = int(np.searchsorted(supervision.classes, background))
            around = np.where(supervision.labels[:n_regions] < 0, border, 0)
            (ring,) = np.nonzero(around)
            rows = np.concatenate((rows, ring))
            labels = np.concatenate((labels, np.full(len(ring), place)))
            weights = np.concatenate((weights, around[ring] / max(around.sum(), 1)))
        targets = (labels[:, None] == np.arange(len(supervision.classes))).astype(np.float64)
        return cls(rows, labels, weights, targets, count, place)

    def evidence(self, left_out: NDArray[np.float64]) -> float:
        """Return how well the marked ones are told when they are left out."""
        return evidence_of(left_out[: self.count], self.labels[: self.count])


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
        dual, left_out = kernel_ridge(x @ x.T, weights, targets, penalty)
        return x.T @ dual, left_out
    weighted = x.T * weights
    inverted = inverse(weighted @ x + penalty * np.eye(x.shape[1]))
    coefficients = inverted @ (weighted @ targets)
    own = np.einsum("ij,ji->i", x @ inverted, weighted)[:, None]
    return coefficients, targets - (targets - x @ coefficients) / (1.0 - own)


def kernel_ridge(
    kernel: NDArray[np.float64],
    weights: NDArray[np.float64],
    targets: NDArray[np.float64],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each row counts in the same ridge over a kernel, and its evidence."""
    inverted = inverse(kernel + np.diag(penalty / weights))
    dual = inverted @ targets
    return dual, targets - dual / np.diag(inverted)[:, None]


_LARGEST = 1e15  # sums of numbers below it are still numbers


@dataclass(frozen=True, slots=True, eq=False)
class LearntSight:
    """From where directions are told, and what each class makes of them.

    Parameters
    ----------
    centre
        What the encoder saw on average in the picture that was learnt from.
    ridge
        Learnt from the directions there.
    """

    centre: NDArray[np.float64]
    ridge: EncoderRidge

    def __post_init__(self) -> None:
        rows = len(self.ridge.coefficients)
        if not self.centre.size or rows != self.centre.size + 1:
            raise ValueError(f"sight: wanted {self.centre.size + 1} coefficients, got {rows}")
        for values in (self.centre, self.ridge.coefficients, self.ridge.evidence):
            if not (np.abs(values) <= _LARGEST).all():
                raise ValueError("sight: wanted finite numbers, got others")

    @classmethod
    def of(
        cls,
        picture: PreparedPicture,
        marked: NDArray[np.int16],
        settings: Settings,
        background: int,
    ) -> LearntSight:
        """Learn from the marked pixels of a picture.

        Nobody corrects what a model says of another picture, so that the evidence is stricter
        than for an answer: whole strokes are left out, not regions, whose neighbours under the
        same stroke give them away. A robot's or user's strokes on mistakes would make it too
        strict for answers.
        """
        prototypes = picture.table(settings).prototypes
        centre = np.average(picture.encoded_means(settings), axis=0, weights=prototypes.sizes)
        seen = _seen(picture, settings, centre)
        border = prototypes.count(border_of(prototypes.index_map.shape))
        supervision = Supervision.of(prototypes, marked, settings)
        ridge = EncoderRidge.of(seen, supervision, border, background)
        told, labels = [], []
        for label, rows in _strokes(prototypes, marked, supervision):
            others = supervision.labels.copy()
            others[rows] = UNLABELLED
            without = replace(supervision, labels=others)
            fit = EncoderRidge.of(seen, without, border, background).belief(seen).fit
            told.append(fit[supervision.rows[rows]].mean(axis=0))
            labels.append(label)
        if told:
            ridge = replace(ridge, evidence=evidence_of(np.array(told), np.array(labels)))
        return cls(centre, ridge)

    @classmethod
    def from_bytes(cls, content: bytes, n_classes: int) -> LearntSight:
        """Read what `to_bytes` wrote."""
        values = np.frombuffer(content, dtype="<f8").astype(np.float64)
        channels, rest = divmod(values.size - 1 - n_classes, n_classes + 1)
        if channels < 1 or rest:
            raise ValueError(f"sight: wanted numbers for {n_classes} classes, got {values.size}")
        coefficients = values[channels:-1].reshape(channels + 1, n_classes)
        return cls(values[:channels], EncoderRidge(coefficients, float(values[-1])))

    def to_bytes(self) -> bytes:
        """Return centre, coefficients and evidence, one number after the other."""
        ridge = self.ridge
        values = np.concatenate((self.centre, ridge.coefficients.ravel(), [ridge.evidence]))
        return values.astype("<f8").tobytes()

    def seen(self, picture: PreparedPicture, settings: Settings) -> NDArray[np.float64]:
        """Return the directions of any picture's regions, from the centre of the learnt one."""
        return _seen(picture, settings, self.centre)

    def belief(self, seen: NDArray[np.float64]) -> EncoderBelief:
        """Judge regions by their directions."""
        return self.ridge.belief(seen)


def _strokes(
    prototypes: Prototypes, marked: NDArray[np.int16], supervision: Supervision
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield class and rows of each stroke (connected marks) that is not all of its class."""
    for position, label in enumerate(supervision.classes):
        parts, count = ndimage.label(marked == label)
        of_class = np.flatnonzero(supervision.labels == position)
        for part in range(1, count + 1):
            touched = prototypes.count(parts == part)[supervision.rows[of_class]] > 0
            if touched.any() and not touched.all():
                yield position, of_class[touched]


def _seen(
    picture: PreparedPicture, settings: Settings, centre: NDArray[np.float64]
) -> NDArray[np.float64]:
    means = picture.encoded_means(settings)
    if means.shape[1] != len(centre):
        raise ValueError(f"encoded: wanted {len(centre)} channels, got {means.shape[1]}")
    return spread(directions(means, centre), picture.graph(settings).edges)
