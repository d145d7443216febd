"""Base kernels on columns or groups of columns, kernel banks, squared distances."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from shlcore.samples import SampleRows, ScaledRows
from shlcore.scaling import unscaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array, Features, Floats, Reals


Columns = str | Sequence[int] | Sequence[str] | None
"""All columns (None), a named group or column, or a list of indices or column names."""


@dataclass(frozen=True)
class Linear:
    """The normalised linear kernel: the cosine of the angle between two rows."""

    columns: Columns = None

    def of(self, x: Reals, y: Reals) -> Reals:
        """Return the kernel between the rows of ``x`` and those of ``y``."""
        product: Floats = x @ y.T
        # A row of zeros has no direction: its kernel with every row is 0.
        product /= np.maximum(np.linalg.norm(x, axis=1), np.finfo(float).tiny)[:, None]
        product /= np.maximum(np.linalg.norm(y, axis=1), np.finfo(float).tiny)[None, :]
        return cast("Reals", product)


@dataclass(frozen=True)
class Polynomial:
    """The polynomial kernel ``(<x, y> + bias) ** degree``, normalised to k(x, x) = 1."""

    degree: int = 2
    bias: float = 1.0
    columns: Columns = None

    def of(self, x: Reals, y: Reals) -> Reals:
        """Return the kernel between the rows of ``x`` and those of ``y``."""
        product: Floats = x @ y.T
        product += self.bias
        product /= np.sqrt((x * x).sum(axis=1) + self.bias)[:, None]
        product /= np.sqrt((y * y).sum(axis=1) + self.bias)[None, :]
        return cast("Reals", _power(product, self.degree))


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian kernel ``exp(-|x - y|^2 / (2 sigma^2))``."""

    sigma: float
    columns: Columns = None

    def of(self, x: Reals, y: Reals) -> Reals:
        """Return the kernel between the rows of ``x`` and those of ``y``."""
        return self.of_squared_distances(squared_distances(x, y))

    def of_squared_distances(self, squared: Reals) -> Reals:
        """Return the kernel of ``|x - y|^2``, which Gaussians of one group share."""
        scaled: Floats = squared * (-0.5 / self.sigma**2)
        return cast("Reals", np.exp(scaled, out=scaled))


@dataclass(frozen=True)
class FunctionKernel:
    """A kernel given as a function from rows x and y to their matrix.

    It should be positive semidefinite with k(x, x) = 1. A model that has one cannot be saved.
    """

    function: Callable[[Floats, Floats], ArrayLike]
    columns: Columns = None

    def of(self, x: Reals, y: Reals) -> Reals:
        """Return the kernel between the rows of ``x`` and those of ``y``."""
        if not x.size or not y.size:
            return cast("Reals", np.empty((len(x), len(y)), dtype=x.dtype))
        matrix = np.asarray(self.function(x, y), dtype=x.dtype)
        if matrix.shape != (len(x), len(y)):
            raise ValueError(
                f"kernels: wanted a function that returns a matrix of shape {(len(x), len(y))}, "
                f"got {matrix.shape}"
            )
        return cast("Reals", matrix)


def _power(base: Floats, degree: float) -> Floats:
    """Return a power by squares and products, ten times as fast as numpy's power."""
    if degree != int(degree) or degree > _LARGEST_PRODUCT:
        return np.asarray(base**degree)
    power = base.copy() if degree > 1 else base
    for bit in f"{int(degree):b}"[1:]:
        power *= power
        if bit == "1":
            power *= base
    return power


_LARGEST_PRODUCT = 16
"""Largest degree computed by products, because their rounding errors accumulate."""

Kernel = Linear | Polynomial | Gaussian | FunctionKernel

PAPER_SIGMAS: tuple[float, ...] = tuple(2.0**e for e in (-7, -5, -3, -1, 0, 1, 3, 5, 7))


def paper_kernels(columns: Columns = None) -> tuple[Kernel, ...]:
    """Return the eleven kernels of the paper's sect. 6.1."""
    gaussians = tuple(Gaussian(sigma, columns) for sigma in PAPER_SIGMAS)
    return (Linear(columns), Polynomial(2, 1.0, columns), *gaussians)


_SAMPLE = 1000
"""Sampled rows for distances; the median of so many is accurate to a few percent."""

_BLOCK_BYTES = 1 << 16
"""Bytes per row while kernel matrices are computed, so that blocks of rows fit in the caches."""

_DEGREES = (2, 3, 5)
_BANDWIDTHS = (-0.5, 0.0, 0.5, 1.0, 2.0)
"""Bandwidths as powers of 2, in units of the distance to the nearest other row. Chosen on held-out
rows of usps and mnist; tests/benchmarks/RETRIEVAL.md has the comparison."""


