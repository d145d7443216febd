"""Type aliases and protocols of the arrays that the modules exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Array = NDArray[np.float64]
"""Real numbers in double precision."""

Features = NDArray[np.float32]
"""Real numbers in single precision: explicit features and values computed from them."""

Floats = NDArray[np.floating]
"""Real numbers of either precision, such as f: double by the exact solver, single by ADMM."""

Indices = NDArray[np.intp]
"""Indices of rows, classes or codewords."""

AnyArray = NDArray[np.generic]
"""Values of a type that the user chose, such as class labels or the rows of a memory map."""


class DaskArray(Protocol):
    """The part of `dask.array.Array` in use here; Dask itself is optional."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Sizes of the chunks along each axis."""

    def __getitem__(self, rows: Indices, /) -> DaskArray:
        """Select rows."""

    def rechunk(self, chunks: Mapping[int, int], /) -> DaskArray:
        """Cut into other chunks; -1 leaves an axis whole."""

    def to_delayed(self) -> NDArray[np.object_]:
        """Return the chunks as objects that are computed later."""


class SparseRows(Protocol):
    """The part of scipy's CSR matrix in use here; scipy carries no types."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, rows: Indices | slice, /) -> SparseRows:
        """Select rows."""

    def toarray(self) -> Floats:
        """Return the dense array."""

    def tocsc(self) -> SparseColumns:
        """Convert to columns."""


class SparseColumns(Protocol):
    """The part of scipy's CSC matrix in use here."""

    indptr: Indices
    indices: Indices
    data: Floats


Table = AnyArray | DaskArray
"""Rows by columns: an array in memory, a memory map, or a Dask array."""

Sums = tuple[Floats, ...]
"""The contribution of one block of rows to some totals, in a fixed order."""

Totals = tuple[Array, ...]
"""The sums over all blocks."""

FileArrays = dict[str, NDArray[Any]]
"""Arrays by name, as a file holds them; each has its own data type."""

Reals = TypeVar("Reals", bound=Floats)
"""Real numbers whose precision stays the same."""
