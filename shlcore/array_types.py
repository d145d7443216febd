"""Names for the arrays that the modules hand to each other.

No module of the learner asks for "anything": it says how precise the numbers are, and whether the
rows may lie somewhere else than in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Array = NDArray[np.float64]
"""Real numbers in double precision."""

Features = NDArray[np.float32]
"""Real numbers in single precision: explicit features and what is computed from them."""

Floats = NDArray[np.floating]
"""Real numbers of either precision, such as f: double by the exact solver, single by the other."""

Indices = NDArray[np.intp]
"""Numbers of rows, classes or codewords."""

AnyArray = NDArray[np.generic]
"""Values whose kind the user chose, such as class labels or the rows of a memory map."""


class DaskArray(Protocol):
    """What we need of a `dask.array.Array`, without importing Dask."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the chunks along each axis."""

    def __getitem__(self, rows: Indices, /) -> DaskArray:
        """Choose rows."""

    def rechunk(self, chunks: Mapping[int, int], /) -> DaskArray:
        """Cut anew; -1 leaves an axis whole."""

    def to_delayed(self) -> NDArray[np.object_]:
        """Return the chunks, each to be computed when it is wanted."""


class SparseRows(Protocol):
    """What we need of a CSR matrix of scipy, which carries no types."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, rows: Indices | slice, /) -> SparseRows:
        """Choose rows."""

    def toarray(self) -> Floats:
        """Write all out."""

    def tocsc(self) -> SparseColumns:
        """Order by columns."""


class SparseColumns(Protocol):
    """What we need of a CSC matrix of scipy."""

    indptr: Indices
    indices: Indices
    data: Floats


Table = AnyArray | DaskArray
"""Rows by columns: an array in memory, a memory map, or a Dask array."""

Sums = tuple[Floats, ...]
"""What a block of rows contributes to some totals, in a fixed order."""

Totals = tuple[Array, ...]
"""The sums of all blocks."""

FileArrays = dict[str, NDArray[Any]]
"""Arrays by name, as a file holds them: what kind each is, only the file knows."""

Reals = TypeVar("Reals", bound=Floats)
"""Real numbers whose precision stays as it is."""
