"""The Dask cluster that this process is a client of; Dask itself is optional."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

Item = TypeVar("Item")

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

    What was sent is taken back in the end, however the block is left.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client as DaskClient
    except ImportError as error:
        raise ClusterError(
            "--scheduler: wanted the extra 'cluster' (dask.distributed), got no such package"
        ) from error
    try:
        asyncio.run(_greet(address))
        client = DaskClient(address, timeout=_PATIENCE)
    except _NO_SCHEDULER as error:
        raise ClusterError(f"{address}: wanted a Dask scheduler there, got no answer") from error
    with client:
        yield client


async def _greet(address: str) -> None:
    """Exchange the first words with a scheduler in time, for which Dask would wait for ever."""
    from dask.utils import parse_timedelta
    from distributed.comm import connect

    seconds = parse_timedelta(_PATIENCE)
    comm = await asyncio.wait_for(connect(address, timeout=seconds), seconds)
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
