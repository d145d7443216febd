"""Features of rows for each kernel of a bank, once `shlcore.random_features` has drawn a map.

What was drawn for a kernel decides how its columns are filled: exactly, by cosines and sines,
by products of projections, or by whitened kernels with landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.distances import single_squared_distances
from shlcore.kernels import Gaussian, Kernel, KernelBank, Linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Array, Features, FileArrays, Floats


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
