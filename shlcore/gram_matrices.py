"""Gram matrices of the training rows, dense or of low rank.

A Gaussian that is wide compared with the range of its columns has a Gram matrix of low rank: ten
or twenty between values on a line. Then ``K = L L'`` replaces K to single precision, and sums and
products of such matrices take little time.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.kernels import Gaussian

    RowReader = Callable[[Indices | slice], Floats]
    """Returns some rows of a weighted sum of kernels."""


_SLICE_ROWS, _GATHER_ROWS = 64, 32  # contiguous and indexed rows: both fit in the caches
_N_COMPARED = 50
_ASYMMETRY = 1e-5
"""Number of sampled rows for the test of symmetry, and the largest difference as a share of the
largest entry; kernels computed in single precision differ by 1e-6."""

_RESIDUAL = 2.0**-25
"""Largest difference between an entry of K and of L L': half a digit of 1 in single precision."""


class Grams:
    """The M kernel matrices of the training rows.

    The matrices are checked once, by the constructor. To fit several times with the same kernels,
    pass this object to ``SHL(kernels="precomputed").fit``.

    Parameters
    ----------
    stacks
        One or more of ``M x n x n``, symmetric, in their order; not copied if they are contiguous
        arrays of float64 or float32. Kernels in single precision take half the memory and time:
        they are summed in it, as LIBSVM converts them to it anyway. A `Grams` among the stacks is
        not checked again. Matrices of low rank are never expanded.
    """

    def __init__(self, *stacks: ArrayLike | Grams | LowRank) -> None:
        parts: list[Floats | LowRank] = []
        unchecked: list[Floats] = []
        for stack in stacks:
            if isinstance(stack, Grams):
                parts.extend(stack._stacks)
            elif isinstance(stack, LowRank):
                parts.append(stack)
            else:
                unchecked.append(check_stack(stack))
                parts.append(unchecked[-1])
        shapes = {part.shape[1:] for part in parts}
        if len(shapes) != 1 or any(rows != columns for rows, columns in shapes):
            got = ", ".join(str(shape) for shape in sorted(shapes)) or "none"
            raise ValueError(f"X: wanted square Gram matrices, got {got}")
        for part in unchecked:
            _check_symmetry(part)
        self._stacks: tuple[Floats | LowRank, ...] = tuple(parts)

    @classmethod
    def from_matrices(
        cls,
        matrices: Iterable[Array],
        n_kernels: int,
        n_rows: int,
        dtype: type[np.floating] = np.float64,
    ) -> Grams:
        """Collect matrices while they are computed, so that each is in memory once."""
        stack = np.empty((n_kernels, n_rows, n_rows), dtype)
        for target, matrix in zip(stack, matrices, strict=True):
            target[:] = matrix
        return cls(stack)

    def __len__(self) -> int:
        return sum(len(stack) for stack in self._stacks)

    def __iter__(self) -> Iterator[Floats]:
        """Yield each matrix, ``n x n``."""
        for stack in self._stacks:
            yield from stack

    @property
    def n_rows(self) -> int:
        """Number of rows of the matrices."""
        return int(self._stacks[0].shape[1])

    def submatrices(self, rows: Indices) -> Grams:
        """Return the matrices among some of the rows."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        part = copy(self)
        part._stacks = tuple(
            stack.submatrices(rows)
            if isinstance(stack, LowRank)
            else np.ascontiguousarray(stack[:, rows[:, None], rows])
            for stack in self._stacks
        )
        return part

    def kernel_rows(self, rows: Indices) -> Floats:
        """Return the kernels between some rows and all, ``M x len(rows) x n``."""
        return np.concatenate(
            [
                stack.kernel_rows(rows) if isinstance(stack, LowRank) else stack[:, rows]
                for stack in self._stacks
            ]
        )

    def weighted_sum(self, kernel_weights: Array, rows: Indices) -> Array:
        """Return ``sum_m theta_m K_m`` among some rows, a few rows at a time."""
        complete = len(rows) == self.n_rows
        columns = slice(None) if complete else rows
        step = _SLICE_ROWS if complete else _GATHER_ROWS
        total = np.empty((len(rows), len(rows)))
        first, *others = [_rows_of_sum(*each, columns) for each in self._shares(kernel_weights)]
        for top in range(0, len(rows), step):
            few = slice(top, min(top + step, len(rows))) if complete else rows[top : top + step]
            block = first(few)
            for part in others:
                block = block + part(few)
            total[top : top + step] = block
        return total

    def mean_diagonal(self) -> float:
        """Return the mean of all ``k_m(x, x)``."""
        return float(np.mean([np.einsum("ii->i", matrix).mean() for matrix in self]))

    def _shares(self, kernel_weights: Array) -> Iterator[tuple[Floats, Floats | LowRank]]:
        """Yield each stack with the weights of its kernels, in its precision."""
        first = 0
        for stack in self._stacks:
            yield kernel_weights[first : first + len(stack)].astype(stack.dtype), stack
            first += len(stack)

    def products(self, support: Indices, a: Array) -> Array:
        """Return ``K_m a`` of each kernel, ``M x n``, where a is 0 outside the support."""
        # A product with whole matrices reads all rows, but contiguously. With 8 kernels of 974
        # rows in either precision it was faster if at least half of the rows are support rows.
        total = np.zeros((len(self), self.n_rows))
        first = 0
        for stack in self._stacks:
            part = total[first : first + len(stack)]
            if isinstance(stack, LowRank):
                part[:] = stack.products(support, a)
            elif 2 * len(support) > self.n_rows:
                full = np.zeros(self.n_rows, dtype=stack.dtype)
                full[support] = a
                part[:] = stack @ full
            else:
                # The matrices are symmetric; rows are contiguous in memory, columns are not.
                take = _row_reader(stack, _SLICE_ROWS)
                for top in range(0, len(support), _SLICE_ROWS):
                    few = slice(top, top + _SLICE_ROWS)
                    part += a[few].astype(stack.dtype) @ take(support[few])
            first += len(stack)
        return total


def _rows_of_sum(share: Floats, stack: Floats | LowRank, columns: Indices | slice) -> RowReader:
    """Return a function from row indices to these rows of a stack's weighted sum."""
    if isinstance(stack, LowRank):
        return stack.weighted_sum(share, columns)

    take = _row_reader(stack, _GATHER_ROWS)

    def rows_of(few: Indices | slice) -> Floats:
        # Whole rows of each kernel are contiguous, so columns are selected after the sum.
        kernels = stack[:, few] if isinstance(few, slice) else take(few)
        summed = (share @ kernels.reshape(len(share), -1)).reshape(kernels.shape[1:])
        return np.asarray(summed if isinstance(columns, slice) else summed.take(columns, 1))

    return rows_of


