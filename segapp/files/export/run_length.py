"""Masks as COCO's run lengths: down the columns, first the zeros, then the ones, in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def run_lengths(mask: NDArray[np.bool_]) -> list[int]:
    """Count the runs of equal pixels in column order; the first count is of zeros, maybe 0.

    >>> run_lengths(np.array([[False, True], [True, True]]))
    [1, 3]
    >>> run_lengths(np.ones((2, 2), bool))
    [0, 4]
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(np.diff(flat)) + 1
    counts: list[int] = np.diff(np.concatenate(([0], changes, [flat.size]))).tolist()
    return [0, *counts] if flat.size and flat[0] else counts


def compressed(counts: Sequence[int]) -> str:
    """Write run lengths as COCO's text.

    From the fourth count on, the difference to the count two places before is written, five
    bits a character, lowest first; bit 6 says that more follow, and 48 makes it printable.
    """
    text = bytearray()
    for place, count in enumerate(counts):
        rest = count - counts[place - 2] if place > 2 else count
        while True:
            bits = rest & 0x1F
            rest >>= 5
            done = rest == (-1 if bits & 0x10 else 0)
            text.append((bits if done else bits | 0x20) + 48)
            if done:
                break
    return text.decode("ascii")
