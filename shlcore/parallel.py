"""How many threads linear algebra takes: many that do little only wait for each other.

@@@
Work in several processes; what a dying process takes with it is done again, alone.

@@@
The Dask cluster that this process is a client of; Dask itself is optional.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

from threadpoolctl import ThreadpoolController, threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from multiprocessing.synchronize import Event

    from distributed.security import Security


_READ_WHEN_LOADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def limited_threads(number: int) -> Iterator[None]:
    """Limit all linear algebra within a ``with`` block, for those to whom the process belongs.

    Libraries that are loaded meanwhile are limited as well, and stay so: a limit reaches only
    what is there, and each of NumPy, SciPy and scikit-learn brings threads of its own.
    """
    before = {name: os.environ.get(name) for name in _READ_WHEN_LOADED}
    os.environ.update(dict.fromkeys(_READ_WHEN_LOADED, str(number)))
    try:
        with threadpool_limits(number):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within a ``with`` block."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


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


_PATIENCE = "10s"
"""A scheduler on the same network answers within a fraction of a second; a user who mistyped an
address should not wait longer than this."""

# What Dask raises when nobody answers, or somebody who is no scheduler.
_NO_SCHEDULER = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    EOFError,
    MemoryError,
)


class ClusterError(ValueError):
    """No cluster where one was wanted; the message is one sentence for the user."""


class Client(Protocol):
    """What we need of a `dask.distributed.Client`. A future stands for a task's answer."""

    def submit(
        self, function: Callable[..., object], /, *arguments: object, **options: object
    ) -> object:
        """Start a task; returns its future."""

    def compute(self, collection: object, /, **options: object) -> object:
        """Compute a Dask object; returns its future."""

    def gather(self, futures: object, /) -> object:
        """Wait for futures, and return their answers in the same shape."""

    def scheduler_info(self, n_workers: int) -> Mapping[str, Mapping[str, object]]:
        """Tell what is there, such as "workers" by address."""

    def cancel(self, futures: Sequence[object], /) -> object:
        """Take back what has not begun."""


def current_client() -> Client | None:
    """Return the `dask.distributed.Client` of this process, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return cast("Client", distributed.default_client())
    except ValueError:
        return None


@overload
def connected(address: str) -> AbstractContextManager[Client]: ...
@overload
def connected(address: None) -> AbstractContextManager[None]: ...
@overload
def connected(address: str | None) -> AbstractContextManager[Client | None]: ...
@contextmanager  # type: ignore[misc]
def connected(address: str | None) -> Iterator[Client | None]:
    """Be a client of the scheduler at an address; None yields None.

    For ``tls://`` the certificates are those of Dask's configuration (``distributed.comm.tls``:
    a file of its own, or the environment). What was sent is taken back in the end, however the
    block is left.
    """
    if address is None:
        yield None
        return
    import asyncio  # like Dask, for those who have a cluster

    try:
        from distributed import Client as DaskClient
    except ImportError as error:
        raise ClusterError(
            "--scheduler: wanted the extra 'cluster' (dask.distributed), got no such package"
        ) from error
    security = _security(address)
    try:
        asyncio.run(_greet(address, security))
        client = DaskClient(address, timeout=_PATIENCE, security=security)
    except _NO_SCHEDULER as error:
        raise ClusterError(f"{address}: wanted a Dask scheduler there, got no answer") from error
    with client:
        yield client


def _security(address: str) -> Security:
    """Read the certificates that Dask is configured with, and see that they fit the address."""
    from distributed.security import Security

    where = "in Dask's configuration (distributed.comm.tls)"
    try:
        security = Security()
        certain = security.get_connection_args("client")
    except (OSError, ValueError, TypeError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise ClusterError(
            f"{address}: wanted TLS certificates {where}, got an error: {told}"
        ) from error
    if address.startswith("tls://") and certain["ssl_context"] is None:
        raise ClusterError(f"{address}: wanted TLS certificates {where}, got none")
    if certain["require_encryption"] and not address.startswith("tls://"):
        raise ClusterError(
            f"{address}: wanted a tls:// address, as Dask's configuration requires encryption"
        )
    return security


async def _greet(address: str, security: Security) -> None:
    """Exchange the first words with a scheduler in time, for which Dask would wait for ever."""
    import asyncio

    from dask.utils import parse_timedelta
    from distributed.comm import connect

    seconds = parse_timedelta(_PATIENCE)
    certain = security.get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=seconds, **certain), seconds)
    comm.abort()


def as_they_come(
    client: Client, function: Callable[[Item], object], items: Sequence[Item]
) -> Generator[tuple[Item, Any], None, None]:  # an answer, or a ClusterError in its place
    """Yield each item and ``function(item)``, as the workers finish them.

    A `ClusterError` takes the place of an answer whose workers died one after the other.
    Closing the generator takes back what has not begun.
    """
    from distributed import KilledWorker, as_completed

    waiting = {client.submit(function, item, pure=False): item for item in items}
    try:
        for done in as_completed(waiting):
            try:
                found = done.result()
            except KilledWorker:
                found = ClusterError("Its workers ended unexpectedly; memory may be too small.")
            yield waiting[done], found
    finally:
        client.cancel(list(waiting))
