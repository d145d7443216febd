"""Run-length encoding of masks as COCO defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def run_lengths(mask: NDArray[np.bool_]) -> list[int]:
    """Return the lengths of runs in column order; the first is of zeros, and may be 0.

    >>> run_lengths(np.array([[False, True], [True, True]]))
    [1, 3]
    >>> run_lengths(np.ones((2, 2), bool))
    [0, 4]
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(np.diff(flat)) + 1
    counts: list[int] = np.diff(np.concatenate(([0], changes, [flat.size]))).tolist()
    return [0, *counts] if flat.size and flat[0] else counts


def encode_counts(counts: Sequence[int]) -> str:
    """Encode run lengths as COCO's text.

    From the fourth count on, the difference to the count before the previous one is written, five
    bits a character, lowest first; bit 6 says that more follow, and 48 makes it printable.
    """
    text = bytearray()
    for index, count in enumerate(counts):
        rest = count - counts[index - 2] if index > 2 else count
        while True:
            bits = rest & 0x1F
            rest >>= 5
            done = rest == (-1 if bits & 0x10 else 0)
            text.append((bits if done else bits | 0x20) + 48)
            if done:
                break
    return text.decode("ascii")


def decode_counts(text: str) -> list[int]:
    """Decode run lengths from COCO's text, or raise `SegappError`.

    >>> decode_counts(encode_counts([3, 40, 1, 7000]))
    [3, 40, 1, 7000]
    """
    counts: list[int] = []
    value = shift = 0
    for letter in text:
        bits = ord(letter) - 48
        if not 0 <= bits < 64 or shift > 40:
            raise SegappError(f"counts: wanted COCO's run lengths, got {letter!r}")
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            if bits & 0x10:
                value -= 1 << shift
            counts.append(value + counts[-2] if len(counts) > 2 else value)
            value = shift = 0
    if shift:
        raise SegappError("counts: the run lengths end too early")
    return counts


def mask_from_runs(counts: Sequence[int], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the mask of run lengths, which must add up to its size.

    >>> mask_from_runs([1, 3], (2, 2)).astype(int)
    array([[0, 1],
           [1, 1]])
    """
    if any(count < 0 for count in counts) or sum(counts) != size[0] * size[1]:
        raise SegappError(f"counts: wanted {size[0] * size[1]} pixels, got {sum(counts)}")
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape(size, order="F")
