"""Tasks one after the other or in several processes: same results, same order of calls."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from segapp.batch.task import Outcome, Stopped, Task, never, run_case

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.synchronize import Event

    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.updates import Segmenter

    Make = Callable[[NDArray[np.uint8]], Segmenter]
    _Run = Generator[Outcome, None, list[Task]]


def outcomes(
    tasks: Sequence[Task], make_segmenter: Make, jobs: int = 1
) -> Generator[Outcome, None, None]:
    """Do all tasks and yield each outcome when it is there.

    Each process computes with one thread: sums in another order would be other sums, and masks
    must not depend on ``jobs``. Closing the iterator, or Ctrl-C, stops the processes between
    two steps of their work.
    """
    if jobs == 1 or len(tasks) <= 1:
        with threadpool_limits(1):
            for task in tasks:
                yield run_case(task, make_segmenter, never)
        return
    suspects = yield from _parallel(tasks, make_segmenter, min(jobs, len(tasks)))
    # A process died, out of memory perhaps, and took the others' work with it. Alone in a
    # process, each of them shows whether it was the one.
    for task in suspects:
        if (yield from _parallel([task], make_segmenter, 1)):
            yield Outcome(
                task.case.name,
                error="Its process ended unexpectedly; the memory may be too small.",
            )


def _parallel(tasks: Sequence[Task], make_segmenter: Make, jobs: int) -> _Run:
    """Yield outcomes and return the tasks that were lost with a process."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    executor = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare, initargs=(stop, make_segmenter)
    )
    lost: list[Task] = []
    try:
        with _deaf_to_interrupts():
            waiting: dict[Future[Outcome], Task] = {executor.submit(_run, t): t for t in tasks}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                task = waiting.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(task)
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)
    return sorted(lost, key=lambda task: task.case.name)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which is for the parent, from their first moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_stop: Event | None = None
_make: Make | None = None


def _prepare(stop: Event, make_segmenter: Make) -> None:
    """Set up a process with one thread."""
    global _stop, _make  # the one way to hand things to a pool's process
    _stop, _make = stop, make_segmenter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it is not inherited
    threadpool_limits(1)


def _run(task: Task) -> Outcome:
    if _make is None or _stop is None:
        raise RuntimeError("the process was not prepared")
    try:
        return run_case(task, _make, _stop.is_set)
    except Stopped:
        return Outcome(task.case.name, error="Stopped.")
