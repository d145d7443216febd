"""The kernel matrices of the training rows, and products with their weighted sums."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array, Indices

_COMPARED = 50
_ASYMMETRY = 1e-5
"""Rows between which all entries are compared with their mirror images, and by how much of the
largest they may differ: kernels computed in single precision do, by 1e-6."""


class Grams:
    """The M kernel matrices of the training rows, and products with their weighted sums.

    Checked once, when it is made: whoever keeps kernels between fits keeps this object and
    hands it to ``SHL(kernels="precomputed").fit``.

    Parameters
    ----------
    stacks
        One or more of ``M x n x n``, symmetric, in their order; not copied if they are
        contiguous arrays of float64. Whoever keeps some kernels longer than others hands over
        both: a `Grams` among the stacks has been checked and is taken as it is.
    """

    def __init__(self, *stacks: ArrayLike | Grams) -> None:
        parts: list[Array] = []
        unchecked: list[Array] = []
        for stack in stacks:
            if isinstance(stack, Grams):
                parts.extend(stack._stacks)
            else:
                unchecked.append(check_stack(stack))
                parts.append(unchecked[-1])
        shapes = {part.shape[1:] for part in parts}
        if len(shapes) != 1 or any(rows != columns for rows, columns in shapes):
            got = ", ".join(str(shape) for shape in sorted(shapes)) or "none"
            raise ValueError(f"X: wanted square Gram matrices, got {got}")
        for part in unchecked:
            _check_symmetry(part)
        self._stacks: tuple[Array, ...] = tuple(parts)

    @classmethod
    def of(cls, matrices: Iterable[Array], n_kernels: int, n_rows: int) -> Grams:
        """Gather matrices as they are made, so that each is held once."""
        stack = np.empty((n_kernels, n_rows, n_rows))
        for place, matrix in zip(stack, matrices, strict=True):
            place[:] = matrix
        return cls(stack)

    def __len__(self) -> int:
        return sum(len(stack) for stack in self._stacks)

    def __iter__(self) -> Iterator[Array]:
        """Yield each matrix, ``n x n``."""
        for stack in self._stacks:
            yield from stack

    @property
    def n_rows(self) -> int:
        """How many rows the matrices have."""
        return int(self._stacks[0].shape[1])

    def among(self, rows: Indices) -> Grams:
        """Return the matrices among some of the rows."""
        if np.array_equal(rows, np.arange(self.n_rows)):
            return self
        part = copy(self)
        part._stacks = tuple(stack[:, rows[:, None], rows] for stack in self._stacks)
        return part

    def matrices_of(self, rows: Indices) -> Array:
        """Return the kernels between some rows and all, ``M x len(rows) x n``."""
        return np.concatenate([stack[:, rows] for stack in self._stacks])

    def weighted_sum(self, kernel_weights: Array, rows: Indices) -> Array:
        """Return ``sum_m theta_m K_m`` among some rows."""
        if len(rows) == self.n_rows:
            # A product for each stack reads it once.
            ends = np.cumsum([len(stack) for stack in self._stacks])
            weights = np.split(kernel_weights, ends[:-1])
            total = weights[0] @ self._stacks[0].reshape(len(weights[0]), -1)
            for weight, stack in zip(weights[1:], self._stacks[1:], strict=True):
                total += weight @ stack.reshape(len(weight), -1)
            return np.asarray(total.reshape(self.n_rows, self.n_rows))
        total = np.zeros((len(rows), len(rows)))
        line = np.empty(self.n_rows)
        first = 0
        for stack in self._stacks:
            share = kernel_weights[first : first + len(stack)]
            # A whole row of each kernel is read in one go; its entries among the rows are not.
            for place, row in zip(total, rows, strict=True):
                place += np.dot(share, stack[:, row], out=line)[rows]
            first += len(stack)
        return total

    def products(self, support: Indices, a: Array) -> Array:
        """Return ``K_m a`` of each kernel, ``M x n``, where a is 0 outside the support."""
        # A product with whole matrices reads all rows, but in one go: measured with 11 kernels, it
        # is the faster way from a quarter (500 rows) or 40 % (1500 rows) on.
        if 3 * len(support) > self.n_rows:
            full = np.zeros(self.n_rows)
            full[support] = a
            return np.concatenate([stack @ full for stack in self._stacks])
        # The matrices are symmetric: rows are read in one go, columns are not.
        total = np.zeros((len(self), self.n_rows))
        first = 0
        for stack in self._stacks:
            part = total[first : first + len(stack)]
            for row, coefficient in zip(support, a, strict=True):
                part += coefficient * stack[:, row]
            first += len(stack)
        return total


def check_stack(X: ArrayLike) -> Array:
    """Check kernel matrices, ``M x rows x columns``."""
    try:
        stack = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X: wanted a stack of kernel matrices of one shape, as kernels='precomputed'"
        ) from error
    if stack.ndim != 3 or 0 in stack.shape:
        raise ValueError(
            f"X: wanted kernel matrices as an array of 3 dimensions, got shape {stack.shape}"
        )
    # The sum is finite if all are, and takes no temporary.
    if not np.isfinite(stack.sum()):
        raise ValueError("X: wanted finite kernel matrices, got NaN or infinity")
    return stack


def _check_symmetry(stack: Array) -> None:
    """Refuse matrices that differ from their transposes: LIBSVM might never come back.

    Compared are all entries between some rows, always the same ones.
    """
    n = stack.shape[1]
    rows = np.arange(n)
    if n > _COMPARED:
        rows = np.sort(np.random.default_rng(0).choice(n, _COMPARED, replace=False))
    block = stack[:, rows[:, None], rows]
    gaps = np.abs(block - block.transpose(0, 2, 1))
    m, i, j = np.unravel_index(int(gaps.argmax()), gaps.shape)
    if gaps[m, i, j] > _ASYMMETRY * np.abs(block).max():
        raise ValueError(
            f"X: wanted symmetric Gram matrices, got {block[m, i, j]:g} in row {rows[i]}, column "
            f"{rows[j]} of matrix {m} and {block[m, j, i]:g} in row {rows[j]}, column {rows[i]}"
        )
