"""Explicit maps of the base kernels: ``k_m(x, y)`` is about ``<z_m(x), z_m(y)>``.

Linear kernels, and polynomial ones of few columns, map exactly. For the others there are two
kinds of random features:

- *landmarks*: kernels with some random training rows, whitened (the Nystroem method). They lack
  a known part of ``k(x, x) = 1``: the mean of ``1 - |z(x)|^2`` over the rows.
- *Fourier*: orthogonal random Fourier features of Gaussians, products of random projections
  for polynomials. They know nothing of the data and need many more columns.

A Gaussian so narrow that the rows hardly resemble each other has the identity for its Gram
matrix. It gets no columns, and lacks all. `shlcore.admm` gives each training row a slack
for what is lacking, as the diagonal of the Gram matrix does in truth.


@@@
Features of rows for each kernel of a bank, once `shlcore.random_features` has drawn a map.

What was drawn for a kernel decides how its columns are filled: exactly, by cosines and sines,
by products of projections, or by whitened kernels with landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.kernels import (
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

_JUDGED = 1000
"""Rows on which kernels are judged, against each other. Tried: 200 and 1500 move eq. (6) by
0.4 %."""

_LEAST_SHARE = 32
"""Features that a kernel gets at the least, so that none is left with a handful. Tried: 2 and
100 move eq. (6) by 0.3 % at the most."""

_SOUND = 1e-6
"""Eigenvalues below this share of the largest are noise: single precision has seven digits.
Tried: 1e-8 and 1e-4 move eq. (6) by 0.3 % at the most."""

_LEAST_LIKENESS = 0.25
"""A Gaussian is too narrow for features if the mean square of its values between different
rows, times the number of features, is below this: the Gram matrix is then the identity for all
that so many features could tell. Tried: 0.02 is worse (558 and 405); 2.0 is better on usps
(534) and level on pendigits, so a larger value might be worth a study on more data."""


def draw_map(
    bank: KernelBank,
    sample: Floats,
    n_rows: int,
    n_components: int,
    kind: str,
    rng: np.random.Generator,
) -> FeatureMap:
    """Draw a map with about ``n_components`` random features.

    The share of a kernel grows with ``1 - mean k``, the variance that its features have, so
    that all kernels end up with like errors.

    Parameters
    ----------
    sample
        Some scaled rows in random order: they tell which Gaussians are too narrow, and the
        shares, and the first serve as landmarks.
    n_rows
        How many rows there are in all.
    kind
        "landmarks" or "fourier".
    """
    shares = _shares(bank, np.asarray(sample[:_JUDGED], dtype=np.float64), n_components)
    total = sum(share for share in shares if share) or 1.0
    counts = [
        share if not share else max(_LEAST_SHARE, round(n_components * share / total))
        for share in shares
    ]
    n_landmarks = 0
    if kind == "landmarks":
        counts = [count if not count else min(int(count), len(sample)) for count in counts]
        n_landmarks = max((int(count) for count in counts if count), default=0)
    landmarks = np.asarray(sample[:n_landmarks], dtype=np.float32)
    exact = landmarks.astype(np.float64)
    parts: list[Part] = []
    for kernel, group, count in zip(bank.kernels, bank.groups(exact), counts, strict=True):
        if not count:
            parts.append(None if count is None else ())
        elif kind == "landmarks":
            parts.append(_root(kernel.of(group[: int(count)], group[: int(count)])))
        else:
            parts.append(_draw(kernel, group.shape[1], int(count), rng))
    lacks = np.array([1.0 if part is None else 0.0 for part in parts])
    drawn = FeatureMap(bank, tuple(parts), landmarks, lacks)
    return replace(drawn, lacks=_lacks(drawn, sample, n_rows))


def _lacks(map_: FeatureMap, sample: Floats, n_rows: int) -> Array:
    """Find what landmarks lack: of other rows the mean, of themselves nothing."""
    lacks = map_.lacks.copy()
    others = map_.of(sample[len(map_.landmarks) :][:_JUDGED])
    last = 0
    for m, (part, width) in enumerate(zip(map_.parts, map_.widths, strict=True)):
        if isinstance(part, Root) and len(others):
            own = others[:, last : last + width]
            mean = max(0.0, 1.0 - float(np.square(own).sum(axis=1).mean()))
            # One slack for all rows stands for many. With the square of the landmarks' share,
            # eq. (6) tends to the exact optimum on usps and pendigits as they grow in number.
            lacks[m] = mean * (1.0 - (len(part.matrix) / n_rows) ** 2)
        last += width
    return lacks


def _shares(bank: KernelBank, rows: Array, n_components: int) -> list[float | None]:
    """Return each kernel's claim to random features: 0 if exact, None if too narrow."""
    apart = ~np.eye(len(rows), dtype=bool) if len(rows) > 1 else np.ones((1, 1), dtype=bool)
    shares: list[float | None] = []
    for kernel, width, K in zip(bank.kernels, bank.widths, bank.each(rows, rows), strict=True):
        values = K[apart]
        few = isinstance(kernel, Polynomial) and n_monomials(width, kernel.degree) <= n_components
        if few or isinstance(kernel, Linear):
            shares.append(0.0)
        elif (
            isinstance(kernel, Gaussian)
            and float((values**2).mean()) * n_components < _LEAST_LIKENESS
        ):
            shares.append(None)
        else:
            shares.append(max(1.0 - float(values.mean()), 1e-6))
    return shares


