"""Kernel matrices that are products of a few columns, to the last digit of single precision.

A Gaussian that is wide against what it compares has few directions: between values on a line, ten
or twenty. Then ``K = L L'`` takes the place of K, and sums and products of such matrices
cost next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.kernels import Gaussian

_LEFT = 2.0**-25
"""No entry of a matrix is farther from that of its product than this: half a digit of 1 in single
precision."""


class LowRank:
    """M kernel matrices ``L_m L_m'`` of n rows, in single precision.

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
    def of(cls, kernels: Sequence[Gaussian], columns: Array, most: int) -> Self | None:
        """Return the matrices of some kernels, if none has more than ``most`` directions."""
        found: dict[Gaussian, Array] = {}
        for kernel in sorted(kernels, key=lambda kernel: kernel.sigma):
            factor = _factor(kernel, columns, most)
            if factor is None:
                return None
            found[kernel] = factor
        return cls(found[kernel] for kernel in kernels)

    @classmethod
    def joined(cls, parts: Iterable[LowRank]) -> Self:
        """Return the matrices of several, one after the other."""
        return cls(factor for part in parts for factor in part._factors)

    def __len__(self) -> int:
        return len(self._factors)

    def __iter__(self) -> Iterator[Floats]:
        """Yield each matrix, ``n x n``."""
        for factor in self._factors:
            yield factor.T @ factor

    @property
    def shape(self) -> tuple[int, int, int]:
        """That of the matrices."""
        n = self._all.shape[1]
        return len(self), n, n

    def among(self, rows: Indices) -> LowRank:
        """Return the matrices among some of the rows."""
        return LowRank(factor[:, rows] for factor in self._factors)

    def matrices_of(self, rows: Indices) -> Floats:
        """Return the kernels between some rows and all, ``M x len(rows) x n``."""
        return np.stack([factor[:, rows].T @ factor for factor in self._factors])

    def weighted_sum(
        self, weights: Floats, columns: Indices | slice
    ) -> Callable[[Indices | slice], Floats]:
        """Return what gives rows of the weighted sum, some columns of them."""
        each = np.repeat(weights, self._ranks)[:, None]
        weighted = each * self._all[:, columns]
        return lambda rows: np.asarray(self._all[:, rows].T @ weighted)

    def products(self, support: Indices, a: Array) -> Array:
        """Return ``K_m a`` of each kernel, ``M x n``, where a is 0 outside the support."""
        return np.stack([(f[:, support] @ a) @ f for f in self._factors])


def _factor(kernel: Gaussian, columns: Array, most: int) -> Array | None:
    """Return ``L'`` of at most so many rows, or ``None``: Cholesky's, the largest rest first.

    What is left of K is positive semidefinite, so that its largest entry is on the diagonal.
    """
    x = np.ascontiguousarray(columns.T)
    factor, left = np.empty((most, x.shape[1])), np.ones(x.shape[1])
    for rank in range(most + 1):
        pivot = int(left.argmax())
        if left[pivot] <= _LEFT:
            return factor[:rank]
        if rank == most:
            break
        apart = x - x[:, pivot, None]
        row = kernel.of_squared_distances(np.einsum("ij,ij->j", apart, apart))
        row -= factor[:rank, pivot] @ factor[:rank]
        row /= np.sqrt(left[pivot])
        left -= np.square(row)
        factor[rank] = row
    return None