def _row_reader(stack: Floats, most: int) -> Callable[[Indices], Floats]:
    """Return a function that reads up to ``most`` rows of each kernel into one buffer.

    A new array for each call would cost several times as much, for the pages of its memory.
    """
    buffer = np.empty(0, dtype=stack.dtype)

    def take(rows: Indices) -> Floats:
        nonlocal buffer
        shape = len(stack), len(rows), stack.shape[2]
        if not buffer.size:
            buffer = np.empty(len(stack) * most * stack.shape[2], dtype=stack.dtype)
        out = buffer[: shape[0] * shape[1] * shape[2]].reshape(shape)
        return stack.take(rows, 1, out=out, mode="clip")

    return take


def check_stack(X: ArrayLike) -> Floats:
    """Check kernel matrices, ``M x rows x columns``; single precision stays as it is."""
    single = isinstance(X, np.ndarray) and X.dtype == np.float32
    try:
        stack: Floats = np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X: wanted a stack of kernel matrices of one shape, as kernels='precomputed'"
        ) from error
    if stack.ndim != 3 or 0 in stack.shape:
        raise ValueError(
            f"X: wanted kernel matrices as an array of 3 dimensions, got shape {stack.shape}"
        )
    # The sum is finite if all entries are, and needs no temporary array.
    if not np.isfinite(stack.sum()):
        raise ValueError("X: wanted finite kernel matrices, got NaN or infinity")
    return stack


