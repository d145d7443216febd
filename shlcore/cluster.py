"""The Dask cluster that this process is a client of; Dask itself is optional."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

_PATIENCE = "10s"


class ClusterError(ValueError):
    """No cluster where one was wanted; the message is one sentence for the user."""


def current_client() -> Any:  # noqa: ANN401 - distributed carries no types
    """Return the `dask.distributed.Client` of this process, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Be a client of the scheduler at an address; None yields None.

    What was sent is taken back in the end, however the block is left.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(
            "--scheduler: wanted the extra 'cluster' (dask.distributed), got no such package"
        ) from error
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ClusterError(f"{address}: wanted a Dask scheduler there, got no answer") from error
    with client:
        yield client


def as_they_come(
    client: Any,  # noqa: ANN401 - distributed carries no types
    function: Callable[..., Any],
    items: Sequence[Any],
) -> Generator[tuple[Any, Any], None, None]:
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
