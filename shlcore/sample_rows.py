"""Samples as they were given, sparse or in single precision, read in blocks of doubles.

The exact solver compares rows in double precision, and scaling fills what was 0. A whole copy of X
in that form may be many times as large as X: so only blocks of it are made, and one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shlcore.slabs import rows_per_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Array, Floats, Indices, SparseRows
    from shlcore.scaling import Scaling


@dataclass(frozen=True, slots=True, eq=False)
class SampleRows:
    """Checked samples: an array of either precision, or a CSR matrix."""

    X: Floats | SparseRows

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, chosen: Indices | slice) -> Array:
        """Return some samples, dense and in double precision."""
        part = self.X[chosen]
        dense = part if isinstance(part, np.ndarray) else part.toarray()
        return np.asarray(dense, dtype=np.float64)

    def blocks(self, chosen: Indices, bytes_per_row: int = 0) -> Iterator[tuple[slice, Array]]:
        """Yield some samples block by block, and where among the chosen ones each block is."""
        size = rows_per_block(max(8 * self.X.shape[1], bytes_per_row))
        for first in range(0, len(chosen), size):
            place = slice(first, min(first + size, len(chosen)))
            yield place, self.take(chosen[place])

    def kinds(self, chosen: Indices, last: Indices | None = None) -> tuple[Indices, Indices]:
        """Tell equal samples, in the order of their numbers, as `numpy.unique` does of rows.

        Parameters
        ----------
        last
            A further column, which counts last.

        Returns
        -------
        first, kind
            The first sample of each kind, as a place in ``chosen``, and the kind of each sample.
        """
        rank = np.zeros(len(chosen), dtype=np.intp)
        tied = np.arange(len(chosen))
        for column in self._columns(chosen, last):
            if len(tied) < 2:
                break
            tied = _refine(rank, tied, column)
        _, first, kind = np.unique(rank, return_index=True, return_inverse=True)
        return first, kind.ravel()

    def _columns(self, chosen: Indices, last: Indices | None) -> Iterator[Floats]:
        if isinstance(self.X, np.ndarray):
            for j in range(self.X.shape[1]):
                yield self.X[chosen, j]
        else:
            by_column = self.X[chosen].tocsc()
            for start, stop in pairwise(by_column.indptr):
                if stop > start:
                    column = np.zeros(len(chosen))
                    column[by_column.indices[start:stop]] = by_column.data[start:stop]
                    yield column
        if last is not None:
            yield last.astype(np.float64)


def _refine(rank: Indices, tied: Indices, column: Floats) -> Indices:
    """Rank samples that are tied so far by one column more; returns those that still are.

    The rank of tied samples is the place where their group begins in the order of all.
    """
    tied = tied[np.lexsort((column[tied], rank[tied]))]
    ranks, values = rank[tied], column[tied]
    places = np.arange(len(tied))
    group = np.append(True, ranks[1:] != ranks[:-1])
    run = group | np.append(True, values[1:] != values[:-1])
    of_group = np.maximum.accumulate(np.where(group, places, 0))
    of_run = np.maximum.accumulate(np.where(run, places, 0))
    rank[tied] = ranks + of_run - of_group
    alone = run & np.append(run[1:], True)
    return np.asarray(tied[~alone])


@dataclass(frozen=True, slots=True, eq=False)
class ScaledRows:
    """Some samples, scaled when they are read."""

    samples: SampleRows
    chosen: Indices
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.chosen)

    def take(self, rows: Indices) -> Array:
        """Return some rows."""
        return self.scaling.apply(self.samples.take(self.chosen[rows]))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows block by block, and where each block is."""
        for place, block in self.samples.blocks(self.chosen):
            yield place, self.scaling.apply(block)