def _check_symmetry(stack: Floats) -> None:
    """Check that matrices are symmetric, because LIBSVM might not terminate otherwise.

    All entries between some rows are compared, always the same rows.
    """
    n = stack.shape[1]
    rows = np.arange(n)
    if n > _N_COMPARED:
        rows = np.sort(np.random.default_rng(0).choice(n, _N_COMPARED, replace=False))
    block = stack[:, rows[:, None], rows]
    gaps = np.abs(block - block.transpose(0, 2, 1))
    m, i, j = np.unravel_index(int(gaps.argmax()), gaps.shape)
    if gaps[m, i, j] > _ASYMMETRY * np.abs(block).max():
        raise ValueError(
            f"X: wanted symmetric Gram matrices, got {block[m, i, j]:g} in row {rows[i]}, column "
            f"{rows[j]} of matrix {m} and {block[m, j, i]:g} in row {rows[j]}, column {rows[i]}"
        )


class LowRank:
    """Kernel matrices ``L_m L_m'`` of n rows, in single precision.

    Parameters
    ----------
    factors
        ``L_m'`` of each kernel, ``rank x n``.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, factors: Iterable[Floats]) -> None:
        self._factors = tuple(np.ascontiguousarray(each, dtype=np.float32) for each in factors)
        self._all = np.concatenate(self._factors)
        self._ranks = [len(each) for each in self._factors]

    @classmethod
    def from_kernels(cls, kernels: Sequence[Gaussian], columns: Array, most: int) -> Self | None:
        """Return the matrices of some kernels, or None if a rank exceeds ``most``."""
        factors: dict[Gaussian, Array] = {}
        for kernel in sorted(kernels, key=lambda kernel: kernel.sigma):
            factor = _factor(kernel, columns, most)
            if factor is None:
                return None
            factors[kernel] = factor
        return cls(factors[kernel] for kernel in kernels)

    @classmethod
    def concatenate(cls, parts: Iterable[LowRank]) -> Self:
        """Return the matrices of several parts, in their order."""
        return cls(factor for part in parts for factor in part._factors)

    def __len__(self) -> int:
        return len(self._factors)

    def __iter__(self) -> Iterator[Floats]:
        """Yield each matrix, ``n x n``."""
        for factor in self._factors:
            yield factor.T @ factor

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape ``(M, n, n)`` of the matrices."""
        n = self._all.shape[1]
        return len(self), n, n

    def submatrices(self, rows: Indices) -> LowRank:
        """Return the matrices among some of the rows."""
        return LowRank(factor[:, rows] for factor in self._factors)

    def kernel_rows(self, rows: Indices) -> Floats:
        """Return the kernels between some rows and all, ``M x len(rows) x n``."""
        return np.stack([factor[:, rows].T @ factor for factor in self._factors])

    def weighted_sum(
        self, weights: Floats, columns: Indices | slice
    ) -> Callable[[Indices | slice], Floats]:
        """Return a function from row indices to these rows of the weighted sum."""
        each = np.repeat(weights, self._ranks)[:, None]
        weighted = each * self._all[:, columns]
        return lambda rows: np.asarray(self._all[:, rows].T @ weighted)

    def products(self, support: Indices, a: Array) -> Array:
        """Return ``K_m a`` of each kernel, ``M x n``, where a is 0 outside the support."""
        return np.stack([(f[:, support] @ a) @ f for f in self._factors])


def _factor(kernel: Gaussian, columns: Array, most: int) -> Array | None:
    """Return ``L'`` by pivoted Cholesky decomposition, or None if it needs more rows.

    The residual of K is positive semidefinite, so that its largest entry is on the diagonal.
    """
    x = np.ascontiguousarray(columns.T)
    factor, residual = np.empty((most, x.shape[1])), np.ones(x.shape[1])
    for rank in range(most + 1):
        pivot = int(residual.argmax())
        if residual[pivot] <= _RESIDUAL:
            return factor[:rank]
        if rank == most:
            break
        difference = x - x[:, pivot, None]
        row = kernel.of_squared_distances(np.einsum("ij,ij->j", difference, difference))
        row -= factor[:rank, pivot] @ factor[:rank]
        row /= np.sqrt(residual[pivot])
        residual -= np.square(row)
        factor[rank] = row
    return None