def sample_distances(rows: Array | ScaledRows) -> Array:
    """Return squared distances between a sample of the distinct rows and all of them."""
    if isinstance(rows, np.ndarray):
        rows = ScaledRows(SampleRows(rows), np.arange(len(rows)), unscaled(rows.shape[1]))
    # Distinct rows in a fixed order make the result independent of order and repetitions.
    first, _ = rows.samples.unique_rows(rows.chosen)
    every = replace(rows, chosen=rows.chosen[first])
    sample = every.take(np.arange(0, len(every), -(-len(every) // _SAMPLE)))
    parts = [squared_distances(sample, block) for _, block in every.blocks()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def automatic_banks(
    rows: Array | ScaledRows, *, compact: bool = False
) -> tuple[tuple[Kernel, ...], ...]:
    """Return sets of kernels: those at the scale of neighbours, and broader ones.

    Kernels at the scale of neighbours follow right labels best, and wrong ones, too. Compact sets
    have two kernels, so that each gets half of the random features.
    """
    near = automatic_kernels(rows)
    typical = next(kernel for kernel in reversed(near) if isinstance(kernel, Gaussian)).sigma
    if compact:
        middle = near[len(_DEGREES) + _BANDWIDTHS.index(0.5)]
        return (Polynomial(3), middle), (Polynomial(3), Gaussian(2.0 * typical))
    ladder = tuple(Gaussian(typical * 2.0**power) for power in (-2, -1, 0, 1))
    broad: tuple[Kernel, ...] = (Polynomial(2), Polynomial(3), *ladder[2:])
    broad += (Gaussian(4.0 * typical),)
    return near, ladder, broad, ladder[-1:]


def automatic_kernels(rows: Array | ScaledRows) -> tuple[Kernel, ...]:
    """Choose polynomial kernels, and Gaussians at the scale of nearest neighbours.

    The paper's bandwidths are fixed. With many columns most of their Gram matrices are the
    identity: such a kernel fits any labels and predicts nothing, and the kernel weights still
    favour it.

    Parameters
    ----------
    rows
        Scaled rows, or rows that are scaled when read.
    """
    squared = sample_distances(rows)
    # The nearest row is the row itself, at distance 0; nearly equal rows have no scale either.
    others = np.where(squared > 1e-12, squared, np.inf).min(axis=1)
    others = others[np.isfinite(others)]
    nearest = float(np.sqrt(np.median(others))) if len(others) else 1.0
    gaussians = (Gaussian(nearest * 2.0**power) for power in _BANDWIDTHS)
    # Neighbours may be so near that all these kernels are local; one Gaussian is global.
    typical = float(np.sqrt(np.median(squared))) or 1.0
    return (*(Polynomial(degree) for degree in _DEGREES), *gaussians, Gaussian(typical))


class KernelBank:
    """Kernels with their columns resolved to indices.

    Parameters
    ----------
    kernels
        The kernels, in the order of the kernel weights.
    n_features
        Number of columns of the data.
    groups
        Column indices of each named group that the kernels may refer to.
    names
        Names of the columns, if the data have any.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        n_features: int,
        groups: Mapping[str, Sequence[int]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if not kernels:
            raise ValueError("kernels: wanted at least one kernel, got none")
        for kernel in kernels:
            _check(kernel)
        self.kernels = tuple(kernels)
        self._columns = [
            _resolve(kernel.columns, n_features, groups or {}, names) for kernel in kernels
        ]
        self.widths = [
            n_features if columns is None else len(columns) for columns in self._columns
        ]

    def __len__(self) -> int:
        return len(self.kernels)

    def select_columns(self, x: Reals) -> Iterator[Reals]:
        """Yield the columns of x that each kernel acts on."""
        for columns in self._columns:
            yield x if columns is None else cast("Reals", x[:, list(columns)])

    def matrices(self, rows: ScaledRows, dtype: type[np.floating] = np.float64) -> Floats:
        """Return the kernel matrices of rows, ``M x n x n``, computed block by block."""
        stack = np.empty((len(self), len(rows), len(rows)), dtype=dtype)
        for down, left in rows.blocks(_BLOCK_BYTES):
            for across, right in rows.blocks(_BLOCK_BYTES):
                if across.start > down.start:
                    break
                diagonal = across == down
                for matrix, part in zip(
                    stack, self.cross_kernels(left, left if diagonal else right), strict=True
                ):
                    matrix[down, across] = part
                    if not diagonal:
                        matrix[across, down] = part.T
        return stack

    def cross_kernels(self, x: Array, y: Array) -> Iterator[Array]:
        """Yield the matrix of each kernel between the rows of x and y."""
        distances: dict[tuple[int, ...] | None, Array] = {}
        for kernel, columns in zip(self.kernels, self._columns, strict=True):
            left = x if columns is None else x[:, list(columns)]
            right = left if y is x else y if columns is None else y[:, list(columns)]
            if isinstance(kernel, Gaussian):
                if columns not in distances:
                    distances[columns] = squared_distances(left, right)
                yield kernel.of_squared_distances(distances[columns])
            else:
                yield kernel.of(left, right)


KERNEL_NAMES = ("auto", "paper", "linear", "poly", "rbf")


def choose_kernels(given: object, rows: Array | ScaledRows) -> tuple[Kernel, ...]:
    """Return the kernels for names, functions, kernel objects, or a list of these.

    "poly" and "rbf" are the polynomials and the Gaussians of "auto".
    """
    kernels: list[Kernel] = []
    for item in given if isinstance(given, list | tuple) else [given]:
        if isinstance(item, Kernel):
            kernels.append(item)
        elif item == "paper":
            kernels.extend(paper_kernels())
        elif item == "linear":
            kernels.append(Linear())
        elif isinstance(item, str) and item in KERNEL_NAMES:
            wanted = {"poly": Polynomial, "rbf": Gaussian}.get(item, Kernel)
            kernels.extend(k for k in automatic_kernels(rows) if isinstance(k, wanted))
        elif callable(item):
            kernels.append(FunctionKernel(item))
        else:
            raise ValueError(
                f"kernels: wanted 'precomputed', or one or several of {KERNEL_NAMES}, kernel "
                f"objects and functions, got {item!r}"
            )
    return tuple(kernels)


def _check(kernel: Kernel) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernels: wanted Linear, Polynomial or Gaussian objects, got {kernel!r}")
    if isinstance(kernel, Gaussian) and not kernel.sigma > 0:
        raise ValueError(f"kernels: wanted a positive sigma, got {kernel.sigma!r}")
    if isinstance(kernel, Polynomial) and not (kernel.degree >= 1 and kernel.bias > 0):
        raise ValueError(f"kernels: wanted degree >= 1 and bias > 0, got {kernel!r}")


def _resolve(
    columns: Columns,
    n_features: int,
    groups: Mapping[str, Sequence[int]],
    names: Sequence[str] | None,
) -> tuple[int, ...] | None:
    """Resolve the columns of a kernel to indices; None stands for all."""
    if columns is None:
        return None
    wanted: list[str | int] = [columns] if isinstance(columns, str) else [*columns]
    known = {name: index for index, name in enumerate(names if names is not None else ())}
    indices: list[int] = []
    for item in wanted:
        if isinstance(item, str):
            if item in groups:
                indices.extend(int(i) for i in groups[item])
            elif item in known:
                indices.append(known[item])
            else:
                raise ValueError(
                    f"kernels: wanted a group or column among {sorted({*groups, *known})}, "
                    f"got {item!r}"
                )
        else:
            indices.append(operator.index(item))
    if not indices or min(indices) < 0 or max(indices) >= n_features:
        raise ValueError(
            f"kernels: wanted columns from 0 to {n_features - 1}, got {tuple(indices)}"
        )
    return tuple(indices)


def squared_distances(x: Reals, y: Reals) -> Reals:
    """Return ``|x_i - y_j|^2`` between rows; exactly 0 on the diagonal when x is y."""
    return cast("Reals", euclidean_distances(x, None if x is y else y, squared=True))


def single_squared_distances(x: Features, y: Features) -> Features:
    """Return squared distances of features in single precision.

    Half the memory and twice as fast as scikit-learn, which computes in double precision.
    """
    squared: Features = x @ y.T
    squared *= -2
    squared += np.square(x).sum(axis=1)[:, None]
    squared += np.square(y).sum(axis=1)
    return np.maximum(squared, 0, out=squared)


def gram_squared_distances(gram: Array) -> Array:
    """Return ``k(x, x) + k(y, y) - 2 k(x, y)``, the squared distances in kernel space."""
    own = np.diagonal(gram)
    return np.asarray(own[:, None] + own[None, :] - 2 * gram)


def relative_squared_distances(products: Floats, squared_lengths: Array) -> Array:
    """Return squared distances to points, less the row's own squared length.

    Parameters
    ----------
    products
        ``n x k``, products of rows and points.
    squared_lengths
        ``(k,)``, of the points.
    """
    return np.asarray(squared_lengths - 2 * products)
