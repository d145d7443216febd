"""Percentiles of a large array, exactly, without a sorted or floating-point copy of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.files.row_strips import row_strips

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_DIGIT = 16  # bits that are counted at a time


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The asked values, the least and the largest, and how many are no finite numbers."""

    values: tuple[float, ...]
    least: float
    largest: float
    not_finite: int


def percentiles(values: NDArray[np.generic], shares: Sequence[float]) -> Percentiles | None:
    """Return percentiles as `numpy.percentile` does; ``None`` when no value is finite.

    The numbers are looked at as unsigned integers of the same order and counted by their upper
    bits, then by the next ones within the bin that is meant: a handful of passes, each of which
    holds one strip.
    """
    first = _counts(values, 0, 0)
    total = int(first.sum())
    if not total:
        return None
    places = [share / 100 * (total - 1) for share in shares]
    ranks = {0, total - 1} | {int(place) for place in places}
    ranks |= {min(int(place) + 1, total - 1) for place in places}
    at = {rank: _ranked(values, rank, first) for rank in sorted(ranks)}
    found = tuple(
        _between(at[int(place)], at[min(int(place) + 1, total - 1)], place % 1) for place in places
    )
    return Percentiles(found, at[0], at[total - 1], int(values.size) - total)


def _between(low: float, high: float, share: float) -> float:
    """Go a share of the way as numpy does it, so that both ends are exact."""
    step = high - low
    if step == np.inf:
        return low * (1 - share) + high * share
    return high - step * (1 - share) if share >= 0.5 else low + step * share


def _ranked(values: NDArray[np.generic], rank: int, first: NDArray[np.int64]) -> float:
    """Return the value that has ``rank`` smaller or equal ones before it."""
    bits = 8 * values.dtype.itemsize
    prefix, known, counts = 0, 0, first
    while True:
        below = np.cumsum(counts)
        digit = int(np.searchsorted(below, rank, side="right"))
        rank -= int(below[digit - 1]) if digit else 0
        width = min(_DIGIT, bits - known)
        prefix = (prefix << width) | digit
        known += width
        if known == bits:
            return _number(prefix, values.dtype)
        counts = _counts(values, prefix, known)


def _counts(values: NDArray[np.generic], prefix: int, known: int) -> NDArray[np.int64]:
    """Count the next bits of the values whose first ``known`` bits are ``prefix``."""
    bits = 8 * values.dtype.itemsize
    width = min(_DIGIT, bits - known)
    counts = np.zeros(1 << width, np.int64)
    for keys in _ordered(values):
        chosen = keys[keys >> (bits - known) == prefix] if known else keys
        digits = (chosen >> (bits - known - width)) & ((1 << width) - 1)
        counts += np.bincount(digits.astype(np.intp), minlength=1 << width)
    return counts


def _ordered(values: NDArray[np.generic]) -> Iterator[NDArray[Any]]:
    """Yield the finite values, strip by strip, as unsigned integers of the same order."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    unsigned = np.dtype(f"u{size}")
    top = unsigned.type(1 << (8 * size - 1))
    for rows in row_strips(values.shape):
        strip = np.ascontiguousarray(values[rows], dtype=values.dtype.newbyteorder("=")).ravel()
        if kind == "u":
            yield strip
        elif kind == "i":
            yield strip.view(unsigned) ^ top
        else:
            keys = strip[np.isfinite(strip)].view(unsigned)
            yield np.where(keys & top, ~keys, keys | top)


def _number(key: int, dtype: np.dtype[Any]) -> float:
    """Return the number that an integer of the same order stands for."""
    size = dtype.itemsize
    top = 1 << (8 * size - 1)
    if dtype.kind == "u":
        return float(key)
    if dtype.kind == "i":
        return float(key - top)
    bits = key ^ top if key & top else ~key & (2 * top - 1)
    return float(np.array([bits], f"u{size}").view(f"f{size}")[0])
