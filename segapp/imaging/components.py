"""Connected components of masks, and their division at narrow necks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray


_EIGHT = np.ones((3, 3), bool)
_MIN_NECK_DEPTH = 0.75
"""Pixels by which a neck must be narrower than both sides of it for a region to be split there."""


def label_components(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    """Label the connected components of a mask, in reading order, and count them.

    A pixel has eight neighbours here, and so in measures, in exports and for the window's tools.

    >>> label_components(np.eye(2, dtype=bool))[1]
    1
    """
    numbered, count = scipy.ndimage.label(mask, structure=_EIGHT)
    return numbered, int(count)


def component_at(labels: NDArray[np.uint8], x: int, y: int) -> NDArray[np.bool_]:
    """Return the mask of the connected component under a pixel, whatever its class."""
    numbered, _ = label_components(labels == labels[y, x])
    return np.asarray(numbered == numbered[y, x])


def split_at_necks(numbered: NDArray[np.int32]) -> NDArray[np.int32]:
    """Split regions at narrow necks, by a watershed of the distance to the contour.

    A peak counts as a region of its own when the way to any higher one leads through a neck that
    is narrower by more than the raggedness of pixels.
    """
    from skimage.morphology import h_maxima
    from skimage.segmentation import relabel_sequential, watershed

    inside = numbered > 0
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]
    peaks, _ = label_components(h_maxima(depth, _MIN_NECK_DEPTH))
    divided = watershed(-depth, peaks, mask=inside, connectivity=_EIGHT)
    # A component without a peak, a single pixel for instance, stays as it was.
    lost = inside & (divided == 0)
    divided[lost] = numbered[lost] + divided.max()
    return in_reading_order(relabel_sequential(divided)[0])


def in_reading_order(numbered: NDArray[np.int32]) -> NDArray[np.int32]:
    """Renumber regions without gaps by their first pixels."""
    values, first = np.unique(numbered, return_index=True)
    order = np.zeros(int(values.max()) + 1, np.int32)
    present = values > 0
    order[values[present][np.argsort(first[present])]] = np.arange(1, present.sum() + 1)
    return order[numbered]
