"""A picture at halved sizes, and strokes and labels carried between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

LARGEST_WORKING_SIZE = 1 << 20
"""Pixels of the size at which is learnt; larger pictures are halved until they fit."""


def halvings(rgb: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], ...]:
    """Return the picture and its halvings, down to the first that is small enough."""
    levels = [rgb]
    while levels[-1].shape[0] * levels[-1].shape[1] > LARGEST_WORKING_SIZE:
        levels.append(_halved(levels[-1]))
    return tuple(levels)


def _halved(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Average blocks of 2 x 2; an odd last row or column is repeated."""
    corners = _corners(rgb)
    total = corners[0].astype(np.uint16)
    for corner in corners[1:]:
        total += corner
    return ((total + 2) // 4).astype(np.uint8)


def halved_marks(marked: NDArray[np.int16]) -> NDArray[np.int16]:
    """Mark a block where any of its pixels is marked, with the highest class among them."""
    corners = _corners(marked)
    return np.asarray(np.maximum.reduce(corners))


def repeated(image: NDArray[Any], shape: tuple[int, int], times: int = 2) -> NDArray[Any]:
    """Repeat each pixel as a block, cut to the shape of the larger level."""
    if times == 1:
        return image
    return image.repeat(times, axis=0)[: shape[0]].repeat(times, axis=1)[:, : shape[1]]


def _corners(image: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    height, width = image.shape[:2]
    odd = [(0, height % 2), (0, width % 2)] + [(0, 0)] * (image.ndim - 2)
    if height % 2 or width % 2:
        image = np.pad(image, odd, mode="edge")
    return image[::2, ::2], image[1::2, ::2], image[::2, 1::2], image[1::2, 1::2]
