"""Slabs: rows cut into parts that are read only when they are wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shlcore.array_types import AnyArray, Indices, SparseRows, Table

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
