"""The connected parts of each class, and what can be measured of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_EIGHT = np.ones((3, 3), bool)

_LEAST_DEPTH = 0.75
"""How many pixels narrower than both sides a neck must be for a part to be two that touch."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a pixel is.

    Parameters
    ----------
    pixel
        Length of its side.
    unit
        What that is counted in, "px" or "µm" for instance.
    """

    pixel: float = 1.0
    unit: str = "px"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pixel) and self.pixel > 0):
            raise ValueError(f"pixel: wanted a positive length, got {self.pixel}")


PIXELS = Scale()


@dataclass(frozen=True, slots=True)
class Part:
    """One connected part of a class; lengths and areas in pixels.

    Parameters
    ----------
    number
        From 1, in reading order within its class.
    centroid
        ``(x, y)`` where the centre of the top left pixel is ``(0.5, 0.5)``, as for strokes.
    box
        Left, top, width and height.
    perimeter
        Of the outline, corners smoothed as `skimage.measure.perimeter` does.
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
class Parts:
    """All parts of a labelling.

    ``index_map`` holds a part's place in ``parts``, -1 for none; means are of ``n_channels``.
    """

    parts: tuple[Part, ...]
    index_map: NDArray[np.int32]
    n_channels: int

    def at(self, x: int, y: int) -> Part | None:
        """Return the part that a pixel belongs to."""
        index = int(self.index_map[y, x])
        return self.parts[index] if index >= 0 else None

    @classmethod
    def of(
        cls,
        labels: NDArray[np.uint8],
        channels: NDArray[np.generic],
        classes: Sequence[int],
        *,
        split: bool = False,
    ) -> Parts:
        """Find and measure the parts of some classes; pixels that touch at a corner are joined.

        Parameters
        ----------
        channels
            ``H x W`` or ``H x W x C``: what the means are of.
        split
            Whether parts that only touch are told apart, at their narrow necks.
        """
        index_map = np.full(labels.shape, -1, np.int32)
        found: list[Part] = []
        for number in classes:
            numbered = scipy.ndimage.label(labels == number, structure=_EIGHT)[0]
            if split:
                numbered = _split(numbered)
            parts = list(_measured(numbered, channels, number))
            inside = numbered > 0
            index_map[inside] = numbered[inside] + (len(found) - 1)
            found += parts
        index_map.flags.writeable = False
        n_channels = 1 if channels.ndim == 2 else channels.shape[2]
        return cls(tuple(found), index_map, n_channels)


def _measured(
    numbered: NDArray[np.int32], channels: NDArray[np.generic], class_index: int
) -> Iterator[Part]:
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
        yield Part(
            class_index,
            int(table["label"][row]),
            int(table["area"][row]),
            (float(table["centroid-1"][row]) + 0.5, float(table["centroid-0"][row]) + 0.5),
            (left, top, right - left, bottom - top),
            float(table["perimeter"][row]),
            tuple(float(table[name][row]) for name in means),
        )


def _split(numbered: NDArray[np.int32]) -> NDArray[np.int32]:
    """Tell touching parts apart: a watershed of the distance to the outline.

    A peak counts as a part of its own when the way to any higher one leads through a neck that
    is narrower by more than the raggedness of pixels.
    """
    from skimage.morphology import h_maxima
    from skimage.segmentation import relabel_sequential, watershed

    inside = numbered > 0
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]
    peaks = scipy.ndimage.label(h_maxima(depth, _LEAST_DEPTH), structure=_EIGHT)[0]
    divided = watershed(-depth, peaks, mask=inside, connectivity=_EIGHT)
    # A part without a peak of its own, a single pixel for instance, stays what it was.
    lost = inside & (divided == 0)
    divided[lost] = numbered[lost] + divided.max()
    return _in_reading_order(relabel_sequential(divided)[0])


def _in_reading_order(numbered: NDArray[np.int32]) -> NDArray[np.int32]:
    values, first = np.unique(numbered, return_index=True)
    order = np.zeros(int(values.max()) + 1, np.int32)
    present = values > 0
    order[values[present][np.argsort(first[present])]] = np.arange(1, present.sum() + 1)
    return order[numbered]
