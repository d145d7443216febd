"""Parallel work: BLAS threads, local processes, workers of a Dask cluster."""

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

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that libraries read once, when they are loaded."""

_CONNECT_TIMEOUT = "10s"
"""A scheduler on the same network answers within a fraction of a second; a user who mistyped an
address should not wait longer than this."""

# Errors that Dask raises without an answer, or with one that is not a scheduler's.
_CONNECT_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    EOFError,
    MemoryError,
)


@contextmanager
def limit_threads(number: int) -> Iterator[None]:
    """Limit the threads of linear algebra within a ``with`` block, for whole programs.

    The limit also covers libraries that are loaded within the block, and these keep it. NumPy,
    SciPy and scikit-learn each bring threads of their own.
    """
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(number)))
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
    # Searching for the libraries takes milliseconds, hence once.
    return ThreadpoolController()


class ProcessDied(ValueError):  # noqa: N818 - the result of one item
    """The end of an item's process without a result, perhaps for lack of memory."""

    def __init__(self) -> None:
        super().__init__("Its process ended unexpectedly; the memory may be too small.")


def map_in_processes(
    work: Callable[[Item, Callable[[], bool]], Result],
    items: Sequence[Item],
    jobs: int,
    *,
    threads: int = 1,
) -> Generator[tuple[Item, Result | ProcessDied], None, None]:
    """Yield each item with its result, in the order of completion.

    Closing the iterator stops the processes as soon as ``work`` checks.

    Parameters
    ----------
    work
        A function of a module, or a partial of one. It gets an item and a function that tells
        whether to stop.
    threads
        Number of threads of linear algebra in each process.
    """
    suspects = yield from _parallel(work, items, min(jobs, len(items)), threads)
    # A process that dies breaks the whole pool. Each of the lost items runs again in a process of
    # its own, which shows the one that is to blame.
    for item in suspects:
        if (yield from _parallel(work, [item], 1, threads)):
            yield item, ProcessDied()


def _parallel(
    work: Callable[[Item, Callable[[], bool]], Result],
    items: Sequence[Item],
    jobs: int,
    threads: int,
) -> Generator[tuple[Item, Result | ProcessDied], None, list[Item]]:
    """Yield results, and return the items that were lost with a process."""
    if not items:
        return []
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    executor = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare, initargs=(stop,)
    )
    lost: list[int] = []
    try:
        with _ignore_interrupts():
            waiting: dict[Future[Result], int] = {
                executor.submit(partial(_run, work, threads), item): index
                for index, item in enumerate(items)
            }
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                index = waiting.pop(future)
                try:
                    yield items[index], future.result()
                except BrokenProcessPool:
                    lost.append(index)
    finally:
        stop.set()
        executor.shutdown(wait=True, cancel_futures=True)
    return [items[index] for index in sorted(lost)]


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C from the beginning; the parent handles it."""
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
    """Set up a process of the pool."""
    global _stop  # the one way to pass an event to a process of a pool
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on systems where it is not inherited


def _run(work: Callable[[Item, Callable[[], bool]], Result], threads: int, item: Item) -> Result:
    if _stop is None:
        raise RuntimeError("the process was not prepared")
    with limit_threads(threads):
        return work(item, _stop.is_set)


class ClusterError(ValueError):
    """A cluster that cannot be used; the message is one sentence for the user."""


class Client(Protocol):
    """The part of `dask.distributed.Client` in use here, with futures as results."""

    def submit(
        self, function: Callable[..., object], /, *arguments: object, **options: object
    ) -> object:
        """Start a task, and return its future."""

    def compute(self, collection: object, /, **options: object) -> object:
        """Compute a Dask object, and return its future."""

    def gather(self, futures: object, /) -> object:
        """Wait for futures, and return their results in the same structure."""

    def scheduler_info(self, n_workers: int) -> Mapping[str, Mapping[str, object]]:
        """Return facts about the cluster, such as "workers" by address."""

    def cancel(self, futures: Sequence[object], /) -> object:
        """Cancel tasks that have not started."""


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
def connect_to_cluster(address: str) -> AbstractContextManager[Client]: ...
@overload
def connect_to_cluster(address: None) -> AbstractContextManager[None]: ...
@overload
def connect_to_cluster(address: str | None) -> AbstractContextManager[Client | None]: ...
@contextmanager  # type: ignore[misc]
def connect_to_cluster(address: str | None) -> Iterator[Client | None]:
    """Connect to the scheduler at an address within a ``with`` block; None for None.

    For ``tls://`` the certificates are those of Dask's configuration (``distributed.comm.tls``:
    a file of its own, or the environment). Unfinished tasks are cancelled at the end of the block.
    """
    if address is None:
        yield None
        return
    import asyncio  # like Dask, only for users with a cluster

    try:
        from distributed import Client as DaskClient
    except ImportError as error:
        raise ClusterError(
            "--scheduler: wanted the extra 'cluster' (dask.distributed), got no such package"
        ) from error
    security = _security(address)
    try:
        asyncio.run(_handshake(address, security))
        client = DaskClient(address, timeout=_CONNECT_TIMEOUT, security=security)
    except _CONNECT_ERRORS as error:
        raise ClusterError(f"{address}: wanted a Dask scheduler there, got no answer") from error
    with client:
        yield client


def _security(address: str) -> Security:
    """Read the certificates of Dask's configuration, and check them for the address."""
    from distributed.security import Security

    where = "in Dask's configuration (distributed.comm.tls)"
    try:
        security = Security()
        settings = security.get_connection_args("client")
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ClusterError(
            f"{address}: wanted TLS certificates {where}, got an error: {reason}"
        ) from error
    if address.startswith("tls://") and settings["ssl_context"] is None:
        raise ClusterError(f"{address}: wanted TLS certificates {where}, got none")
    if settings["require_encryption"] and not address.startswith("tls://"):
        raise ClusterError(
            f"{address}: wanted a tls:// address, as Dask's configuration requires encryption"
        )
    return security


async def _handshake(address: str, security: Security) -> None:
    """Open and close a connection with a timeout, because Dask would wait for ever."""
    import asyncio

    from dask.utils import parse_timedelta
    from distributed.comm import connect

    seconds = parse_timedelta(_CONNECT_TIMEOUT)
    settings = security.get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=seconds, **settings), seconds)
    comm.abort()


def map_on_cluster(
    client: Client, function: Callable[[Item], object], items: Sequence[Item]
) -> Generator[tuple[Item, Any], None, None]:  # a result, or a ClusterError in its place
    """Yield each item with ``function(item)``, in the order of completion.

    An item whose workers died one after the other yields a `ClusterError`. Closing the generator
    cancels the tasks that have not started.
    """
    from distributed import KilledWorker, as_completed

    waiting = {client.submit(function, item, pure=False): item for item in items}
    try:
        for done in as_completed(waiting):
            try:
                result = done.result()
            except KilledWorker:
                result = ClusterError("Its workers ended unexpectedly; memory may be too small.")
            yield waiting[done], result
    finally:
        client.cancel(list(waiting))
