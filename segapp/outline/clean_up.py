"""Tidying a labelling after learning. Marked pixels keep their class, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.outline.parts import Runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from segapp.outline.parts import Parts, Rewriting
    from segapp.values.marked import Marked
    from segapp.values.settings import CleanUp

_ROWS_AT_ONCE = 256


def clean_up(
    labels: NDArray[np.uint8], marked: Marked, wishes: CleanUp, background: int
) -> NDArray[np.uint8]:
    """Apply what is asked for, in the order smoothing, smallest area, holes, loose parts.

    ``background`` is the class in which holes are looked for, and whose parts need no stroke.
    Marked pixels have their class in ``labels``, which stay as they are; without a change, they
    are returned.
    """
    if wishes.smoothing:
        labels = smoothed(labels, wishes.smoothing)
        marked.pin(labels)
    tidying = parts_to_rewrite(labels, marked, wishes, background)
    if tidying is None or not len(tidying):
        return labels
    written = np.array(labels, order="C")
    tidying.write(written)
    return written


def parts_to_rewrite(
    labels: NDArray[np.uint8], marked: Marked, wishes: CleanUp, background: int
) -> Rewriting | None:
    """Return what `clean_up` writes after smoothing; None if nothing of that is asked for."""
    wanted = _wanted(wishes, background)
    if not wanted:
        return None
    runs = Runs.of(labels)
    parts, part_of_run = runs.parts(marked.beginnings())
    for dropped_of in wanted:
        dropped = dropped_of(parts)
        if dropped.any() and not dropped.all():
            parts, number = parts.relabelled(parts.heirs(dropped))
            part_of_run = number[part_of_run]
    return runs.rewriting(parts.labels[part_of_run])


def _wanted(wishes: CleanUp, background: int) -> list[Callable[[Parts], NDArray[np.bool_]]]:
    """Return what tells the parts that shall go, step by step."""
    steps: list[Callable[[Parts], NDArray[np.bool_]]] = []
    if wishes.smallest_area > 1:
        steps.append(lambda parts: parts.small(wishes.smallest_area))
    if wishes.fill_holes:
        steps.append(lambda parts: parts.holes(background))
    if wishes.keep_touching:
        steps.append(lambda parts: parts.loose(background))
    return steps


def smoothed(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """Give each pixel the most frequent class of the square around it, the lowest on a tie."""
    best = np.zeros(labels.shape, dtype=np.uint8)
    for top in range(0, len(labels), _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, len(labels))
        first, last = max(top - radius, 0), min(bottom + radius, len(labels))
        strip = _most_frequent(labels[first:last], radius)
        best[top:bottom] = strip[top - first : bottom - first]
    return best


def _most_frequent(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    best = np.zeros(labels.shape, dtype=np.uint8)
    votes = np.full(labels.shape, -1.0, dtype=np.float32)
    for label in np.unique(labels):
        # Rounding makes equal shares equal, whatever was summed before.
        share = ndimage.uniform_filter((labels == label).astype(np.float32), 2 * radius + 1)
        share = np.rint(share * (2 * radius + 1) ** 2)
        wins = share > votes
        best[wins], votes[wins] = label, share[wins]
    return best
