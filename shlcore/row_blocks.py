"""Rows in blocks: in this process on threads, or on the workers of a Dask cluster.

Both run the same functions on the same blocks and add up in the same order.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

from shlcore.cluster import current_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Function = Callable[..., Any]
    Sums = tuple[NDArray[Any], ...]
    Make = Callable[[NDArray[Any]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True, eq=False)
class Slab:
    """Rows that can be read when they are wanted.

    Parameters
    ----------
    source
        An array (a slice of a memory map is not read before), a Dask block, or a `FilePart`.
    picks
        Which of its rows count; None for all.
    size
        How many these are.
    """

    source: Any
    picks: NDArray[np.intp] | None
    size: int

    def read(self) -> NDArray[Any]:
        """Return the rows."""
        source = self.source
        if isinstance(source, FilePart):
            rows = source.read()
        elif hasattr(source, "dask"):
            rows = np.asarray(source.compute(scheduler="synchronous"))
        else:
            rows = np.asarray(source)
        return rows if self.picks is None else rows[self.picks]


@dataclass(frozen=True, slots=True)
class FilePart:
    """Rows of a memory-mapped file that a worker can open by itself."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]

    def read(self) -> NDArray[Any]:
        """Map the file and read."""
        return np.array(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))


def slabs(X: Any, first: NDArray[np.intp], size: int) -> list[Slab]:  # noqa: ANN401 - or Dask's
    """Cut the samples ``first`` (ascending) of X into slabs; Dask arrays keep their chunks."""
    if hasattr(X, "dask"):
        chunks = X.rechunk({1: -1}).to_delayed().ravel()
        starts = np.cumsum((0, *X.chunks[0]))
        sources: Iterable[Any] = chunks
    else:
        starts = np.append(np.arange(0, len(X), size), len(X))
        sources = (X[a:b] for a, b in pairwise(starts))
    cut = []
    for source, (low, high) in zip(sources, pairwise(starts), strict=True):
        own = first[slice(*np.searchsorted(first, (low, high)))]
        if own.size:
            cut.append(Slab(source, None if len(own) == high - low else own - low, len(own)))
    return cut


def row_blocks(cut: list[Slab]) -> LocalBlocks | ClusterBlocks:
    """Choose the cluster if this process is a client of one, threads otherwise."""
    client = current_client()
    return LocalBlocks(cut) if client is None else ClusterBlocks(client, cut)


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


class LocalBlocks:
    """Blocks of this process; as many threads as cores work on them."""

    def __init__(self, cut: list[Slab]) -> None:
        self.sizes = [slab.size for slab in cut]
        self._cut = cut
        self._make: Make | None = None
        self._kept: dict[int, NDArray[Any]] = {}
        self._states: list[Any] = []
        self._room = 0

    def with_features(self, make: Make, width: int, budget: int) -> LocalBlocks:
        """Return the same blocks, whose functions get features instead of rows.

        Parameters
        ----------
        make
            Turns rows into ``width`` features.
        budget
            Bytes of features that may be kept; the rest is made whenever it is needed.
        """
        blocks = LocalBlocks(self._cut)
        blocks._make = make
        kept = np.cumsum(self.sizes) * width * 4 <= budget
        blocks._room = int(np.count_nonzero(kept))
        return blocks

    def gather(self, function: Function, pieces: Sequence[Any], shared: object) -> list[Any]:
        """Return ``function(features, piece, shared)`` of each block."""
        return list(self._run(lambda i: function(self._block(i), pieces[i], shared)))

    def add_up(self, function: Function, pieces: Sequence[Any]) -> Sums:
        """Return the sums of ``function(features, piece)``, block after block.

        One block at a time, for sums that are too large to have several of.
        """
        return _added(function(self._block(i), piece) for i, piece in enumerate(pieces))

    def start(self, function: Function, pieces: Sequence[Any], shared: object) -> Sums:
        """Give each block a state; returns the blocks' sums."""
        return self._renew(function, list(pieces), shared)

    def advance(self, function: Function, shared: object) -> Sums:
        """Renew each block's state; returns the blocks' sums."""
        return self._renew(function, self._states, shared)

    def finish(self, function: Function, shared: object) -> list[Any]:
        """Return ``function(features, state, shared)`` of each block; states are dropped."""
        states, self._states = self._states, []
        return self.gather(function, states, shared)

    def _renew(self, function: Function, states: list[Any], shared: object) -> Sums:
        renewed: list[Any] = []

        def sums() -> Iterator[Sums]:
            for state, part in self._run(lambda i: function(self._block(i), states[i], shared)):
                renewed.append(state)
                yield part

        total = _added(sums())
        self._states = renewed
        return total

    def _run(self, job: Callable[[int], Any]) -> Iterator[Any]:
        limit = _threads().limit(limits=1, user_api="blas")
        with limit, ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(job, range(len(self._cut)))

    def _block(self, i: int) -> NDArray[Any]:
        if i in self._kept:
            return self._kept[i]
        rows = self._cut[i].read()
        if self._make is None:
            return rows
        features = self._make(rows)
        if i < self._room:
            self._kept[i] = features
        return features


