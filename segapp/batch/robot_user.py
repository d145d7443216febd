"""Simulated user after Gulshan et al. (2010), and its scores."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.imaging.rasterise import paint_mark, rasterize
from segapp.model.document import Document, Marks, Patch, Stroke

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.model.labelling import Labelling


IGNORED = -1
"""Value of the truth where it is not scored: the band between object and background."""


def iou(labels: NDArray[np.integer], truth: NDArray[np.integer], label: int = 0) -> float:
    """Return the intersection over union of a class outside the ignored band.

    >>> iou(np.array([0, 0, 1, 0]), np.array([0, 1, 1, IGNORED]))
    0.5
    """
    scored = truth != IGNORED
    predicted, actual = (labels == label) & scored, (truth == label) & scored
    union = np.count_nonzero(predicted | actual)
    return float(np.count_nonzero(predicted & actual) / union) if union else 1.0


def score(
    labels: NDArray[np.integer], truth: NDArray[np.integer], n_classes: int, background: int = 1
) -> float:
    """Return the IoU of the foreground of two classes, else the mean over all classes."""
    if n_classes == 2:
        return iou(labels, truth, 1 - background)
    return float(np.mean([iou(labels, truth, label) for label in range(n_classes)]))


RADIUS = 8
"""Of the robot's dabs, in pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class RobotStep:
    """The strokes so far, their labelling, its score and its time."""

    document: Document
    labelling: Labelling
    iou: float
    seconds: float


class Start(StrEnum):
    """The strokes that a robot user begins with."""

    STROKES = "strokes"
    """All given strokes at once."""
    DABS = "dabs"
    """One dab in the middle of each class of the truth, at once."""
    OBJECT = "object"
    """The largest given stroke of each class, one after the other, the background last. A noisy
    hand paints that stroke itself: people's are shorter, and at one place."""
    CLASSES = "classes"
    """The dabs one after the other, the background last."""


class ExactHand:
    """A hand that dabs a disc onto the deepest pixel of an error."""

    def mark(self, component: NDArray[np.bool_], truth: NDArray[np.integer], label: int) -> Patch:
        """Mark an error with its class, as far as that class goes."""
        depth = _depth(component)
        row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
        y, x = np.ogrid[: truth.shape[0], : truth.shape[1]]
        disc = (y - row) ** 2 + (x - column) ** 2 <= RADIUS**2
        return Patch.of_mask(disc & (truth == label), label)


class NoisyHand:
    """A hand that paints curved strokes of any length beside the middle of an error.

    Real clicks scatter around the middle of an error (RClicks, arXiv 2410.11722). Here a stroke
    begins at a pixel of the error, the likelier the deeper it is, and bends at random; its radius
    is 4 to 10 pixels and its length up to 80, short ones being as frequent as long ones on a
    logarithmic scale. It stays on its class.

    Parameters
    ----------
    seed
        Equal seeds paint equal strokes.
    """

    def __init__(self, seed: Sequence[int]) -> None:
        self._rng = np.random.default_rng(seed)

    def mark(self, component: NDArray[np.bool_], truth: NDArray[np.integer], label: int) -> Patch:
        """Mark a part of an error with its class."""
        rng, depth = self._rng, _depth(component)
        inside = np.flatnonzero(component)
        weights = depth.ravel()[inside]
        start = int(rng.choice(inside, p=weights / weights.sum()))
        row, column = divmod(start, truth.shape[1])
        radius, length = rng.uniform(4, 10), math.exp(rng.uniform(0, math.log(80)))
        heading, bend = rng.uniform(0, 2 * math.pi), rng.normal(0, 0.05)
        points = [(column + 0.5, row + 0.5)]
        for _ in range(int(length / 2)):
            heading += 2 * bend + rng.normal(0, 0.1)
            x, y = points[-1]
            points.append((x + 2 * math.cos(heading), y + 2 * math.sin(heading)))
        painted = np.zeros(truth.shape, np.int16)
        paint_mark(painted, Stroke(tuple(points), radius, 1))
        return Patch.of_mask((painted == 1) & (truth == label), label)


Hand = ExactHand | NoisyHand
EXACT = ExactHand()


def robot_stroke(
    labels: NDArray[np.integer], truth: NDArray[np.integer], hand: Hand = EXACT
) -> Patch | None:
    """Mark the largest error with its true class, if there is one.

    The largest connected component of pixels that miss their class is taken; of equal ones that
    of the last class, the background. Ignored pixels are no errors.
    """
    component, label = _largest_error(labels, truth)
    return None if component is None else hand.mark(component, truth, label)


