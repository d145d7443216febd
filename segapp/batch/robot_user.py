"""Simulated user after Gulshan et al. (2010), and its scores."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.model.document import Document, Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.model.classes import ClassInfo
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


def robot_stroke(labels: NDArray[np.integer], truth: NDArray[np.integer]) -> Patch | None:
    """Mark the middle of the largest error with its true class, if there is one.

    The largest connected component of pixels that miss their class is taken (of equal ones that
    of the last class, the background), and a disc around its deepest pixel is painted as far as
    the class goes. Ignored pixels are no errors.
    """
    component, label = _largest_error(labels, truth)
    return None if component is None else _dab(component, truth, label)


def first_dabs(truth: NDArray[np.integer], classes: tuple[ClassInfo, ...]) -> Document:
    """Return one dab for each class, in the middle of its largest component.

    They count as one edit.
    """
    unlabelled = np.full(truth.shape, IGNORED)
    dabs = []
    for label in range(len(classes)):
        component, _ = _largest_error(unlabelled, np.where(truth == label, label, IGNORED))
        if component is not None:
            dabs.append(_dab(component, truth, label))
    return Document(classes, tuple(dabs)).as_one_state()


def _dab(component: NDArray[np.bool_], truth: NDArray[np.integer], label: int) -> Patch:
    """Paint a disc around the deepest pixel of a component, as far as its class goes."""
    depth = scipy.ndimage.distance_transform_edt(np.pad(component, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    y, x = np.ogrid[: truth.shape[0], : truth.shape[1]]
    disc = (y - row) ** 2 + (x - column) ** 2 <= RADIUS**2
    return Patch.of_mask(disc & (truth == label), label)


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
) -> Iterator[RobotStep]:
    """Segment from the given strokes, then after each of at most ``strokes`` more.

    It ends early when there is no error left.
    """
    for step in range(strokes + 1):
        start = time.perf_counter()
        labelling = segment(document)
        seconds = time.perf_counter() - start
        value = score(labelling.labels, truth, len(document.classes), document.background)
        yield RobotStep(document, labelling, value, seconds)
        stroke = robot_stroke(labelling.labels, truth) if step < strokes else None
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
