"""Slabs: rows cut into parts that are read only when they are wanted.

@@@
Rows in blocks on the workers of a Dask cluster.

@@@
Rows in blocks: in this process on threads, or on the workers of a Dask cluster.

Both run the same functions on the same blocks and add up in the same order. A function gets what
its block holds first: rows as they are, or features after `with_features`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

import numpy as np
from scipy import sparse

from shlcore.array_types import AnyArray, Features, Sums, Totals
from shlcore.parallel import current_client, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shlcore.array_types import Features, Indices, SparseRows, Sums, Table, Totals
    from shlcore.parallel import Client

    Make = Callable[[AnyArray], Features]


BLOCK_BYTES = 64 * 2**20
"""Bytes of a block's features or kernels: far more than a core's cache, so that the cost of a call
does not count, and little enough for every thread to hold one. Results depend on it by
rounding alone."""


RAW_BYTES = 16
"""Bytes of an entry of a block's rows: it is scaled in double precision, which takes a second."""


class Delayed(Protocol):
    """A chunk of a Dask array."""

    def compute(self, *, scheduler: str) -> AnyArray:
        """Return its rows."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Rows of a memory-mapped file that a worker can open by itself."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]

    def read(self) -> AnyArray:
        """Map the file and read."""
        return np.array(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))


@dataclass(frozen=True, slots=True, eq=False)
class Slab:
    """Rows that can be read when they are wanted.

    Parameters
    ----------
    source
        An array (a slice of a memory map is not read before), a part of a CSR matrix, a Dask
        chunk, or a `FilePart`.
    picks
        Which of its rows count; None for all.
    size
        How many these are.
    """

    source: AnyArray | FilePart | Delayed
    picks: Indices | None
    size: int

    def read(self) -> AnyArray:
        """Return the rows."""
        if isinstance(self.source, FilePart):
            rows = self.source.read()
        elif isinstance(self.source, np.ndarray):
            rows = np.asarray(self.source)
        elif sparse.issparse(self.source):
            rows = np.asarray(cast("SparseRows", self.source).toarray())
        else:
            rows = np.asarray(self.source.compute(scheduler="synchronous"))
        return picked(rows, self.picks)


def picked(rows: AnyArray, picks: Indices | None) -> AnyArray:
    """Return the rows that count."""
    return rows if picks is None else rows[picks]


def rows_per_block(bytes_per_row: int, least: int = 1) -> int:
    """Return how many rows make a block."""
    return max(least, BLOCK_BYTES // bytes_per_row)


def slabs(X: Table, first: Indices, size: int) -> list[Slab]:
    """Cut the samples ``first`` (ascending) of X into slabs; Dask arrays keep their chunks."""
    sources: Iterable[AnyArray | Delayed]
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        starts = np.append(np.arange(0, X.shape[0], size), X.shape[0])
        parts = cast("AnyArray", X)
        sources = (parts[a:b] for a, b in pairwise(starts))
    else:
        starts = np.cumsum((0, *X.chunks[0]))
        sources = X.rechunk({1: -1}).to_delayed().ravel()
    cut = []
    for source, (low, high) in zip(sources, pairwise(starts), strict=True):
        own = first[slice(*np.searchsorted(first, (low, high)))]
        if own.size:
            cut.append(Slab(source, None if len(own) == high - low else own - low, len(own)))
    return cut


def portable(slab: Slab) -> Slab:
    """Let a worker read a memory map by itself instead of sending its rows."""
    part = slab.source
    if not isinstance(part, np.ndarray):
        return slab
    mapped = isinstance(part, np.memmap) and part.filename is not None
    if not (isinstance(part, np.memmap) and mapped and part.flags.c_contiguous):
        return replace(slab, source=np.asarray(part))
    base = part
    while isinstance(base.base, np.memmap):
        base = base.base
    begins = part.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    source = FilePart(str(part.filename), part.dtype.str, base.offset + begins, part.shape)
    return replace(slab, source=source)


Block = TypeVar("Block", bound=AnyArray)
"""What a block holds: rows as they are, or their features."""
Piece = TypeVar("Piece")
"""What a block gets for itself alone."""
Shared = TypeVar("Shared")
"""What all blocks get."""
State = TypeVar("State")
"""What a block remembers from one call to the next."""
Found = TypeVar("Found")


class ClusterBlocks(Generic[Block]):
    """Blocks on the workers of a Dask cluster, neighbours on the same worker.

    A block's rows, features and states are tasks with known origins: whatever a dying worker
    takes along, the others make again. What `Client.submit` returns stands for the answer
    of a task (a future), and may be handed to further tasks.
    """

    def __init__(self, client: Client, cut: list[Slab]) -> None:
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
        self._makes: list[object] = [None] * len(cut)
        self._pairs: list[object] = []  # futures of each block's (state, sums)
        self._sent: list[object] = []

    def _placed(self, slab: Slab, worker: str) -> object:
        where = {"workers": [worker], "allow_other_workers": True}
        if hasattr(slab.source, "dask"):
            chunk = self._client.compute(slab.source, **where)
            return self._submit(picked, chunk, slab.picks)
        return self._submit(Slab.read, portable(slab), **where)

    def with_features(self, make: Make, width: int, budget: int) -> ClusterBlocks[Features]:
        """Return these blocks with features; parameters as in `shlcore.row_blocks.LocalBlocks`.

        The budget is that of each worker.
        """
        made = self._broadcast(make)
        kept = np.cumsum(self.sizes) * width * 4 <= budget * len(self._shares)
        blocks = cast("ClusterBlocks[Features]", copy(self))
        blocks._makes = [None if keep else made for keep in kept]
        blocks._blocks = [
            self._submit(_made, made, rows) if keep else rows
            for rows, keep in zip(self._rows, kept, strict=True)
        ]
        return blocks

    def gather(
        self,
        function: Callable[[Block, Piece, Shared], Found],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> list[Found]:
        """Return ``function(block, piece, shared)`` of each block."""
        return self._answers(function, pieces, shared)

    def add_up(self, function: Callable[[Block, Piece], Sums], pieces: Sequence[Piece]) -> Totals:
        """Return the sums of ``function(block, piece)``, block after block."""
        totals = []
        for share in self._shares:
            total: object = None
            for i in share:
                found = self._submit(_called, function, self._makes[i], self._blocks[i], pieces[i])
                total = found if total is None else self._submit(added, [total, found])
            totals.append(total)
        present = [total for total in totals if total is not None]
        return self._fetched(self._submit(added, present))

    def start(
        self,
        function: Callable[[Block, Piece, Shared], tuple[State, Sums]],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> Totals:
        """Give each block a state; returns the blocks' sums."""
        self._sent = [self._broadcast(shared)]
        self._pairs = self._calls(function, pieces, self._sent[-1])
        return self._sums()

    def advance(
        self, function: Callable[[Block, State, Shared], tuple[State, Sums]], shared: Shared
    ) -> Totals:
        """Renew each block's state; returns the blocks' sums."""
        # Should a worker die, states are made again from all that was sent since the start.
        self._sent.append(self._broadcast(shared))
        self._pairs = self._calls(partial(_with_state, function), self._pairs, self._sent[-1])
        return self._sums()

    def finish(
        self, function: Callable[[Block, State, Shared], Found], shared: Shared
    ) -> list[Found]:
        """Return ``function(block, state, shared)`` of each block; states are dropped."""
        with_state = cast("Callable[..., Found]", partial(_with_state, function))
        answers = self._answers(with_state, self._pairs, shared)
        self._pairs, self._sent = [], []
        return answers

    def _answers(
        self, function: Callable[..., Found], pieces: Sequence[object], shared: object
    ) -> list[Found]:
        calls = self._calls(function, pieces, self._broadcast(shared))
        return list(cast("list[Found]", self._client.gather(calls)))

    def _sums(self) -> Totals:
        """Add up first among neighbours, who need not send, then among workers."""
        shares = [[self._pairs[i] for i in share] for share in self._shares if len(share)]
        return self._fetched(
            self._submit(added, [self._submit(_added_second, share) for share in shares])
        )

    def _fetched(self, total: object) -> Totals:
        return tuple(cast("Totals", self._client.gather(total)))

    def _calls(
        self, function: Callable[..., object], pieces: Sequence[object], shared: object
    ) -> list[object]:
        return [
            self._submit(_called, function, make, block, piece, shared)
            for make, block, piece in zip(self._makes, self._blocks, pieces, strict=True)
        ]

    def _broadcast(self, value: object) -> object:
        # A task, unlike scattered data, can be done again should its worker die.
        return self._submit(_same, value)

    def _submit(
        self, function: Callable[..., object], *arguments: object, **where: object
    ) -> object:
        import dask

        # A map with its landmarks is large, and is sent once.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(function, *arguments, pure=False, **where)