def first_dabs(
    truth: NDArray[np.integer], n_classes: int, hand: Hand = EXACT
) -> tuple[Patch, ...]:
    """Return one dab for each class, in its largest component."""
    unlabelled = np.full(truth.shape, IGNORED)
    dabs = []
    for label in range(n_classes):
        component, _ = _largest_error(unlabelled, np.where(truth == label, label, IGNORED))
        if component is not None:
            dabs.append(hand.mark(component, truth, label))
    return tuple(dabs)


def largest_strokes(document: Document, size: tuple[int, int]) -> tuple[Patch, ...]:
    """Return the largest connected component of the marked pixels of each class."""
    marks = []
    labels = rasterize(document, size)
    for label in range(len(document.classes)):
        components, count = scipy.ndimage.label(labels == label)
        if count:
            largest = 1 + int(np.argmax(np.bincount(components.ravel())[1:]))
            marks.append(Patch.of_mask(components == largest, label))
    return tuple(marks)


def begin(
    start: Start, given: Document, truth: NDArray[np.integer], hand: Hand
) -> tuple[Document, tuple[Patch, ...]]:
    """Return the document to begin with, and the strokes that follow in any case."""
    if start is Start.STROKES:
        return given, ()
    if start is Start.OBJECT:
        size = (truth.shape[0], truth.shape[1])
        marks = largest_strokes(given, size)
        if isinstance(hand, NoisyHand):
            own = hand.mark(truth == given.background, truth, given.background)
            marks = (*(mark for mark in marks if mark.label != given.background), own)
    else:
        marks = first_dabs(truth, len(given.classes), hand)
    if start is Start.DABS:
        return replace(given.without_marks(), strokes=Marks.of(marks)).as_one_state(), ()
    ordered = tuple(sorted(marks, key=lambda mark: mark.label == given.background))
    return replace(given.without_marks(), strokes=Marks.of(ordered[:1])), ordered[1:]


def _depth(component: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distance of each pixel to the component's boundary."""
    return np.asarray(scipy.ndimage.distance_transform_edt(np.pad(component, 1))[1:-1, 1:-1])


def _largest_error(
    labels: NDArray[np.integer], truth: NDArray[np.integer]
) -> tuple[NDArray[np.bool_] | None, int]:
    best: NDArray[np.bool_] | None = None
    best_size, best_label = 0, -1
    for label in range(int(truth.max()) + 1):
        components, count = scipy.ndimage.label((truth == label) & (labels != label))
        if not count:
            continue
        sizes = np.bincount(components.ravel())[1:]
        largest = int(np.argmax(sizes))
        if sizes[largest] >= best_size:
            best, best_size, best_label = components == largest + 1, int(sizes[largest]), label
    return best, best_label


def robot_steps(
    segment: Callable[[Document], Labelling],
    document: Document,
    truth: NDArray[np.integer],
    strokes: int,
    hand: Hand = EXACT,
    planned: Sequence[Patch] = (),
) -> Iterator[RobotStep]:
    """Segment a document, then after each of at most ``strokes`` more.

    The planned strokes come first, the others mark errors; it ends early without an error.
    """
    for step in range(strokes + 1):
        start = time.perf_counter()
        labelling = segment(document)
        seconds = time.perf_counter() - start
        value = score(labelling.labels, truth, len(document.classes), document.background)
        yield RobotStep(document, labelling, value, seconds)
        if step == strokes:
            return
        is_planned = step < len(planned)
        stroke = planned[step] if is_planned else robot_stroke(labelling.labels, truth, hand)
        if stroke is None:
            return
        document = document.with_stroke(stroke)


DIP = 0.03
"""A drop of the IoU after a correct stroke that a user notices."""


def dips(ious: Sequence[float]) -> list[float]:
    """Return the drops of more than `DIP` from one stroke to the next.

    >>> [round(dip, 2) for dip in dips((0.5, 0.8, 0.7, 0.69, 0.9))]
    [0.1]
    """
    drops = (before - after for before, after in pairwise(ious))
    return [drop for drop in drops if drop > DIP]


def strokes_to(ious: Sequence[float], level: float) -> int:
    """Count the strokes until an IoU of ``level``, all and one more if never.

    ``ious`` begins with the value before the first stroke.

    >>> strokes_to((0.5, 0.8, 0.92), 0.9), strokes_to((0.5, 0.8, 0.92), 0.95)
    (2, 3)
    """
    return next((count for count, value in enumerate(ious) if value >= level), len(ious))
