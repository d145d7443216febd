"""Tasks one after the other or in several processes: same results, same order of calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segapp.batch.task import Outcome, Stopped, Task, never, run_case
from shlcore.process_pool import ProcessDied, in_processes
from shlcore.threads import limited_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from segapp.values.updates import MakeSegmenter


def outcomes(
    tasks: Sequence[Task], make_segmenter: MakeSegmenter, jobs: int = 1
) -> Generator[Outcome, None, None]:
    """Do all tasks and yield each outcome when it is there.

    Each process computes with one thread: sums in another order would be other sums, and masks
    must not depend on ``jobs``. Closing the iterator, or Ctrl-C, stops the processes between
    two steps of their work.
    """
    if jobs == 1 or len(tasks) <= 1:
        with limited_threads(1):
            for task in tasks:
                yield run_case(task, make_segmenter, never)
        return
    for task, found in in_processes(partial(_run, make_segmenter), tasks, jobs):
        if isinstance(found, ProcessDied):
            yield Outcome(task.case.name, error=str(found))
        else:
            yield found


def _run(make_segmenter: MakeSegmenter, task: Task, stopped: Callable[[], bool]) -> Outcome:
    try:
        return run_case(task, make_segmenter, stopped)
    except Stopped:
        return Outcome(task.case.name, error="Stopped.")
