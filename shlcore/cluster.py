"""The Dask cluster that this process is a client of; Dask itself is optional."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from distributed.security import Security

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
