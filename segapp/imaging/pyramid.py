"""Image pyramid: halving, averaging and row strips."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray


Float = TypeVar("Float", bound=np.floating)

MAX_WORKING_PIXELS = 1 << 20
"""Pixels of the size at which is learnt; larger pictures are halved until they fit."""
_ROWS_AT_ONCE = 256
"""Of the picture, in which halving stays within the processor's caches."""


def count_halvings(shape: tuple[int, ...]) -> int:
    """Return how often a picture of some height and width has to be halved."""
    height, width = shape[:2]
    count = 0
    while height * width > MAX_WORKING_PIXELS:
        height, width = (height + 1) // 2, (width + 1) // 2
        count += 1
    return count


def downsample(rgb: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """Halve a picture so often: each time, blocks of 2 x 2 are averaged and rounded.

    An odd last row or column is averaged with itself. Rows go all the way a few at a time, so
    that nothing of the picture's size is made on the way.
    """
    if not count:
        return rgb
    rows = max(_ROWS_AT_ONCE, 1 << count)
    strips = []
    for top in range(0, len(rgb), rows):
        strip = rgb[top : top + rows]
        for _ in range(count):
            strip = _halved(strip)
        strips.append(strip)
    return np.concatenate(strips)


def halve(image: NDArray[Float]) -> NDArray[Float]:
    """Halve an image of any numbers: the means of blocks of 2 x 2, as in `downsample`."""
    means: NDArray[Float] = _block_sums(image, image.dtype) / image.dtype.type(4)
    return means


def _halved(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    sums = _block_sums(rgb, np.dtype(np.uint16))
    sums += np.uint16(2)
    sums >>= np.uint16(2)
    return sums.astype(np.uint8)


def _block_sums(image: NDArray[Any], precision: np.dtype[Any]) -> NDArray[Any]:
    height, width = image.shape[:2]
    if height % 2 or width % 2:
        image = np.pad(image, [(0, height % 2), (0, width % 2), (0, 0)], mode="edge")
    total = image[::2].astype(precision)
    total += image[1::2]
    return np.asarray(total[:, ::2] + total[:, 1::2])


def upsample(image: NDArray[Any], shape: tuple[int, int], times: int = 2) -> NDArray[Any]:
    """Repeat each pixel as a block, cut to the shape of the larger level."""
    if times == 1:
        return image
    return image.repeat(times, axis=0)[: shape[0]].repeat(times, axis=1)[:, : shape[1]]


_VALUES = 1 << 19


def row_strips(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of the first axis that hold about half a million values each."""
    per_row = 1
    for length in shape[1:]:
        per_row *= length
    height = max(1, _VALUES // max(per_row, 1))
    for top in range(0, shape[0], height):
        yield slice(top, min(top + height, shape[0]))