def _root(K: Array) -> Root:
    """Whiten: ``K R`` has the Gram matrix K, less what single precision cannot tell from 0."""
    values, vectors = np.linalg.eigh(K)
    sound = values > _SOUND * values[-1]
    return Root((vectors[:, sound] / np.sqrt(values[sound])).astype(np.float32))


def _draw(kernel: Kernel, width: int, count: int, rng: np.random.Generator) -> Part:
    if isinstance(kernel, Gaussian):
        frequencies = _orthogonal(width, -(-count // 2), rng) / kernel.sigma
        return (frequencies.astype(np.float32),)
    degree = kernel.degree if isinstance(kernel, Polynomial) else 1
    return tuple(_orthogonal(width + 1, count, rng).astype(np.float32) for _ in range(degree))


def _orthogonal(d: int, count: int, rng: np.random.Generator) -> Array:
    """Draw ``d x count`` normal columns that are orthogonal within each group of d.

    Same distribution of each column, smaller variance of the kernel than independent ones.
    """
    groups = []
    for _ in range(-(-count // d)):
        directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
        groups.append(directions * np.sqrt(rng.chisquare(d, d)))
    return np.concatenate(groups, axis=1)[:, :count]


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """``L x k``, an inverse root of the kernel matrix of the first L landmarks."""

    matrix: Features


Part = tuple["Features", ...] | Root | None
"""What a kernel's map has drawn: nothing (exact map), some matrices, a root, or None."""

_TINY = float(np.finfo(np.float32).tiny)
"""Keeps a division by the length of a row of zeros from failing; such a row has features 0."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """Columns of features for each kernel of a bank.

    Parameters
    ----------
    bank
        The kernels.
    parts
        For each kernel what was drawn: ``()`` maps exactly, one ``d x k`` matrix holds the
        frequencies of k cosines and k sines, several matrices are multiplied projections, a
        `Root` whitens kernels with landmarks, and None stands for the identity.
    landmarks
        ``L x d``, scaled rows.
    lacks
        ``(M,)``, what of ``k_m(x, x)`` the features lack.
    """

    bank: KernelBank
    parts: tuple[Part, ...]
    landmarks: Features
    lacks: Array

    @property
    def widths(self) -> list[int]:
        """How many columns each kernel has."""
        return [
            _width(kernel, part, columns)
            for kernel, columns, part in zip(
                self.bank.kernels, self.bank.widths, self.parts, strict=True
            )
        ]

    @property
    def n_features(self) -> int:
        """How many columns there are in all."""
        return sum(self.widths)

    def of(self, X: Floats) -> Features:
        """Return the features of scaled rows, ``n x D``."""
        rows = np.asarray(X, dtype=np.float32)
        features = np.empty((len(rows), self.n_features), dtype=np.float32)
        last = 0
        cross = _CrossKernels(self.bank, rows, self.landmarks)
        for m, (kernel, group, part, width) in enumerate(
            zip(self.bank.kernels, self.bank.groups(rows), self.parts, self.widths, strict=True)
        ):
            place = features[:, last : last + width]
            last += width
            if isinstance(part, Root):
                np.matmul(cross.of(m, len(part.matrix)), part.matrix, out=place)
            elif part is not None:
                _fill(place, kernel, part, group)
        return features

    def arrays(self) -> FileArrays:
        """Return what was drawn under names, for a file; see `restored`."""
        found: FileArrays = {
            "landmarks": self.landmarks,
            "lacks": self.lacks,
            "diagonal": np.array([part is None for part in self.parts]),
        }
        for m, part in enumerate(self.parts):
            if isinstance(part, Root):
                found[f"root_{m}"] = part.matrix
            else:
                found |= {f"map_{m}_{i}": matrix for i, matrix in enumerate(part or ())}
        return found

    @classmethod
    def restored(cls, bank: KernelBank, arrays: FileArrays) -> FeatureMap:
        """Build the map again from `arrays`."""
        parts: list[Part] = []
        for m, absent in enumerate(arrays["diagonal"]):
            if f"root_{m}" in arrays:
                parts.append(Root(arrays[f"root_{m}"]))
            else:
                parts.append(None if absent else tuple(_numbered(arrays, f"map_{m}_")))
        return cls(bank, tuple(parts), arrays["landmarks"], arrays["lacks"])


class _CrossKernels:
    """Kernels between rows and landmarks in single precision; Gaussians share distances."""

    def __init__(self, bank: KernelBank, rows: Features, landmarks: Features) -> None:
        self._kernels = bank.kernels
        self._rows = list(bank.groups(rows))
        self._landmarks = list(bank.groups(landmarks))
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
    """Return how many columns map a polynomial of d columns exactly."""
    return comb(d + degree, degree)


def _width(kernel: Kernel, part: Part, d: int) -> int:
    if part is None:
        return 0
    if isinstance(part, Root):
        return int(part.matrix.shape[1])
    if isinstance(kernel, Gaussian):
        return 2 * int(part[0].shape[1])
    if isinstance(kernel, Linear):
        return d
    if not part:
        return n_monomials(d, kernel.degree)
    return int(part[0].shape[1])


def _fill(place: Features, kernel: Kernel, part: tuple[Features, ...], rows: Features) -> None:
    """Write one kernel's features."""
    if isinstance(kernel, Gaussian):
        half = place.shape[1] // 2
        angles = rows @ part[0]
        np.cos(angles, out=place[:, :half])
        np.sin(angles, out=place[:, half:])
        place *= np.float32(half**-0.5)
    elif isinstance(kernel, Linear):
        np.divide(rows, np.maximum(np.linalg.norm(rows, axis=1), _TINY)[:, None], out=place)
    else:
        biased = np.column_stack([rows, np.full(len(rows), kernel.bias**0.5, np.float32)])
        biased /= np.linalg.norm(biased, axis=1)[:, None]
        if part:
            np.matmul(biased, part[0], out=place)
            for projection in part[1:]:
                place *= biased @ projection
            place *= np.float32(place.shape[1] ** -0.5)
        else:
            for column, values in enumerate(_monomials(biased, kernel.degree)):
                place[:, column] = values


def _monomials(rows: Features, degree: int) -> Iterator[Features]:
    """Yield the columns whose products are ``<x, y> ** degree``: the multinomial theorem."""
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
