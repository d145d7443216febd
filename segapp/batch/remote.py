"""Tasks on the workers of a Dask cluster, which see the same files as this process."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from segapp.batch.task import Outcome, Task, never, run_case
from shlcore.cluster import ClusterError, as_they_come, connected
from shlcore.threads import limited_threads

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from segapp.values.updates import MakeSegmenter


def remote_outcomes(
    tasks: Sequence[Task], make_segmenter: MakeSegmenter, address: str
) -> Generator[Outcome, None, None]:
    """Do all tasks on a scheduler's workers and yield each outcome when it is there.

    An image whose worker dies is done by another. Closing the iterator takes back what has
    not begun.
    """
    rooted = [_rooted(task) for task in tasks]
    with connected(address) as client:
        for task, found in as_they_come(client, partial(_run, make_segmenter), rooted):
            lost = isinstance(found, ClusterError)
            yield Outcome(task.case.name, error=str(found)) if lost else found


def _rooted(task: Task) -> Task:
    """Name files from the root: a worker has a working directory of its own."""
    case = task.case
    truth = None if case.truth is None else case.truth.absolute()
    case = replace(case, image=case.image.absolute(), strokes=case.strokes.absolute(), truth=truth)
    return replace(task, case=case, out=task.out.absolute())


def _run(make_segmenter: MakeSegmenter, task: Task) -> Outcome:
    # One thread, as everywhere: masks must not depend on where they are made.
    with limited_threads(1):
        return run_case(task, make_segmenter, never)
