"""Connected components of classes and their measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a pixel.

    Parameters
    ----------
    pixel
        Length of its side.
    unit
        Of that length, "px" or "µm" for instance.
    """

    pixel: float = 1.0
    unit: str = "px"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pixel) and self.pixel > 0):
            raise SegappError(f"pixel: wanted a positive length, got {self.pixel}")


PIXELS = Scale()


@dataclass(frozen=True, slots=True)
class MeasuredRegion:
    """The measures of one connected component of a class, in pixels.

    Parameters
    ----------
    number
        From 1, in reading order within its class.
    centroid
        ``(x, y)`` where the centre of the top left pixel is ``(0.5, 0.5)``, as for strokes.
    box
        Left, top, width and height.
    perimeter
        Of the contour, corners smoothed as `skimage.measure.perimeter` does.
    means
        Mean value of each channel.
    """

    label: int
    number: int
    area: int
    centroid: tuple[float, float]
    box: tuple[int, int, int, int]
    perimeter: float
    means: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRegions:
    """The measured components of a labelling.

    ``index_map`` holds the index into ``regions`` of each pixel, -1 for none; means are of
    ``n_channels``.
    """

    regions: tuple[MeasuredRegion, ...]
    index_map: NDArray[np.int32]
    n_channels: int

    def at(self, x: int, y: int) -> MeasuredRegion | None:
        """Return the region that a pixel belongs to."""
        index = int(self.index_map[y, x])
        return self.regions[index] if index >= 0 else None

    @classmethod
    def measure(
        cls,
        labels: NDArray[np.uint8],
        channels: NDArray[np.generic],
        classes: Sequence[int],
        *,
        split: bool = False,
    ) -> MeasuredRegions:
        """Measure the components of some classes.

        Parameters
        ----------
        channels
            ``H x W`` or ``H x W x C``, to be averaged.
        split
            Whether components are split at their narrow necks, into regions that only touch.
        """
        index_map = np.full(labels.shape, -1, np.int32)
        found: list[MeasuredRegion] = []
        for number in classes:
            numbered, _ = label_components(labels == number)
            if split:
                numbered = split_at_necks(numbered)
            inside = numbered > 0
            index_map[inside] = numbered[inside] + (len(found) - 1)
            found += _measured(numbered, channels, number)
        index_map.flags.writeable = False
        n_channels = 1 if channels.ndim == 2 else channels.shape[2]
        return cls(tuple(found), index_map, n_channels)


def _measured(
    numbered: NDArray[np.int32], channels: NDArray[np.generic], class_index: int
) -> Iterator[MeasuredRegion]:
    from skimage.measure import regionprops_table

    if not numbered.any():
        return
    table = regionprops_table(
        numbered,
        channels,
        properties=("label", "area", "centroid", "bbox", "perimeter", "intensity_mean"),
    )
    means = [name for name in table if name.startswith("intensity_mean")]
    for row in range(len(table["label"])):
        top, left, bottom, right = (int(table[f"bbox-{k}"][row]) for k in range(4))
        yield MeasuredRegion(
            class_index,
            int(table["label"][row]),
            int(table["area"][row]),
            (float(table["centroid-1"][row]) + 0.5, float(table["centroid-0"][row]) + 0.5),
            (left, top, right - left, bottom - top),
            float(table["perimeter"][row]),
            tuple(float(table[name][row]) for name in means),
        )


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
