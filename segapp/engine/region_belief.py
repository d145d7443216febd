"""Class probabilities of regions from dense features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.encoder_features import diffuse, directions, inverse
from segapp.engine.prior import border_mask
from segapp.engine.region_classifier import UNLABELLED, Supervision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.superpixels import Prototypes
    from segapp.model.settings import Settings


# For the marked image it is kernel ridge regression over its regions; for a model that is applied
# to other images, a linear function of the encoder features.

_RIDGE = 0.1
"""Against weights of 1 for each class and for the border; 0.03 and 0.3 hardly differ."""
_STEEPNESS = 5.0
"""Of probabilities: with two classes, a sigmoid of so many times their difference. 10 is no
better."""
_BACKGROUND_OFFSET = 0.4
"""By how much a region may be nearer to the background and still be in doubt. The border suggests
that unmarked regions are background, so that an object's unmarked parts come to lie between the
two, and belong together with the marked ones rather than with the surroundings. 0.7 is no
better."""
_BY_CHANNELS = 3
"""Training regions for each channel from which on to fit by channels."""
_WEIGHT = 3.0
"""Of the costs where the evidence is 1; it mostly is 0.6 to 0.85, so that they count 1 to 2. From
dabs, on half of the tuning images, weights of 1, 2 and 3 whatever the evidence give an AUC of
0.951, 0.954 and 0.952; this gives 0.954, and does less harm where the encoder says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class DualRidge:
    """Dual coefficients of the training regions.

    Parameters
    ----------
    rows
        The region of each: the marked ones first, then those of the border.
    n_marked
        Number of rows from marks, in the order of the supervision's labelled rows.
    dual
        Rows x classes; a region's scores are its kernel with the rows, plus 1, times these.
    """

    rows: NDArray[np.intp]
    n_marked: int
    dual: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RegionBelief:
    """Class scores of regions by dense features: near 1 for a class that fits.

    NOTES.md among the benchmarks has measurements and alternatives.

    Parameters
    ----------
    fit
        Regions x classes.
    evidence
        How well a marked region's class is predicted when that region is left out: 1 is right
        and sure, 0 no better than a guess.
    background
        The position of the background among the classes; ``None`` if it is not one of them.
    weight
        Of the costs where the evidence is 1.
    ridge
        Of the marked image; ``None`` for a model of another one.
    """

    fit: NDArray[np.float64]
    evidence: float
    background: int | None = None
    weight: float = _WEIGHT
    ridge: DualRidge | None = None

    @classmethod
    def of(
        cls,
        kernel: NDArray[np.float64],
        supervision: Supervision,
        border: NDArray[np.int64],
        background: int,
        vectors: NDArray[np.float64] | None = None,
    ) -> RegionBelief:
        """Fit the marked regions of an image, and score all of them.

        Parameters
        ----------
        kernel
            Regions x regions, by `region_affinity` of encoder features or by
            `descriptor_kernel`.
        border
            How many pixels of the border each region has.
        background
            The document's background class.
        vectors
            Regions x channels, if the kernel is their product: many regions are then fitted by
            channels, in time that does not grow with the cube of their number.
        """
        training = _TrainingRegions.of(supervision, len(kernel), border, background)
        rows, weights, targets = training.rows, training.weights, training.targets
        if vectors is not None and len(rows) > _BY_CHANNELS * vectors.shape[1]:
            x = _with_constant(vectors)
            coefficients, left_out = ridge(x[rows], weights, targets, _RIDGE)
            fit = x @ coefficients
            dual = weights[:, None] * (targets - fit[rows]) / _RIDGE
        else:
            with_constant = kernel[:, rows] + 1.0
            dual, left_out = kernel_ridge(with_constant[rows], weights, targets, _RIDGE)
            fit = with_constant @ dual
        return cls(
            fit,
            training.evidence(left_out),
            training.background,
            ridge=DualRidge(rows, training.count, dual),
        )

    def probabilities(self) -> NDArray[np.float64]:
        """Return class probabilities, with doubtful regions not yet background."""
        fit = self.fit.copy()
        if self.background is not None:
            fit[:, self.background] -= _BACKGROUND_OFFSET
        likely = np.exp(_STEEPNESS * (fit - fit.max(axis=1, keepdims=True)))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def columns(self) -> NDArray[np.float64]:
        """Return features for kernels: with two classes from -1 to 1, and mirrored."""
        likely = self.probabilities()
        return np.asarray(2.0 * (likely - likely.mean(axis=1, keepdims=True)))

    def mixed_with(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average these and other class probabilities."""
        return np.asarray(0.5 * (probabilities + self.probabilities()))

    def costs(self) -> NDArray[np.float64]:
        """Return the cost of each class above the best; the less, the less evidence."""
        behind = self.fit.max(axis=1, keepdims=True) - self.fit
        return np.asarray(self.weight * self.evidence**2 * np.minimum(behind, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRidge:
    """A linear function, with a constant, of encoder features per class.

    Parameters
    ----------
    coefficients
        Channels + 1 x classes.
    evidence
        As in `RegionBelief`.
    """

    coefficients: NDArray[np.float64]
    evidence: float

    @classmethod
    def of(
        cls,
        vectors: NDArray[np.float64],
        supervision: Supervision,
        border: NDArray[np.int64],
        background: int,
    ) -> EncoderRidge:
        """Fit the marked regions; ``vectors`` is regions x channels, of length 1."""
        training = _TrainingRegions.of(supervision, len(vectors), border, background)
        x = _with_constant(vectors[training.rows])
        coefficients, left_out = ridge(x, training.weights, training.targets, _RIDGE)
        return cls(coefficients, training.evidence(left_out))

    def belief(self, vectors: NDArray[np.float64]) -> RegionBelief:
        """Score regions, of this image or of another."""
        return RegionBelief(_with_constant(vectors) @ self.coefficients, self.evidence)


@dataclass(frozen=True, slots=True, eq=False)
class _TrainingRegions:
    """Regions to train on: the marked ones first, then those of the unmarked border.

    Parameters
    ----------
    count
        How many are marked.
    background
        The position of the background among the classes, if it is one of them.
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
    ) -> _TrainingRegions:
        """Weight each class equally.

        The unmarked border has the weight of a class, as background where that has marks:
        without it all regions unlike both classes would be in doubt, and mostly they are unmarked
        background.
        """
        known = supervision.labels >= 0
        rows, labels = supervision.rows[known], supervision.labels[known]
        weights, count = 1.0 / np.bincount(labels)[labels], len(rows)
        position = None
        if background in supervision.classes:
            position = int(np.searchsorted(supervision.classes, background))
            around = np.where(supervision.labels[:n_regions] < 0, border, 0)
            (ring,) = np.nonzero(around)
            rows = np.concatenate((rows, ring))
            labels = np.concatenate((labels, np.full(len(ring), position)))
            weights = np.concatenate((weights, around[ring] / max(around.sum(), 1)))
        targets = (labels[:, None] == np.arange(len(supervision.classes))).astype(np.float64)
        return cls(rows, labels, weights, targets, count, position)

    def evidence(self, left_out: NDArray[np.float64]) -> float:
        """Compute the evidence of the marked regions."""
        return leave_one_out_evidence(left_out[: self.count], self.labels[: self.count])


