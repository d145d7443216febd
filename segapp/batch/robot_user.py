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
"""The truth's value where it does not judge: the band between object and ground."""


def iou(labels: NDArray[np.integer], truth: NDArray[np.integer], label: int = 0) -> float:
    """Intersection over union of one class, outside the ignored band; 1 if it is nowhere.

    >>> iou(np.array([0, 0, 1, 0]), np.array([0, 1, 1, IGNORED]))
    0.5
    """
    judged = truth != IGNORED
    found, wanted = (labels == label) & judged, (truth == label) & judged
    union = np.count_nonzero(found | wanted)
    return float(np.count_nonzero(found & wanted) / union) if union else 1.0


def score(
    labels: NDArray[np.integer], truth: NDArray[np.integer], n_classes: int, background: int = 1
) -> float:
    """IoU of the foreground where there are two classes, else its mean over all classes."""
    if n_classes == 2:
        return iou(labels, truth, 1 - background)
    return float(np.mean([iou(labels, truth, label) for label in range(n_classes)]))


RADIUS = 8


@dataclass(frozen=True, slots=True, eq=False)
class RobotStep:
    """An answer on the robot's way: the strokes so far and what came of them."""

    document: Document
    labelling: Labelling
    iou: float
    seconds: float


def robot_stroke(labels: NDArray[np.integer], truth: NDArray[np.integer]) -> Patch | None:
    """Mark the middle of the largest mistake with its true class; ``None`` when all is right.

    The largest connected part that misses its class is taken (of equal ones that of the last
    class, the background); a disc about the pixel that lies deepest in it is painted as far as
    that class goes. Where the truth does not judge, nothing is a mistake.
    """
    mistake, label = _largest_mistake(labels, truth)
    if mistake is None:
        return None
    return _dab(mistake, truth, label)


def first_dabs(truth: NDArray[np.integer], classes: tuple[ClassInfo, ...]) -> Document:
    """Begin with one dab for each class that the truth has: in the middle of its largest part.

    They count as made at once.
    """
    nothing = np.full(truth.shape, IGNORED)
    dabs = []
    for label in range(len(classes)):
        part, _ = _largest_mistake(nothing, np.where(truth == label, label, IGNORED))
        if part is not None:
            dabs.append(_dab(part, truth, label))
    return Document(classes, tuple(dabs)).as_one_state()


def _dab(part: NDArray[np.bool_], truth: NDArray[np.integer], label: int) -> Patch:
    """Paint a disc about the pixel that lies deepest in a part, as far as its class goes."""
    depth = scipy.ndimage.distance_transform_edt(np.pad(part, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    y, x = np.ogrid[: truth.shape[0], : truth.shape[1]]
    disc = (y - row) ** 2 + (x - column) ** 2 <= RADIUS**2
    return Patch.of_mask(disc & (truth == label), label)


def _largest_mistake(
    labels: NDArray[np.integer], truth: NDArray[np.integer]
) -> tuple[NDArray[np.bool_] | None, int]:
    best: NDArray[np.bool_] | None = None
    best_size, best_label = 0, -1
    for label in range(int(truth.max()) + 1):
        parts, count = scipy.ndimage.label((truth == label) & (labels != label))
        if not count:
            continue
        sizes = np.bincount(parts.ravel())[1:]
        largest = int(np.argmax(sizes))
        if sizes[largest] >= best_size:
            best, best_size, best_label = parts == largest + 1, int(sizes[largest]), label
    return best, best_label


def robot_steps(
    segment: Callable[[Document], Labelling],
    document: Document,
    truth: NDArray[np.integer],
    strokes: int,
) -> Iterator[RobotStep]:
    """Segment from the given strokes, then after each of at most ``strokes`` more.

    The way ends early when nothing is wrong any more.
    """
    for step in range(strokes + 1):
        start = time.perf_counter()
        labelling = segment(document)
        seconds = time.perf_counter() - start
        found = score(labelling.labels, truth, len(document.classes), document.background)
        yield RobotStep(document, labelling, found, seconds)
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
    """Count the strokes until an IoU of ``level``; one more than all where it is not reached.

    ``ious`` begins with the value before the first stroke.

    >>> strokes_to((0.5, 0.8, 0.92), 0.9), strokes_to((0.5, 0.8, 0.92), 0.95)
    (2, 3)
    """
    return next((count for count, value in enumerate(ious) if value >= level), len(ious))
