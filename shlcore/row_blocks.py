"""Blocks of rows, read on demand: on threads, or on the workers of a Dask cluster.

Both run the same functions on the same blocks and sum in the same order. The first argument of a
function is the block: rows as they are, or features after `with_features`.
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

    from shlcore.array_types import Indices, SparseRows, Table
    from shlcore.parallel import Client

    FeatureMaker = Callable[[AnyArray], Features]


BLOCK_BYTES = 64 * 2**20
"""Bytes of a block's features or kernels: much more than a core's cache, so that the overhead of a
call is negligible, and little enough for one block per thread. Results depend on it by rounding
alone."""

RAW_BYTES = 16
"""Bytes per entry of a block's rows: scaling needs a copy in double precision."""

Block = TypeVar("Block", bound=AnyArray)
"""The content of a block: rows as they are, or their features."""
Piece = TypeVar("Piece")
"""The argument of one block."""
Shared = TypeVar("Shared")
"""The argument of all blocks."""
State = TypeVar("State")
"""The state that a block keeps from one call to the next."""
Result = TypeVar("Result")


class Delayed(Protocol):
    """A chunk of a Dask array."""

    def compute(self, *, scheduler: str) -> AnyArray:
        """Return its rows."""


@dataclass(frozen=True, slots=True)
class MappedRows:
    """Rows of a memory-mapped file that any process can open."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]

    def read(self) -> AnyArray:
        """Read the rows from the file."""
        return np.array(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))


@dataclass(frozen=True, slots=True, eq=False)
class RowChunk:
    """A chunk of rows that is read on demand.

    Parameters
    ----------
    source
        An array (a slice of a memory map is read later), a part of a CSR matrix, a Dask chunk,
        or `MappedRows`.
    selection
        Indices of the rows in use; None for all.
    size
        Number of the rows in use.
    """

    source: AnyArray | MappedRows | Delayed
    selection: Indices | None
    size: int

    def read(self) -> AnyArray:
        """Return the rows."""
        if isinstance(self.source, MappedRows):
            rows = self.source.read()
        elif isinstance(self.source, np.ndarray):
            rows = np.asarray(self.source)
        elif sparse.issparse(self.source):
            rows = np.asarray(cast("SparseRows", self.source).toarray())
        else:
            rows = np.asarray(self.source.compute(scheduler="synchronous"))
        return _select(rows, self.selection)


def _select(rows: AnyArray, selection: Indices | None) -> AnyArray:
    return rows if selection is None else rows[selection]


def rows_per_block(bytes_per_row: int, least: int = 1) -> int:
    """Return the number of rows of a block."""
    return max(least, BLOCK_BYTES // bytes_per_row)


def row_chunks(X: Table, samples: Indices, size: int) -> list[RowChunk]:
    """Cut some samples of X, in ascending order, into chunks, those of a Dask array."""
    sources: Iterable[AnyArray | Delayed]
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        starts = np.append(np.arange(0, X.shape[0], size), X.shape[0])
        parts = cast("AnyArray", X)
        sources = (parts[a:b] for a, b in pairwise(starts))
    else:
        starts = np.cumsum((0, *X.chunks[0]))
        sources = X.rechunk({1: -1}).to_delayed().ravel()
    chunks = []
    for source, (low, high) in zip(sources, pairwise(starts), strict=True):
        own = samples[slice(*np.searchsorted(samples, (low, high)))]
        if own.size:
            selection = None if len(own) == high - low else own - low
            chunks.append(RowChunk(source, selection, len(own)))
    return chunks


def picklable(chunk: RowChunk) -> RowChunk:
    """Return a chunk to send to a worker, which reads a memory map by itself."""
    part = chunk.source
    if not isinstance(part, np.ndarray):
        return chunk
    mapped = isinstance(part, np.memmap) and part.filename is not None
    if not (isinstance(part, np.memmap) and mapped and part.flags.c_contiguous):
        return replace(chunk, source=np.asarray(part))
    base = part
    while isinstance(base.base, np.memmap):
        base = base.base
    shift = part.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    source = MappedRows(str(part.filename), part.dtype.str, base.offset + shift, part.shape)
    return replace(chunk, source=source)


class LocalBlocks(Generic[Block]):
    """Blocks in this process, on as many threads as there are cores.

    Parameters
    ----------
    chunks
        The rows.
    maker
        Makes features of rows; None: blocks hold rows.
    n_cached
        Number of blocks, the first ones, whose features stay in memory.
    """

    def __init__(
        self, chunks: list[RowChunk], maker: FeatureMaker | None = None, n_cached: int = 0
    ) -> None:
        self.sizes = [chunk.size for chunk in chunks]
        self._chunks = chunks
        self._maker = maker
        self._n_cached = n_cached
        self._cache: dict[int, AnyArray] = {}
        self._states: Sequence[object] = []

    def with_features(self, maker: FeatureMaker, width: int, budget: int) -> LocalBlocks[Features]:
        """Return the same blocks, whose functions get features instead of rows.

        Parameters
        ----------
        maker
            Turns rows into ``width`` features.
        budget
            Bytes of features to keep in memory; the rest is computed again when needed.
        """
        fits = np.cumsum(self.sizes) * width * 4 <= budget
        return LocalBlocks(self._chunks, maker, int(np.count_nonzero(fits)))

    def map(
        self,
        function: Callable[[Block, Piece, Shared], Result],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> list[Result]:
        """Return ``function(block, piece, shared)`` of each block."""
        return list(self._run(lambda i: function(self._block(i), pieces[i], shared)))

    def sum(self, function: Callable[[Block, Piece], Sums], pieces: Sequence[Piece]) -> Totals:
        """Return the sums of ``function(block, piece)``, one block after the other.

        For sums so large that there should be one at a time.
        """
        return _total(function(self._block(i), piece) for i, piece in enumerate(pieces))

    def start(
        self,
        function: Callable[[Block, Piece, Shared], tuple[State, Sums]],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> Totals:
        """Set the states by ``(state, sums) = function(block, piece, shared)``.

        Returns the sums of all blocks.
        """
        states: list[object] = []

        def sums() -> Iterator[Sums]:
            # A generator, because the sums of all blocks together may be large.
            for state, part in self._run(lambda i: function(self._block(i), pieces[i], shared)):
                states.append(state)
                yield part

        total = _total(sums())
        self._states = states
        return total

    def advance(
        self, function: Callable[[Block, State, Shared], tuple[State, Sums]], shared: Shared
    ) -> Totals:
        """Update the states by ``function(block, state, shared)``, and return the sums."""
        return self.start(function, cast("Sequence[State]", self._states), shared)

    def finish(
        self, function: Callable[[Block, State, Shared], Result], shared: Shared
    ) -> list[Result]:
        """Return ``function(block, state, shared)`` of each block, and drop the states."""
        states, self._states = cast("Sequence[State]", self._states), []
        return self.map(function, states, shared)

    def _run(self, job: Callable[[int], Result]) -> Iterator[Result]:
        with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(job, range(len(self._chunks)))

    def _block(self, i: int) -> Block:
        if i in self._cache:
            return cast("Block", self._cache[i])
        rows = self._chunks[i].read()
        if self._maker is None:
            return cast("Block", rows)
        features = self._maker(rows)
        if i < self._n_cached:
            self._cache[i] = features
        return cast("Block", features)


class ClusterBlocks(Generic[Block]):
    """Blocks on the workers of a Dask cluster, neighbours on the same worker.

    The rows, features and states of a block are tasks with known inputs, so that those of a dying
    worker are computed again on another one. `Client.submit` returns a future, which may be an
    argument of further tasks.
    """

    def __init__(self, client: Client, chunks: list[RowChunk]) -> None:
        self.sizes = [chunk.size for chunk in chunks]
        self._client = client
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._shares = np.array_split(np.arange(len(chunks)), max(1, len(workers)))
        self._rows = [
            self._load(chunks[i], worker)
            for worker, share in zip(workers, self._shares, strict=True)
            for i in share
        ]
        self._blocks = self._rows
        self._makers: list[object] = [None] * len(chunks)
        self._pairs: list[object] = []  # futures of each block's (state, sums)
        self._sent: list[object] = []

    def _load(self, chunk: RowChunk, worker: str) -> object:
        where = {"workers": [worker], "allow_other_workers": True}
        if hasattr(chunk.source, "dask"):
            rows = self._client.compute(chunk.source, **where)
            return self._submit(_select, rows, chunk.selection)
        return self._submit(RowChunk.read, picklable(chunk), **where)

    def with_features(
        self, maker: FeatureMaker, width: int, budget: int
    ) -> ClusterBlocks[Features]:
        """Return these blocks with features; parameters as of `LocalBlocks.with_features`.

        The budget is that of each worker.
        """
        sent = self._broadcast(maker)
        fits = np.cumsum(self.sizes) * width * 4 <= budget * len(self._shares)
        blocks = cast("ClusterBlocks[Features]", copy(self))
        blocks._makers = [None if keep else sent for keep in fits]
        blocks._blocks = [
            self._submit(_make_features, sent, rows) if keep else rows
            for rows, keep in zip(self._rows, fits, strict=True)
        ]
        return blocks

    def map(
        self,
        function: Callable[[Block, Piece, Shared], Result],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> list[Result]:
        """Return ``function(block, piece, shared)`` of each block."""
        return self._results(function, pieces, shared)

    def sum(self, function: Callable[[Block, Piece], Sums], pieces: Sequence[Piece]) -> Totals:
        """Return the sums of ``function(block, piece)``, one block after the other."""
        totals = []
        for share in self._shares:
            total: object = None
            for i in share:
                part = self._submit(_call, function, self._makers[i], self._blocks[i], pieces[i])
                total = part if total is None else self._submit(_total, [total, part])
            totals.append(total)
        present = [total for total in totals if total is not None]
        return self._fetch(self._submit(_total, present))

    def start(
        self,
        function: Callable[[Block, Piece, Shared], tuple[State, Sums]],
        pieces: Sequence[Piece],
        shared: Shared,
    ) -> Totals:
        """Set the states by ``(state, sums) = function(block, piece, shared)``.

        Returns the sums of all blocks.
        """
        self._sent = [self._broadcast(shared)]
        self._pairs = self._calls(function, pieces, self._sent[-1])
        return self._sums()

    def advance(
        self, function: Callable[[Block, State, Shared], tuple[State, Sums]], shared: Shared
    ) -> Totals:
        """Update the states by ``function(block, state, shared)``, and return the sums."""
        # If a worker dies, states are computed again from all that was sent since the start.
        self._sent.append(self._broadcast(shared))
        self._pairs = self._calls(partial(_with_state, function), self._pairs, self._sent[-1])
        return self._sums()

    def finish(
        self, function: Callable[[Block, State, Shared], Result], shared: Shared
    ) -> list[Result]:
        """Return ``function(block, state, shared)`` of each block, and drop the states."""
        with_state = cast("Callable[..., Result]", partial(_with_state, function))
        results = self._results(with_state, self._pairs, shared)
        self._pairs, self._sent = [], []
        return results

    def _results(
        self, function: Callable[..., Result], pieces: Sequence[object], shared: object
    ) -> list[Result]:
        calls = self._calls(function, pieces, self._broadcast(shared))
        return list(cast("list[Result]", self._client.gather(calls)))

    def _sums(self) -> Totals:
        """Sum the blocks of each worker, then the sums of all workers."""
        shares = [[self._pairs[i] for i in share] for share in self._shares if len(share)]
        return self._fetch(
            self._submit(_total, [self._submit(_total_of_pairs, share) for share in shares])
        )

    def _fetch(self, total: object) -> Totals:
        return tuple(cast("Totals", self._client.gather(total)))

    def _calls(
        self, function: Callable[..., object], pieces: Sequence[object], shared: object
    ) -> list[object]:
        return [
            self._submit(_call, function, maker, block, piece, shared)
            for maker, block, piece in zip(self._makers, self._blocks, pieces, strict=True)
        ]

    def _broadcast(self, value: object) -> object:
        # A task can run again if its worker dies, scattered data would be lost.
        return self._submit(_identity, value)

    def _submit(
        self, function: Callable[..., object], *arguments: object, **where: object
    ) -> object:
        import dask

        # Dask warns of large arguments; a map with its landmarks is large, and is sent once.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(function, *arguments, pure=False, **where)


Blocks = LocalBlocks[Block] | ClusterBlocks[Block]


def row_blocks(chunks: list[RowChunk]) -> Blocks[AnyArray]:
    """Return blocks on the cluster that this process is a client of, or on threads."""
    client = current_client()
    return LocalBlocks(chunks) if client is None else ClusterBlocks(client, chunks)


def _identity(value: object) -> object:
    return value


def _make_features(maker: FeatureMaker, rows: AnyArray) -> Features:
    return maker(rows)


def _call(
    function: Callable[..., Result], maker: FeatureMaker | None, block: AnyArray, *rest: object
) -> Result:
    """Call a function on a block; make its features if only its rows are stored."""
    return function(block if maker is None else maker(block), *rest)


def _with_state(
    function: Callable[[Block, State, Shared], Result],
    block: Block,
    pair: tuple[State, Sums],
    shared: Shared,
) -> Result:
    return function(block, pair[0], shared)


def _total_of_pairs(pairs: Sequence[tuple[object, Sums]]) -> Totals:
    return _total(sums for _, sums in pairs)


def _total(parts: Iterable[Sums]) -> Totals:
    """Sum tuples of arrays, in order and in double precision."""
    every = iter(parts)
    totals = [np.array(part, dtype=np.float64) for part in next(every)]
    for sums in every:
        for total, part in zip(totals, sums, strict=True):
            total += part
    return tuple(totals)