def _with_constant(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate((vectors, np.ones((len(vectors), 1))), axis=1)


def leave_one_out_evidence(left_out: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Return the mean lead of the right class in left-out predictions.

    A class with one region does not count: without that one, the class is not there.
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
    """Solve ``min sum_i w_i |x_i B - y_i|² + penalty |B|²``; return predictions too.

    The predictions are those for each row if it were left out, in closed form. By rows or by
    columns, whichever are fewer: an encoder may have many channels.
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
    """Return dual coefficients of the ridge over a kernel, and its predictions."""
    system = kernel.copy()
    system.flat[:: len(system) + 1] += penalty / weights
    inverted = inverse(system)
    dual = inverted @ targets
    return dual, targets - dual / np.diag(inverted)[:, None]


_LARGEST = 1e15  # sums of numbers below it are still numbers


@dataclass(frozen=True, slots=True, eq=False)
class TransferableEncoderClassifier:
    """A linear classifier of encoder features that can be applied to other images.

    Parameters
    ----------
    centre
        The mean features of the training image, from which directions are measured.
    ridge
        Fitted to the directions there.
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
    ) -> TransferableEncoderClassifier:
        """Fit the marked pixels of an image.

        A model's answer for another image is not corrected by strokes, so that its evidence is
        stricter than that of an answer: whole strokes are left out, not regions, whose neighbours
        under the same stroke reveal their class. Strokes on mistakes, by a robot or a user, would
        make it too strict for answers.
        """
        prototypes = picture.table(settings).prototypes
        centre = np.average(picture.dense_means(settings), axis=0, weights=prototypes.sizes)
        vectors = _diffused_directions(picture, settings, centre)
        border = prototypes.count(border_mask(prototypes.index_map.shape))
        supervision = Supervision.of(prototypes, marked, settings)
        ridge = EncoderRidge.of(vectors, supervision, border, background)
        predictions, labels = [], []
        for label, rows in _strokes(prototypes, marked, supervision):
            others = supervision.labels.copy()
            others[rows] = UNLABELLED
            without = replace(supervision, labels=others)
            fit = EncoderRidge.of(vectors, without, border, background).belief(vectors).fit
            predictions.append(fit[supervision.rows[rows]].mean(axis=0))
            labels.append(label)
        if predictions:
            evidence = leave_one_out_evidence(np.array(predictions), np.array(labels))
            ridge = replace(ridge, evidence=evidence)
        return cls(centre, ridge)

    @classmethod
    def from_bytes(cls, content: bytes, n_classes: int) -> TransferableEncoderClassifier:
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

    def vectors(self, picture: PreparedPicture, settings: Settings) -> NDArray[np.float64]:
        """Return directions of an image's regions from the training image's centre."""
        return _diffused_directions(picture, settings, self.centre)


def _strokes(
    prototypes: Prototypes, marked: NDArray[np.int16], supervision: Supervision
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield class and rows of each stroke that is not all of its class."""
    for position, label in enumerate(supervision.classes):
        components, count = ndimage.label(marked == label)
        of_class = np.flatnonzero(supervision.labels == position)
        for number in range(1, count + 1):
            touched = prototypes.count(components == number)[supervision.rows[of_class]] > 0
            if touched.any() and not touched.all():
                yield position, of_class[touched]


def _diffused_directions(
    picture: PreparedPicture, settings: Settings, centre: NDArray[np.float64]
) -> NDArray[np.float64]:
    means = picture.dense_means(settings)
    if means.shape[1] != len(centre):
        raise ValueError(f"encoded: wanted {len(centre)} channels, got {means.shape[1]}")
    return diffuse(directions(means, centre), picture.graph(settings).edges)