class ClusterBlocks:
    """Blocks on the workers of a Dask cluster, neighbours on the same worker.

    A block's rows, features and states are tasks with known origins: whatever a dying worker
    takes along, the others make again.
    """

    def __init__(self, client: Any, cut: list[Slab]) -> None:  # noqa: ANN401
        self.sizes = [slab.size for slab in cut]
        self._client = client
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._shares = np.array_split(np.arange(len(cut)), max(1, len(workers)))
        self._rows = [
            self._placed(cut[i], worker)
            for worker, share in zip(workers, self._shares, strict=True)
            for i in share
        ]
        self._blocks = self._rows
        self._makes: list[Any] = [None] * len(cut)
        self._pairs: list[Any] = []  # futures of each block's (state, sums)
        self._sent: list[Any] = []

    def _placed(self, slab: Slab, worker: str) -> Any:  # noqa: ANN401 - a Dask future
        where = {"workers": [worker], "allow_other_workers": True}
        if hasattr(slab.source, "dask"):
            chunk = self._client.compute(slab.source, **where)
            return self._submit(_picked, chunk, slab.picks)
        return self._submit(Slab.read, _portable(slab), **where)

    def with_features(self, make: Make, width: int, budget: int) -> ClusterBlocks:
        """Return these blocks with features; parameters as in `LocalBlocks`.

        The budget is that of each worker.
        """
        made = self._broadcast(make)
        kept = np.cumsum(self.sizes) * width * 4 <= budget * len(self._shares)
        blocks = copy(self)
        blocks._makes = [None if keep else made for keep in kept]
        blocks._blocks = [
            self._submit(_made, made, rows) if keep else rows
            for rows, keep in zip(self._rows, kept, strict=True)
        ]
        return blocks

    def gather(self, function: Function, pieces: Sequence[Any], shared: object) -> list[Any]:
        """Return ``function(features, piece, shared)`` of each block."""
        return list(self._client.gather(self._calls(function, pieces, self._broadcast(shared))))

    def add_up(self, function: Function, pieces: Sequence[Any]) -> Sums:
        """Return the sums of ``function(features, piece)``, block after block."""
        totals = []
        for share in self._shares:
            total = None
            for i in share:
                found = self._submit(_called, function, self._makes[i], self._blocks[i], pieces[i])
                total = found if total is None else self._submit(_added, [total, found])
            totals.append(total)
        present = [total for total in totals if total is not None]
        return _as_sums(self._client.gather(self._submit(_added, present)))

    def start(self, function: Function, pieces: Sequence[Any], shared: object) -> Sums:
        """Give each block a state; returns the blocks' sums."""
        self._sent = [self._broadcast(shared)]
        self._pairs = self._calls(function, pieces, self._sent[-1])
        return self._sums()

    def advance(self, function: Function, shared: object) -> Sums:
        """Renew each block's state; returns the blocks' sums."""
        # Should a worker die, states are made again from all that was sent since the start.
        self._sent.append(self._broadcast(shared))
        self._pairs = self._calls(partial(_with_state, function), self._pairs, self._sent[-1])
        return self._sums()

    def finish(self, function: Function, shared: object) -> list[Any]:
        """Return ``function(features, state, shared)`` of each block; states are dropped."""
        answers = self.gather(partial(_with_state, function), self._pairs, shared)
        self._pairs, self._sent = [], []
        return answers

    def _sums(self) -> Sums:
        """Add up first among neighbours, who need not send, then among workers."""
        shares = [[self._pairs[i] for i in share] for share in self._shares if len(share)]
        total = self._submit(_added, [self._submit(_added_second, share) for share in shares])
        return _as_sums(self._client.gather(total))

    def _calls(self, function: Function, pieces: Sequence[Any], shared: object) -> list[Any]:
        return [
            self._submit(_called, function, make, block, piece, shared)
            for make, block, piece in zip(self._makes, self._blocks, pieces, strict=True)
        ]

    def _broadcast(self, value: object) -> Any:  # noqa: ANN401 - a Dask future
        # A task, unlike scattered data, can be done again should its worker die.
        return self._submit(_same, value)

    def _submit(self, function: Function, *arguments: Any, **where: Any) -> Any:  # noqa: ANN401
        import dask

        # A map with its landmarks is large, and is sent once.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(function, *arguments, pure=False, **where)


def _portable(slab: Slab) -> Slab:
    """Let a worker read a memory map by itself instead of sending its rows."""
    part = slab.source
    mapped = isinstance(part, np.memmap) and part.filename is not None
    if not (mapped and part.flags.c_contiguous):
        return replace(slab, source=np.asarray(part))
    base = part
    while isinstance(base.base, np.memmap):
        base = base.base
    begins = part.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    source = FilePart(str(part.filename), part.dtype.str, base.offset + begins, part.shape)
    return replace(slab, source=source)


def _picked(rows: NDArray[Any], picks: NDArray[np.intp] | None) -> NDArray[Any]:
    return rows if picks is None else rows[picks]


def _same(value: object) -> object:
    return value


def _made(make: Make, rows: NDArray[Any]) -> NDArray[np.float32]:
    return make(rows)


def _called(function: Function, make: Make | None, block: NDArray[Any], *rest: Any) -> Any:  # noqa: ANN401
    """Call on a block's features, which are made here if only its rows were kept."""
    return function(block if make is None else make(block), *rest)


def _with_state(function: Function, block: Any, pair: tuple[Any, Sums], shared: object) -> Any:  # noqa: ANN401
    return function(block, pair[0], shared)


def _added_second(pairs: Sequence[tuple[Any, Sums]]) -> Sums:
    return _added(sums for _, sums in pairs)


def _added(parts: Iterable[Sums]) -> Sums:
    """Add up tuples of arrays, in order and in double precision."""
    every = iter(parts)
    totals = [np.array(part, dtype=np.float64) for part in next(every)]
    for sums in every:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)


def _as_sums(gathered: Any) -> Sums:  # noqa: ANN401 - what a Dask client returns
    return tuple(gathered)