def _same(value: object) -> object:
    return value


def _made(make: Make, rows: AnyArray) -> Features:
    return make(rows)


def _called(
    function: Callable[..., Found], make: Make | None, block: AnyArray, *rest: object
) -> Found:
    """Call on a block's features, which are made here if only its rows were kept."""
    return function(block if make is None else make(block), *rest)


def _with_state(
    function: Callable[[Block, State, Shared], Found],
    block: Block,
    pair: tuple[State, Sums],
    shared: Shared,
) -> Found:
    return function(block, pair[0], shared)


def _added_second(pairs: Sequence[tuple[object, Sums]]) -> Totals:
    return added(sums for _, sums in pairs)


def added(parts: Iterable[Sums]) -> Totals:
    """Add up tuples of arrays, in order and in double precision."""
    every = iter(parts)
    totals = [np.array(part, dtype=np.float64) for part in next(every)]
    for sums in every:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)


class LocalBlocks(Generic[Block]):
    """Blocks of this process; as many threads as cores work on them."""

    def __init__(self, cut: list[Slab]) -> None:
        self.sizes = [slab.size for slab in cut]
        self._cut = cut
        self._make: Make | None = None
        self._kept: dict[int, AnyArray] = {}
        self._states: Sequence[object] = []
        self._room = 0

    def with_features(self, make: Make, width: int, budget: int) -> LocalBlocks[Features]:
        """Return the same blocks, whose functions get features instead of rows.

        Parameters
        ----------
        make
            Turns rows into ``width`` features.
        budget
            Bytes of features that may be kept; the rest is made whenever it is needed.
        """
        blocks: LocalBlocks[Features] = LocalBlocks(self._cut)
        blocks._make = make
        kept = np.cumsum(self.sizes) * width * 4 <= budget
        blocks._room = int(np.count_nonzero(kept))
        return blocks

    def gather(
        self,
        function: Callable[[Block, Piece, Shared], Found],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> list[Found]:
        """Return ``function(block, piece, shared)`` of each block."""
        return list(self._run(lambda i: function(self._block(i), pieces[i], shared)))

    def add_up(self, function: Callable[[Block, Piece], Sums], pieces: Sequence[Piece]) -> Totals:
        """Return the sums of ``function(block, piece)``, block after block.

        One block at a time, for sums that are too large to have several of.
        """
        return added(function(self._block(i), piece) for i, piece in enumerate(pieces))

    def start(
        self,
        function: Callable[[Block, Piece, Shared], tuple[State, Sums]],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> Totals:
        """Give each block the state of ``(state, sums) = function(block, piece, shared)``.

        Returns the sums of all blocks.
        """
        states: list[object] = []

        def sums() -> Iterator[Sums]:
            # Added up as they come: the sums of all blocks together may be large.
            for state, part in self._run(lambda i: function(self._block(i), pieces[i], shared)):
                states.append(state)
                yield part

        total = added(sums())
        self._states = states
        return total

    def advance(
        self, function: Callable[[Block, State, Shared], tuple[State, Sums]], shared: Shared
    ) -> Totals:
        """Renew each block's state; returns the blocks' sums."""
        return self.start(function, cast("Sequence[State]", self._states), shared)

    def finish(
        self, function: Callable[[Block, State, Shared], Found], shared: Shared
    ) -> list[Found]:
        """Return ``function(block, state, shared)`` of each block; states are dropped."""
        states, self._states = cast("Sequence[State]", self._states), []
        return self.gather(function, states, shared)

    def _run(self, job: Callable[[int], Found]) -> Iterator[Found]:
        with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(job, range(len(self._cut)))

    def _block(self, i: int) -> Block:
        if i in self._kept:
            return cast("Block", self._kept[i])
        rows = self._cut[i].read()
        if self._make is None:
            return cast("Block", rows)
        features = self._make(rows)
        if i < self._room:
            self._kept[i] = features
        return cast("Block", features)


Blocks = LocalBlocks[Block] | ClusterBlocks[Block]


def row_blocks(cut: list[Slab]) -> Blocks[AnyArray]:
    """Choose the cluster if this process is a client of one, threads otherwise."""
    client = current_client()
    return LocalBlocks(cut) if client is None else ClusterBlocks(client, cut)
