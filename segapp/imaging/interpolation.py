"""Interpolation of labels between two pages by signed distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from numpy.typing import NDArray


def signed_distance(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distance of each pixel to a mask's boundary, negative outside."""
    if mask.all() or not mask.any():
        return np.where(mask, 1.0, -1.0) * sum(mask.shape)
    inside = ndimage.distance_transform_edt(mask)
    outside = ndimage.distance_transform_edt(~mask)
    return np.asarray(np.where(mask, inside - 0.5, 0.5 - outside))


def interpolate_labels(
    first: NDArray[np.uint8], last: NDArray[np.uint8], share: float
) -> NDArray[np.uint8]:
    """Return labels between two pages, those of the last at a share of 1.

    Each pixel takes the class whose boundary it lies deepest in, by a mean of its distances on
    both pages.

    >>> first, last = np.ones((1, 9), np.uint8), np.ones((1, 9), np.uint8)
    >>> first[0, :3] = last[0, :7] = 0
    >>> interpolate_labels(first, last, 0.5)[0].tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1]
    """
    classes = np.union1d(first, last)
    depths = [
        (1 - share) * signed_distance(first == label) + share * signed_distance(last == label)
        for label in classes
    ]
    return np.asarray(classes[np.argmax(depths, axis=0)], np.uint8)
