"""What a learnt model knows of what an encoder sees, for other pictures of the same kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.learning.border import border_of
from segapp.learning.encoder_belief import EncoderRidge, evidence_of
from segapp.learning.supervision import UNLABELLED, Supervision
from segapp.picture.encoded_regions import directions, spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.learning.encoder_belief import EncoderBelief
    from segapp.picture.prepared import PreparedPicture
    from segapp.picture.prototypes import Prototypes
    from segapp.values.settings import Settings

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
