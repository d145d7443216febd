"""Simulated user of a stack or film: marks one page, then corrects the worst ones."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from segapp.batch.cases import load_truth
from segapp.batch.robot_user import first_dabs, robot_stroke, score
from segapp.io.stacks import open_stack
from segapp.model.document import Marks
from segapp.model.validation import SegappError, sanitize

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

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


# Folders of films -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FilmCase:
    """A film with the truth of each of its pages."""

    name: str
    images: Path
    truths: tuple[Path, ...]


def find_films(folder: Path) -> list[FilmCase]:
    """Return the films of a folder, or the one that it is.

    A film is a folder with ``images`` and ``masks``, whose files have the same names but for
    their endings: 255 is the object, 0 the background and 128 is not judged.
    """
    if (folder / "images").is_dir():
        return [_film(folder)]
    films = [_film(path) for path in sorted(folder.iterdir()) if (path / "images").is_dir()]
    if not films:
        raise SegappError(
            "{}: wanted films, folders with images and masks, found none.", sanitize(folder)
        )
    return films


def _film(folder: Path) -> FilmCase:
    stack = open_stack(folder / "images")
    truths = tuple(folder / "masks" / f"{path.stem}.png" for path in stack.paths)
    missing = [path for path in truths if not path.is_file()]
    if missing:
        raise SegappError("There is no file {}.", sanitize(missing[0]))
    return FilmCase(folder.name, folder / "images", truths)


@dataclass(frozen=True, slots=True)
class FilmResult:
    """The result of a robot user on a film.

    Parameters
    ----------
    name
        Of the film.
    uncorrected
        IoU of each page after the first propagation.
    first_strokes, strokes
        On the first page, and until all pages have `END_LEVEL`, or none could be made better.
    ious
        Of each page at the end.
    seconds
        Of the first propagation, for each page.
    """

    name: str
    uncorrected: tuple[float, ...]
    first_strokes: int
    strokes: int
    ious: tuple[float, ...]
    seconds: float


def run_film(
    case: FilmCase, stack: Stack, corrections: int = 1000
) -> Generator[FilmStep, None, FilmResult]:
    """Let the robot user work on a film; yield after each propagation."""
    classes, background = stack.classes, stack.classes.background
    start = time.perf_counter()
    size = stack.picture(0).size
    truths = [load_truth(path, size, len(classes.classes), background) for path in case.truths]
    first = last = None
    seconds = 0.0
    for last in film_steps(stack, truths, corrections=corrections):
        if first is None:
            first, seconds = last, time.perf_counter() - start
        yield last
    if first is None or last is None:
        raise RuntimeError("a film has one step at least")
    each = seconds / len(stack)
    return FilmResult(case.name, first.ious, first.strokes, last.strokes, last.ious, each)


def film_summary(results: Sequence[FilmResult]) -> dict[str, Any]:
    """Return means over films, and a row for each."""
    rows = [
        {
            "film": result.name,
            "pages": len(result.ious),
            "mean_iou": round(mean(result.uncorrected), 4),
            "last_iou": round(result.uncorrected[-1], 4),
            "first_strokes": result.first_strokes,
            "strokes": result.strokes,
            "strokes_per_page": round(result.strokes / len(result.ious), 3),
            "worst_iou": round(min(result.ious), 4),
            "seconds_per_page": round(result.seconds, 3),
        }
        for result in results
    ]
    return {
        "films": len(rows),
        "mean_iou": round(mean(mean(result.uncorrected) for result in results), 4),
        "strokes_per_page": round(mean(each.strokes / len(each.ious) for each in results), 4),
        "results": rows,
    }
