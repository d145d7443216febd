"""Rows in blocks on the workers of a Dask cluster."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np

from shlcore.array_types import AnyArray, Features, Sums, Totals
from shlcore.slabs import Slab, picked, portable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shlcore.cluster import Client

    Make = Callable[[AnyArray], Features]

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
