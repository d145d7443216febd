"""Rows in blocks: in this process on threads, or on the workers of a Dask cluster.

Both run the same functions on the same blocks and add up in the same order. A function gets what
its block holds first: rows as they are, or features after `with_features`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, cast

import numpy as np

from shlcore.cluster import current_client
from shlcore.cluster_blocks import Block, ClusterBlocks, Found, Piece, Shared, State, added
from shlcore.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shlcore.array_types import AnyArray, Features, Sums, Totals
    from shlcore.cluster_blocks import Make
    from shlcore.slabs import Slab


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
