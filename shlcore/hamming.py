"""Packed binary codes and Hamming distances between them.

A code of B bits is a row of ``ceil(B / 8)`` bytes in `numpy.packbits` order; the padding
bits are zero, so they never count in a distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from shlcore.array_types import Indices


def pack(bits: ArrayLike) -> NDArray[np.uint8]:
    """Pack an ``n x B`` array of 0/1 into ``n x ceil(B / 8)`` bytes."""
    array = np.asarray(bits)
    if array.ndim != 2:
        raise ValueError(f"bits: wanted an array of 2 dimensions, got {array.ndim}")
    if array.size and not np.isin(array, (0, 1)).all():
        raise ValueError("bits: wanted nothing but 0 and 1, got other values")
    return np.packbits(array.astype(np.uint8), axis=1)


def unpack(packed: ArrayLike, n_bits: int) -> NDArray[np.uint8]:
    """Undo `pack`; ``n_bits`` is needed because the last byte may be padded."""
    array = np.asarray(packed, dtype=np.uint8)
    if array.ndim != 2 or array.shape[1] != (n_bits + 7) // 8:
        raise ValueError(
            f"packed: wanted n x {(n_bits + 7) // 8} bytes for {n_bits} bits, got {array.shape}"
        )
    return np.unpackbits(array, axis=1, count=n_bits)


def words(packed: ArrayLike) -> NDArray[np.uint64]:
    """View packed codes as 64-bit words, padded with zero bytes to a multiple of 8."""
    array = np.ascontiguousarray(packed, dtype=np.uint8)
    if array.ndim != 2:
        raise ValueError(f"packed: wanted an array of 2 dimensions, got {array.ndim}")
    missing = -array.shape[1] % 8
    if missing:
        array = np.pad(array, ((0, 0), (0, missing)))
    return array.view(np.uint64)


def distances(a: ArrayLike, b: ArrayLike) -> NDArray[np.uint16]:
    """Return the Hamming distances between all rows of two arrays of packed codes.

    The codes are compared one 64-bit word at a time, so that the largest temporary array is
    ``n x m`` for any number of bits.
    """
    left, right = words(a), words(b)
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"a, b: wanted codes of one width, got {np.shape(a)} and {np.shape(b)}")
    total = np.zeros((len(left), len(right)), dtype=np.uint16)
    for column in range(left.shape[1]):
        total += np.bitwise_count(left[:, column, None] ^ right[None, :, column])
    return total


def nearest(codes: ArrayLike, codewords: ArrayLike) -> Indices:
    """Return the index of the nearest codeword of each code, the first on a tie."""
    return np.asarray(distances(codes, codewords).argmin(axis=1))
