"""Simulated user of a stack or film: marks one page, then corrects the worst ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.batch.robot_user import first_dabs, robot_stroke, score
from segapp.model.document import Marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from segapp.app.stack import Stack

BEGIN_LEVEL = 0.9
"""The IoU of the first page at which the robot propagates."""
END_LEVEL = 0.85
"""The IoU that each page is corrected to."""
MOST_STROKES = 20
"""On one page, as on a single picture."""


@dataclass(frozen=True, slots=True)
class FilmStep:
    """The state after a propagation.

    Parameters
    ----------
    strokes
        How many were made until now, dabs of the beginning included.
    corrected
        The page that was marked last.
    ious
        Of each page.
    """

    strokes: int
    corrected: int
    ious: tuple[float, ...]


def film_steps(
    stack: Stack, truths: Sequence[NDArray[np.integer]], *, corrections: int = 1000
) -> Iterator[FilmStep]:
    """Mark the first page and propagate, then correct the worst page, again and again.

    A page is corrected until it has `END_LEVEL`, and its answer is then propagated. It ends when
    all pages have that level, or after so many ``corrections`` of pages.
    """
    n_classes, background = len(stack.classes.classes), stack.classes.background

    def iou(page: int) -> float:
        return score(stack.labels(page), truths[page], n_classes, background)

    dabs = first_dabs(truths[0], n_classes)
    document = replace(stack.classes, strokes=Marks.of(dabs))
    stack.edit(0, document.as_one_state())
    strokes = len(dabs) + _correct(stack, truths[0], 0, BEGIN_LEVEL)
    page = 0
    for _ in range(corrections + 1):
        stack.propagate()
        ious = tuple(iou(number) for number in range(len(stack)))
        yield FilmStep(strokes, page, ious)
        page = min(range(len(stack)), key=ious.__getitem__)
        if ious[page] >= END_LEVEL:
            return
        made = _correct(stack, truths[page], page, END_LEVEL)
        if not made:
            return
        strokes += made


def _correct(stack: Stack, truth: NDArray[np.integer], page: int, level: float) -> int:
    """Mark the largest mistakes of a page until it has a level; return how many."""
    n_classes, background = len(stack.classes.classes), stack.classes.background
    for count in range(MOST_STROKES):
        if page in stack.marked:
            stack.answer_marked(page)
        labels = stack.labels(page)
        if score(labels, truth, n_classes, background) >= level:
            return count
        mark = robot_stroke(labels, truth)
        if mark is None:
            return count
        stack.add_mark(page, mark)
    return MOST_STROKES
