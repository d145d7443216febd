"""Work in several processes; what a dying process takes with it is done again, alone."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from shlcore.threads import limited_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.synchronize import Event

Item = TypeVar("Item")
Result = TypeVar("Result")


class ProcessDied(ValueError):  # noqa: N818 - told as the result of one item
    """The process of one item ended, out of memory perhaps."""

    def __init__(self) -> None:
        super().__init__("Its process ended unexpectedly; the memory may be too small.")


def in_processes(
    work: Callable[[Item, Callable[[], bool]], Result],
    items: Sequence[Item],
    jobs: int,
    *,
    threads: int = 1,
) -> Generator[tuple[Item, Result | ProcessDied], None, None]:
    """Yield each item with its result when that is there, in any order.

    Closing the iterator stops the processes as soon as ``work`` looks.

    Parameters
    ----------
    work
        Of one item; a function of a module, or a partial of one. It is also handed a function
        that tells whether to stop.
    threads
        Of each process, for sums and products.
    """
    suspects = yield from _parallel(work, items, min(jobs, len(items)), threads)
    # A process died and took the others' work with it. Alone in a process, each of the lost
    # items shows whether it was the one.
    for item in suspects:
        if (yield from _parallel(work, [item], 1, threads)):
            yield item, ProcessDied()


def _parallel(
    work: Callable[[Item, Callable[[], bool]], Result],
    items: Sequence[Item],
    jobs: int,
    threads: int,
) -> Generator[tuple[Item, Result | ProcessDied], None, list[Item]]:
    """Yield results and return the items that were lost with a process, in their order."""
    if not items:
        return []
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    executor = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare, initargs=(stop,)
    )
    lost: list[int] = []
    try:
        with _deaf_to_interrupts():
            waiting: dict[Future[Result], int] = {
                executor.submit(partial(_run, work, threads), item): place
                for place, item in enumerate(items)
            }
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                place = waiting.pop(future)
                try:
                    yield items[place], future.result()
                except BrokenProcessPool:
                    lost.append(place)
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)
    return [items[place] for place in sorted(lost)]


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


def _prepare(stop: Event) -> None:
    """Set up a process."""
    global _stop  # the one way to hand an event to a pool's process
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it is not inherited


def _run(work: Callable[[Item, Callable[[], bool]], Result], threads: int, item: Item) -> Result:
    if _stop is None:
        raise RuntimeError("the process was not prepared")
    with limited_threads(threads):
        return work(item, _stop.is_set)
