"""Explicit features of the base kernels: exact, landmark and Fourier features.

The features z_m of a kernel approximate it: ``k_m(x, y)`` is about ``<z_m(x), z_m(y)>``.

Linear kernels, and polynomial ones of few columns, have exact features. For the others there are
two kinds of random features:

- *landmarks*: kernels with some random training rows, whitened (the Nystroem method). They miss
  a known part of ``k(x, x) = 1``: the mean of ``1 - |z(x)|^2`` over the rows.
- *Fourier*: orthogonal random Fourier features of Gaussians, products of random projections
  for polynomials. They are independent of the data and need many more columns.

The Gram matrix of a very narrow Gaussian is the identity. Such a kernel gets no columns, and its
whole diagonal is missing. `shlcore.admm` gives each training row a slack for the missing diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.kernels import (
    FunctionKernel,
    Gaussian,
    Kernel,
    KernelBank,
    Linear,
    Polynomial,
    single_squared_distances,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Array, Features, FileArrays, Floats


# "Tried" below: 1500 rows of usps and of pendigits, the paper's kernels, 600 features, 5 bits.
# The exact solver has eq. (6) at 496 and 340 there, these features at 548 and 380.

_SAMPLE = 1000
"""Sampled rows for the statistics of the kernels. Tried: 200 and 1500 change eq. (6) by 0.4 %."""

_MIN_FEATURES = 32
"""Minimum number of features of a kernel. Tried: 2 and 100 change eq. (6) by at most 0.3 %."""

_MIN_EIGENVALUE = 1e-6
"""Eigenvalues below this share of the largest are noise: single precision has seven digits.
Tried: 1e-8 and 1e-4 change eq. (6) by at most 0.3 %."""

_MIN_SIMILARITY = 0.25
"""A Gaussian is too narrow for features if the mean square of its values between different
rows, times the number of features, is below this: so many features cannot distinguish its Gram
matrix from the identity. Tried: 0.02 is worse (558 and 405); 2.0 is better on usps (534) and equal
on pendigits, so a larger value might be worth a study on more data."""


def draw_map(
    bank: KernelBank,
    sample: Floats,
    n_rows: int,
    n_components: int,
    kind: str,
    rng: np.random.Generator,
) -> FeatureMap:
    """Draw a map with about ``n_components`` random features.

    The share of a kernel grows with ``1 - mean k``, the variance of its features, so that all
    kernels have similar errors.

    Parameters
    ----------
    sample
        Some scaled rows in random order, for the statistics of the kernels; the first ones are
        the landmarks.
    n_rows
        Number of all rows.
    kind
        "landmarks" or "fourier".
    """
    shares = _shares(bank, np.asarray(sample[:_SAMPLE], dtype=np.float64), n_components)
    total = sum(share for share in shares if share) or 1.0
    counts = [
        share if not share else max(_MIN_FEATURES, round(n_components * share / total))
        for share in shares
    ]
    n_landmarks = 0
    if kind == "landmarks":
        counts = [count if not count else min(int(count), len(sample)) for count in counts]
        n_landmarks = max((int(count) for count in counts if count), default=0)
    landmarks = np.asarray(sample[:n_landmarks], dtype=np.float32)
    exact = landmarks.astype(np.float64)
    parts: list[Part] = []
    for kernel, group, count in zip(bank.kernels, bank.select_columns(exact), counts, strict=True):
        if not count:
            parts.append(None if count is None else ())
        elif kind == "landmarks":
            parts.append(_whitening(kernel.of(group[: int(count)], group[: int(count)])))
        else:
            parts.append(_draw(kernel, group.shape[1], int(count), rng))
    missing = np.array([1.0 if part is None else 0.0 for part in parts])
    drawn = FeatureMap(bank, tuple(parts), landmarks, missing)
    return replace(drawn, missing_diagonal=_missing_diagonal(drawn, sample, n_rows))


def _missing_diagonal(map_: FeatureMap, sample: Floats, n_rows: int) -> Array:
    """Estimate the missing diagonal of landmark features: the mean over other rows."""
    missing = map_.missing_diagonal.copy()
    others = map_.transform(sample[len(map_.landmarks) :][:_SAMPLE])
    last = 0
    for m, (part, width) in enumerate(zip(map_.parts, map_.widths, strict=True)):
        if isinstance(part, Whitening) and len(others):
            own = others[:, last : last + width]
            mean = max(0.0, 1.0 - float(np.square(own).sum(axis=1).mean()))
            # Landmarks themselves miss nothing, but all rows have the same slack. With the square
            # of the landmarks' share, eq. (6) tends to the exact optimum on usps and pendigits as
            # their number grows.
            missing[m] = mean * (1.0 - (len(part.matrix) / n_rows) ** 2)
        last += width
    return missing


def _shares(bank: KernelBank, rows: Array, n_components: int) -> list[float | None]:
    """Return each kernel's share of random features: 0 if exact, None if too narrow."""
    off_diagonal = ~np.eye(len(rows), dtype=bool) if len(rows) > 1 else np.ones((1, 1), dtype=bool)
    shares: list[float | None] = []
    for kernel, width, K in zip(
        bank.kernels, bank.widths, bank.cross_kernels(rows, rows), strict=True
    ):
        values = K[off_diagonal]
        few = isinstance(kernel, Polynomial) and n_monomials(width, kernel.degree) <= n_components
        if few or isinstance(kernel, Linear):
            shares.append(0.0)
        elif (
            isinstance(kernel, Gaussian)
            and float((values**2).mean()) * n_components < _MIN_SIMILARITY
        ):
            shares.append(None)
        else:
            shares.append(max(1.0 - float(values.mean()), 1e-6))
    return shares


