"""How strongly neighbouring pixels hold together: less across an edge of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.picture.neighbours import ACROSS, AROUND, DOWN, LENGTHS, PAIRS, STEPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.neighbours import Box

    Bonds = tuple[NDArray[np.float32], ...]
    """What it costs to part the pixels of each kind of pair in `PAIRS`, at most its length."""


def bonds_of(image: NDArray[np.float32]) -> Bonds:
    """Return the bonds of each kind of pair: ``exp(-difference^2 / (2 mean difference^2))``.

    The mean is that of neighbours in a row or column. ``image`` has any number of channels: `lab`,
    or what an instrument has measured.
    """
    planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
    squared = [_squared_differences(planes, pair) for pair in PAIRS]
    straight = [squared[PAIRS.index(pair)] for pair in (ACROSS, DOWN)]
    count = sum(part.size for part in straight)
    mean = sum(float(part.sum()) for part in straight) / max(count, 1)
    # A picture of one colour has no edges at all, whatever the sharpness.
    sharpness = 0.5 / mean if mean > 0 else 0.0
    return tuple(
        np.float32(length) * np.exp(-sharpness * part)
        for part, length in zip(squared, LENGTHS, strict=True)
    )


def pixel_by_pixel(bonds: Bonds) -> NDArray[np.float32]:
    """Return the bonds of each pixel with those `AROUND` it, ``pixels x 9``.

    That with itself, and with what would be beyond the image, is 0.
    """
    height, width = bonds[0].shape[0], bonds[1].shape[1]
    table = np.zeros((height, width, len(AROUND)), dtype=np.float32)
    for (here, there), (down, right), bond in zip(PAIRS, STEPS, bonds, strict=True):
        table[here][..., AROUND.index((down, right))] = bond
        table[there][..., AROUND.index((-down, -right))] = bond
    return table.reshape(height * width, len(AROUND))


def _squared_differences(
    planes: NDArray[np.float32], pair: tuple[Box, Box]
) -> NDArray[np.float32]:
    here, there = pair
    total: NDArray[np.float32] = np.zeros_like(planes[0][here])
    for plane in planes:
        difference = plane[here] - plane[there]
        total += np.square(difference, out=difference)
    return total
