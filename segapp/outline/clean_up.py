"""Tidying a labelling after learning. Marked pixels keep their class, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.picture.neighbours import BOTH_WAYS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.settings import CleanUp


def clean_up(
    labels: NDArray[np.uint8], marked: NDArray[np.int16], wishes: CleanUp, background: int
) -> NDArray[np.uint8]:
    """Apply what is asked for, in the order smoothing, smallest area, holes, loose parts.

    ``marked`` holds the class of each pixel under a stroke and -1 elsewhere; ``background``
    is the class in which holes are looked for, and whose parts need no stroke.
    """
    tidy = labels
    if wishes.smoothing:
        tidy = pinned(smoothed(tidy, wishes.smoothing), marked)
    if wishes.smallest_area > 1:
        tidy = without_parts(tidy, small_parts(tidy, marked, wishes.smallest_area))
    if wishes.fill_holes:
        tidy = without_parts(tidy, holes(tidy, marked, background))
    if wishes.keep_touching:
        tidy = without_parts(tidy, loose_parts(tidy, marked, background))
    return pinned(tidy, marked)


def pinned(labels: NDArray[np.uint8], marked: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Give marked pixels the class they are marked with."""
    return np.where(marked >= 0, marked, labels).astype(np.uint8)


def smoothed(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """Give each pixel the most frequent class of the square around it, the lowest on a tie."""
    best = np.zeros(labels.shape, dtype=np.uint8)
    votes = np.full(labels.shape, -1.0, dtype=np.float32)
    for label in np.unique(labels):
        # Rounding makes equal shares equal, whatever was summed before.
        share = ndimage.uniform_filter((labels == label).astype(np.float32), 2 * radius + 1)
        share = np.rint(share * (2 * radius + 1) ** 2)
        wins = share > votes
        best[wins], votes[wins] = label, share[wins]
    return best


def _parts(labels: NDArray[np.uint8]) -> tuple[NDArray[np.int32], int]:
    """Give each connected part of each class a number from 1."""
    numbers = np.zeros(labels.shape, dtype=np.int32)
    total = 0
    for label in np.unique(labels):
        mask = labels == label
        own, count = ndimage.label(mask)
        numbers[mask] = own[mask] + total
        total += count
    return numbers, total


def _holds_a_stroke(
    labels: NDArray[np.uint8], marked: NDArray[np.int16], numbers: NDArray[np.int32], total: int
) -> NDArray[np.bool_]:
    """Tell which parts contain a marked pixel of their own class (entry 0 is unused)."""
    held = np.zeros(total + 1, dtype=bool)
    held[numbers[marked == labels]] = True
    return held


def small_parts(
    labels: NDArray[np.uint8], marked: NDArray[np.int16], smallest_area: int
) -> NDArray[np.bool_]:
    """Mask the parts of fewer pixels than that; a part under a stroke is meant, and stays."""
    numbers, total = _parts(labels)
    small = np.bincount(numbers.ravel(), minlength=total + 1) < smallest_area
    return (small & ~_holds_a_stroke(labels, marked, numbers, total))[numbers]


def holes(
    labels: NDArray[np.uint8], marked: NDArray[np.int16], background: int
) -> NDArray[np.bool_]:
    """Mask the parts of the background, without a stroke, that one single class encloses."""
    numbers, total = _parts(labels)
    lowest = np.full(total + 1, np.iinfo(np.int32).max)
    highest = np.full(total + 1, -1)
    for here, there in BOTH_WAYS:
        differs = labels[here] != labels[there]
        part, other = numbers[here][differs], labels[there][differs]
        np.minimum.at(lowest, part, other)
        np.maximum.at(highest, part, other)
    enclosed = lowest == highest
    for edge in (numbers[0], numbers[-1], numbers[:, 0], numbers[:, -1]):
        enclosed[edge] = False
    held = _holds_a_stroke(labels, marked, numbers, total)
    return np.asarray((enclosed & ~held)[numbers] & (labels == background))


def loose_parts(
    labels: NDArray[np.uint8], marked: NDArray[np.int16], background: int
) -> NDArray[np.bool_]:
    """Mask the parts that touch no stroke of their class.

    The background is what is left over: an object may well divide it, and nobody marks each
    piece.
    """
    numbers, total = _parts(labels)
    loose = ~_holds_a_stroke(labels, marked, numbers, total)[numbers]
    return np.asarray(loose & (labels != background))


def without_parts(labels: NDArray[np.uint8], dropped: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Give each connected dropped region the class with which it shares the longest border.

    Where everything is dropped there is nobody to take over, and all stays as it is.
    """
    if dropped.all() or not dropped.any():
        return labels
    regions, count = ndimage.label(dropped)
    n_classes = int(labels.max()) + 1
    border = np.zeros((count + 1) * n_classes, dtype=np.int64)
    for here, there in BOTH_WAYS:
        meets = dropped[here] & ~dropped[there]
        key = regions[here][meets].astype(np.int64) * n_classes + labels[there][meets]
        border += np.bincount(key, minlength=border.size)
    heirs = border.reshape(count + 1, n_classes).argmax(axis=1).astype(np.uint8)
    return np.where(dropped, heirs[regions], labels)
