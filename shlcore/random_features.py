"""Explicit maps of the base kernels: ``k_m(x, y)`` is about ``<z_m(x), z_m(y)>``.

Linear kernels, and polynomial ones of few columns, map exactly. Gaussians map to orthogonal
random Fourier features, wider polynomials to products of random projections. A Gaussian so
narrow that the rows hardly resemble each other has the identity for its Gram matrix: random
features would show nothing but their own noise. Such a kernel is *diagonal*; it has no
columns here, and `shlcore.admm_solver` gives each training row its own slack for it, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.kernels import Gaussian, Kernel, KernelBank, Linear, Polynomial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Features = NDArray[np.float32]

Part = tuple["Features", ...] | None
"""What a kernel's map has drawn: nothing (exact map), some matrices, or None (diagonal)."""

_JUDGED = 1000
_LEAST_SHARE = 32
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """Columns of features for each kernel of a bank.

    Parameters
    ----------
    bank
        The kernels.
    parts
        For each kernel what was drawn: ``()`` maps exactly, one ``d x k`` matrix holds the
        frequencies of k cosines and k sines, several matrices are multiplied projections,
        and None stands for a diagonal kernel.
    """

    bank: KernelBank
    parts: tuple[Part, ...]

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

    @property
    def diagonal(self) -> NDArray[np.bool_]:
        """``(M,)``, which kernels are diagonal."""
        return np.array([part is None for part in self.parts])

    def of(self, X: NDArray[np.floating]) -> Features:
        """Return the features of scaled rows, ``n x D``."""
        rows = np.asarray(X, dtype=np.float32)
        features = np.empty((len(rows), self.n_features), dtype=np.float32)
        last = 0
        for kernel, group, part, width in zip(
            self.bank.kernels, self.bank.groups(rows), self.parts, self.widths, strict=True
        ):
            if part is None:
                continue
            place = features[:, last : last + width]
            _fill(place, kernel, part, group)
            last += width
        return features

    def arrays(self) -> dict[str, Features]:
        """Return what was drawn under names, for a file; see `restored`."""
        return {
            f"map_{m}_{i}": matrix
            for m, part in enumerate(self.parts)
            for i, matrix in enumerate(part or ())
        }

    @classmethod
    def restored(
        cls, bank: KernelBank, diagonal: NDArray[np.bool_], arrays: Mapping[str, Features]
    ) -> FeatureMap:
        """Build the map again from `arrays`."""
        parts = tuple(
            None if absent else tuple(_numbered(arrays, f"map_{m}_"))
            for m, absent in enumerate(diagonal)
        )
        return cls(bank, parts)


def draw_map(
    bank: KernelBank, sample: NDArray[np.floating], n_components: int, rng: np.random.Generator
) -> FeatureMap:
    """Draw a map with about ``n_components`` random features.

    The share of a kernel grows with ``1 - mean k``, the variance that its features have, so
    that all kernels end up with like errors.

    Parameters
    ----------
    sample
        Some scaled rows: they tell which Gaussians are diagonal, and the shares.
    """
    rows = np.asarray(sample[:_JUDGED], dtype=np.float64)
    apart = ~np.eye(len(rows), dtype=bool)
    shares, random = [], []
    for kernel, width, K in zip(bank.kernels, bank.widths, bank.each(rows, rows), strict=True):
        values = K[apart] if len(rows) > 1 else np.ones(1)
        exact = isinstance(kernel, Linear) or (
            isinstance(kernel, Polynomial) and _terms(width, kernel.degree) <= n_components
        )
        noise = 1.0 / n_components
        narrow = isinstance(kernel, Gaussian) and float((values**2).mean()) < noise
        random.append(None if narrow else not exact)
        shares.append(1.0 - float(values.mean()) if random[-1] else 0.0)
    total = sum(shares)
    parts: list[Part] = []
    for kernel, width, share, drawn in zip(bank.kernels, bank.widths, shares, random, strict=True):
        count = max(_LEAST_SHARE, round(n_components * share / total)) if drawn else 0
        parts.append(None if drawn is None else _draw(kernel, width, count, rng))
    return FeatureMap(bank, tuple(parts))


def _draw(kernel: Kernel, width: int, count: int, rng: np.random.Generator) -> Part:
    if count == 0:
        return ()
    if isinstance(kernel, Gaussian):
        frequencies = _orthogonal(width, -(-count // 2), rng) / kernel.sigma
        return (frequencies.astype(np.float32),)
    degree = kernel.degree if isinstance(kernel, Polynomial) else 1
    return tuple(_orthogonal(width + 1, count, rng).astype(np.float32) for _ in range(degree))


def _orthogonal(d: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw ``d x count`` normal columns that are orthogonal within each group of d.

    Same distribution of each column, smaller variance of the kernel than independent ones.
    """
    groups = []
    for _ in range(-(-count // d)):
        directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
        groups.append(directions * np.sqrt(rng.chisquare(d, d)))
    return np.concatenate(groups, axis=1)[:, :count]


def _terms(d: int, degree: int) -> int:
    return comb(d + degree, degree)


def _width(kernel: Kernel, part: Part, d: int) -> int:
    if part is None:
        return 0
    if isinstance(kernel, Gaussian):
        return 2 * part[0].shape[1]
    if isinstance(kernel, Linear):
        return d
    if not part:
        return _terms(d, kernel.degree)
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


def _numbered(arrays: Mapping[str, Features], prefix: str) -> Iterator[Features]:
    i = 0
    while f"{prefix}{i}" in arrays:
        yield arrays[f"{prefix}{i}"]
        i += 1
