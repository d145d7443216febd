"""Image pyramid: halving by means or maxima, and enlarging."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

Float = TypeVar("Float", bound=np.floating)
Number = TypeVar("Number", bound=np.number)

MAX_WORKING_PIXELS = 1 << 20
"""Of the working resolution; larger images are halved until they fit."""
_ROWS_AT_ONCE = 256
"""Of the image, so that halving stays within the processor's caches."""


def count_halvings(shape: tuple[int, ...], most_pixels: int | None = None) -> int:
    """Return the number of halvings to working resolution, or to so many pixels."""
    height, width = shape[:2]
    most = MAX_WORKING_PIXELS if most_pixels is None else most_pixels
    count = 0
    while height * width > most:
        height, width = (height + 1) // 2, (width + 1) // 2
        count += 1
    return count


def downsample(rgb: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """Halve an image ``count`` times by rounded means of blocks of 2 x 2.

    An odd last row or column is averaged with itself. A few rows at a time go through all
    halvings, so that no full copies are made on the way.
    """
    if not count:
        return rgb
    rows = max(_ROWS_AT_ONCE, 1 << count)
    strips = []
    for top in range(0, len(rgb), rows):
        strip = rgb[top : top + rows]
        for _ in range(count):
            sums = _block_sums(strip, np.dtype(np.uint16))
            sums += np.uint16(2)
            sums >>= np.uint16(2)
            strip = sums.astype(np.uint8)
        strips.append(strip)
    return np.concatenate(strips)


def halve(image: NDArray[Float]) -> NDArray[Float]:
    """Halve an image of real numbers by means of blocks of 2 x 2."""
    means: NDArray[Float] = _block_sums(image, image.dtype) / image.dtype.type(4)
    return means


def _block_sums(image: NDArray[Any], precision: np.dtype[Any]) -> NDArray[Any]:
    height, width = image.shape[:2]
    if height % 2 or width % 2:
        image = np.pad(image, [(0, height % 2), (0, width % 2), (0, 0)], mode="edge")
    total = image[::2].astype(precision)
    total += image[1::2]
    return np.asarray(total[:, ::2] + total[:, 1::2])


def block_max(values: NDArray[Number], times: int = 2) -> NDArray[Number]:
    """Return the maxima of blocks of ``times`` x ``times``, a power of two.

    >>> block_max(np.array([[1, 5, 2], [0, 3, 0], [4, 0, 7]])).tolist()
    [[5, 2], [4, 7]]
    """
    while times > 1:
        rows = values[::2].copy()
        np.maximum(rows[: len(values) // 2], values[1::2], out=rows[: len(values) // 2])
        values = rows[:, ::2].copy()
        odd = rows[:, 1::2]
        np.maximum(values[:, : odd.shape[1]], odd, out=values[:, : odd.shape[1]])
        times //= 2
    return values


def upsample(image: NDArray[Any], shape: tuple[int, int], times: int = 2) -> NDArray[Any]:
    """Repeat each pixel as a block, cut to the shape of the larger level."""
    if times == 1:
        return image
    return image.repeat(times, axis=0)[: shape[0]].repeat(times, axis=1)[:, : shape[1]]
