"""Block 1: one weighted binary SVM on a weighted sum of kernels (eq. 7), by LIBSVM.

LIBSVM cannot start from an earlier solution, and it reads all rows. Most do not matter: with an
earlier f as a guess, the rows up to its margin and some behind are solved first, and those
that the new f fails join them. When none does, the answer is that of all rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.svm import SVC

from shlcore.hinge import hinge_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from shlcore.array_types import Array, Floats, Indices


TOLERANCE = 1e-6
"""LIBSVM's usual 1e-3 would leave each margin short by that much: times lambda1 and the
number of rows, the primal value could be twice the optimum. This costs few steps more."""

_ROOM = 1e-3
_FEWEST_ROWS = 100
"""Rows of a guess count as support up to this far behind the margin, and LIBSVM begins with so
many more than twice their number. Any choice gives the same answer: rows that it leaves out
and that the new f fails join in (`_violators`)."""

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
        for weight, block in zip(kernel_weights, self._blocks(rows), strict=True):
            block *= weight
            total += block
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

    def _blocks(self, rows: Indices) -> Iterator[Array]:
        """Yield each matrix among some rows, in one buffer that the next one overwrites."""
        places = rows[:, None] * self.n_rows + rows
        block = np.empty(places.shape)
        for matrix in self:
            yield np.take(matrix.reshape(-1), places, out=block, mode="clip")


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


@dataclass(frozen=True, slots=True, eq=False)
class Svm:
    """A solution of eq. (7).

    Parameters
    ----------
    support, coefficients
        Rows with a dual variable above 0, and these variables times the targets.
    intercept
        The offset beta.
    projections
        ``(n,)``, f at all rows.
    squared_norms
        ``(M,)``, ``||w_m||^2``.
    """

    support: Indices
    coefficients: Array
    intercept: float
    projections: Array
    squared_norms: Array


def solve_svm(
    grams: Grams,
    kernel_weights: Array,
    targets: NDArray[np.int8],
    costs: Array,
    guess: Floats | None = None,
) -> Svm:
    """Minimise ``sum_n costs_n [1 - y_n f(x_n)]_+ + 1/2 sum_m ||w_m||^2 / theta_m``.

    Parameters
    ----------
    targets
        ``(n,)``, -1 or +1.
    costs
        ``(n,)``; rows of cost 0 take no part. When all that do have one target, there is no
        SVM: w = 0, and beta is that sign.
    guess
        ``(n,)``, f of an earlier solution: saves time, changes nothing.
    """
    rows = np.flatnonzero(costs > 0)
    if not rows.size or (targets[rows] == targets[rows[0]]).all():
        sign = float(targets[rows[0]]) if rows.size else 1.0
        nobody = np.empty(0, dtype=np.intp)
        zeros = np.zeros(len(grams))
        return Svm(nobody, np.empty(0), sign, np.full(grams.n_rows, sign), zeros)
    working = rows if guess is None else _near_the_margin(rows, targets * guess, targets)
    while True:
        svc = SVC(kernel="precomputed", C=1.0, tol=TOLERANCE, cache_size=500)
        kernel = grams.weighted_sum(kernel_weights, working)
        svc.fit(kernel, targets[working], sample_weight=costs[working])
        support, coefficients = working[svc.support_], svc.dual_coef_[0]
        intercept = float(svc.intercept_[0])
        products = grams.products(support, coefficients)
        projections = kernel_weights @ products + intercept
        missing = _violators(rows, working, targets * projections)
        if not missing.size:
            break
        working = np.union1d(working, missing)
    # Rounding may push the quadratic form of a singular kernel below zero.
    forms = np.maximum(products[:, support] @ coefficients, 0.0)
    return Svm(support, coefficients, intercept, projections, kernel_weights**2 * forms)


def _near_the_margin(rows: Indices, margins: Floats, targets: NDArray[np.int8]) -> Indices:
    """Choose the rows to begin with: twice as many as support the guess, the nearest ones."""
    order = rows[np.argsort(margins[rows], kind="stable")]
    count = _FEWEST_ROWS + 2 * int(np.count_nonzero(margins[rows] <= 1.0 + _ROOM))
    chosen = order[:count]
    both = bool((targets[chosen] != targets[chosen[0]]).any())
    return np.sort(chosen) if both and 2 * count < len(rows) else rows


def _violators(rows: Indices, working: Indices, margins: Array) -> Indices:
    """Return rows that must join; all the rest, once the working set is no longer small."""
    if len(working) == len(rows):
        return rows[:0]
    left = np.setdiff1d(rows, working, assume_unique=True)
    short = left[margins[left] < 1.0 - TOLERANCE]
    return left if short.size and 2 * (len(working) + len(short)) > len(rows) else short


def duality_gap(
    kernel_weights: Array, targets: NDArray[np.int8], costs: Array, svm: Svm
) -> tuple[float, float]:
    """Return the primal value of eq. (6) for one bit, and the dual value of eq. (7)."""
    used = kernel_weights > 0
    norm = float((svm.squared_norms[used] / kernel_weights[used]).sum())
    primal = hinge_loss(costs, targets, svm.projections) + 0.5 * norm
    dual = np.abs(svm.coefficients).sum() - 0.5 * norm
    return float(primal), float(dual)