def _whitening(K: Array) -> Whitening:
    """Return R such that ``K R`` has the Gram matrix K, without its noise eigenvalues."""
    values, vectors = np.linalg.eigh(K)
    kept = values > _MIN_EIGENVALUE * values[-1]
    return Whitening((vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32))


def _draw(kernel: Kernel, width: int, count: int, rng: np.random.Generator) -> Part:
    if isinstance(kernel, Gaussian):
        frequencies = _orthogonal(width, -(-count // 2), rng) / kernel.sigma
        return (frequencies.astype(np.float32),)
    if isinstance(kernel, FunctionKernel):
        raise ValueError(f"features: wanted 'landmarks' for {kernel!r}, got 'fourier'")  # noqa: TRY004
    degree = kernel.degree if isinstance(kernel, Polynomial) else 1
    return tuple(_orthogonal(width + 1, count, rng).astype(np.float32) for _ in range(degree))


def _orthogonal(d: int, count: int, rng: np.random.Generator) -> Array:
    """Draw ``d x count`` normal columns that are orthogonal within each group of d.

    The distribution of each column is the same as without orthogonality, and the variance of the
    kernel is smaller.
    """
    groups = []
    for _ in range(-(-count // d)):
        directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
        groups.append(directions * np.sqrt(rng.chisquare(d, d)))
    return np.concatenate(groups, axis=1)[:, :count]


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """An inverse root of the kernel matrix of the first L landmarks, ``L x k``."""

    matrix: Features


Part = tuple["Features", ...] | Whitening | None
"""A kernel's part of a map: nothing (exact features), some matrices, a whitening, or None."""

_TINY = float(np.finfo(np.float32).tiny)
"""Avoids division by 0, the length of a row of zeros, whose features are 0."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """The map from rows to the features of each kernel of a bank.

    Parameters
    ----------
    bank
        The kernels.
    parts
        Parts of the kernels: ``()`` is exact, one ``d x k`` matrix holds the frequencies of k
        cosines and k sines, several matrices are multiplied projections, a `Whitening` is that of
        the kernels with landmarks, and None stands for the identity.
    landmarks
        ``L x d``, scaled rows.
    missing_diagonal
        ``(M,)``, the part of ``k_m(x, x)`` that the features lack.
    """

    bank: KernelBank
    parts: tuple[Part, ...]
    landmarks: Features
    missing_diagonal: Array

    @property
    def widths(self) -> list[int]:
        """Number of columns of each kernel."""
        return [
            _width(kernel, part, columns)
            for kernel, columns, part in zip(
                self.bank.kernels, self.bank.widths, self.parts, strict=True
            )
        ]

    @property
    def n_features(self) -> int:
        """Number of all columns."""
        return sum(self.widths)

    def transform(self, X: Floats) -> Features:
        """Return the features of scaled rows, ``n x D``."""
        rows = np.asarray(X, dtype=np.float32)
        features = np.empty((len(rows), self.n_features), dtype=np.float32)
        last = 0
        cross = _CrossKernels(self.bank, rows, self.landmarks)
        for m, (kernel, group, part, width) in enumerate(
            zip(
                self.bank.kernels,
                self.bank.select_columns(rows),
                self.parts,
                self.widths,
                strict=True,
            )
        ):
            out = features[:, last : last + width]
            last += width
            if isinstance(part, Whitening):
                np.matmul(cross.of(m, len(part.matrix)), part.matrix, out=out)
            elif part is not None:
                _fill(out, kernel, part, group)
        return features

    def arrays(self) -> FileArrays:
        """Return the arrays that a file holds; see `from_arrays`."""
        named: FileArrays = {
            "landmarks": self.landmarks,
            "lacks": self.missing_diagonal,
            "diagonal": np.array([part is None for part in self.parts]),
        }
        for m, part in enumerate(self.parts):
            if isinstance(part, Whitening):
                named[f"root_{m}"] = part.matrix
            else:
                named |= {f"map_{m}_{i}": matrix for i, matrix in enumerate(part or ())}
        return named

    @classmethod
    def from_arrays(cls, bank: KernelBank, arrays: FileArrays) -> FeatureMap:
        """Restore the map from `arrays`."""
        parts: list[Part] = []
        for m, absent in enumerate(arrays["diagonal"]):
            if f"root_{m}" in arrays:
                parts.append(Whitening(arrays[f"root_{m}"]))
            else:
                parts.append(None if absent else tuple(_numbered(arrays, f"map_{m}_")))
        return cls(bank, tuple(parts), arrays["landmarks"], arrays["lacks"])


class _CrossKernels:
    """Kernels between rows and landmarks in single precision, with shared distances."""

    def __init__(self, bank: KernelBank, rows: Features, landmarks: Features) -> None:
        self._kernels = bank.kernels
        self._rows = list(bank.select_columns(rows))
        self._landmarks = list(bank.select_columns(landmarks))
        self._distances: dict[object, Features] = {}

    def of(self, m: int, count: int) -> Features:
        """Return kernel m with the first landmarks."""
        kernel = self._kernels[m]
        if not isinstance(kernel, Gaussian):
            return kernel.of(self._rows[m], self._landmarks[m][:count])
        key = kernel.columns if kernel.columns is None else str(kernel.columns)
        if key not in self._distances:
            self._distances[key] = single_squared_distances(self._rows[m], self._landmarks[m])
        return kernel.of_squared_distances(self._distances[key][:, :count])


def n_monomials(d: int, degree: int) -> int:
    """Return the number of exact features of a polynomial of d columns."""
    return comb(d + degree, degree)


def _width(kernel: Kernel, part: Part, d: int) -> int:
    if part is None:
        return 0
    if isinstance(part, Whitening):
        return int(part.matrix.shape[1])
    if isinstance(kernel, Gaussian):
        return 2 * int(part[0].shape[1])
    if isinstance(kernel, Linear):
        return d
    if isinstance(kernel, Polynomial) and not part:
        return n_monomials(d, kernel.degree)
    return int(part[0].shape[1])


def _fill(out: Features, kernel: Kernel, part: tuple[Features, ...], rows: Features) -> None:
    """Write the features of one kernel."""
    if isinstance(kernel, Gaussian):
        half = out.shape[1] // 2
        angles = rows @ part[0]
        np.cos(angles, out=out[:, :half])
        np.sin(angles, out=out[:, half:])
        out *= np.float32(half**-0.5)
    elif isinstance(kernel, Linear):
        np.divide(rows, np.maximum(np.linalg.norm(rows, axis=1), _TINY)[:, None], out=out)
    elif isinstance(kernel, Polynomial):
        biased = np.column_stack([rows, np.full(len(rows), kernel.bias**0.5, np.float32)])
        biased /= np.linalg.norm(biased, axis=1)[:, None]
        if part:
            np.matmul(biased, part[0], out=out)
            for projection in part[1:]:
                out *= biased @ projection
            out *= np.float32(out.shape[1] ** -0.5)
        else:
            for column, values in enumerate(_monomials(biased, kernel.degree)):
                out[:, column] = values


def _monomials(rows: Features, degree: int) -> Iterator[Features]:
    """Yield columns with products ``<x, y> ** degree`` (multinomial theorem)."""
    for chosen in combinations_with_replacement(range(rows.shape[1]), degree):
        repeats = np.unique(chosen, return_counts=True)[1]
        ways = factorial(degree)
        for count in repeats:
            ways //= factorial(int(count))
        yield np.float32(ways**0.5) * rows[:, list(chosen)].prod(axis=1)


def _numbered(arrays: FileArrays, prefix: str) -> Iterator[Features]:
    i = 0
    while f"{prefix}{i}" in arrays:
        yield arrays[f"{prefix}{i}"]
        i += 1
