"""Connected components of classes and their measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.model.validation import SegappError

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
            raise SegappError(f"pixel: wanted a positive length, got {self.pixel}")


PIXELS = Scale()


@dataclass(frozen=True, slots=True)
class MeasuredRegion:
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
class MeasuredRegions:
    """All parts of a labelling.

    ``index_map`` holds a part's place in ``parts``, -1 for none; means are of ``n_channels``.
    """

    parts: tuple[MeasuredRegion, ...]
    index_map: NDArray[np.int32]
    n_channels: int

    def at(self, x: int, y: int) -> MeasuredRegion | None:
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
    ) -> MeasuredRegions:
        """Find and measure the parts of some classes; pixels that touch at a corner are joined.

        Parameters
        ----------
        channels
            ``H x W`` or ``H x W x C``: what the means are of.
        split
            Whether parts that only touch are told apart, at their narrow necks.
        """
        index_map = np.full(labels.shape, -1, np.int32)
        found: list[MeasuredRegion] = []
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


MAX_EDGE_WIDTH = 200.0


@dataclass(frozen=True, slots=True)
class ExportChoices:
    """The same for all formats; each takes what concerns it.

    Parameters
    ----------
    edge
        Pixels on either side of the outline in which cut-outs are softened: 0 is hard, and
        ``None`` what suits the picture's size.
    scale
        Of measures.
    split
        Whether measures count parts that touch as several.
    only
        Name of the class that masks and cut-outs are of; ``None`` is all but the background.
    """

    edge: float | None = None
    scale: Scale = PIXELS
    split: bool = False
    only: str | None = None

    def __post_init__(self) -> None:
        if self.edge is not None and not 0 <= self.edge <= MAX_EDGE_WIDTH:
            raise SegappError(f"edge: wanted 0 to {MAX_EDGE_WIDTH:.0f} pixels, got {self.edge}")


DEFAULT_EXPORT = ExportChoices()


class AnnotationScope(Enum):
    """What one annotation is of."""

    PART = "part"
    CLASS = "class"


@dataclass(frozen=True, slots=True, eq=False)
class ClassRegion:
    """Some pixels of one class: their mask within a box of the picture.

    ``left`` and ``top`` say where the box is; the mask touches all four of its sides.
    """

    label: int
    left: int
    top: int
    mask: NDArray[np.bool_]

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> list[int]:
        """Left, top, width and height, as COCO has it."""
        height, width = self.mask.shape
        return [self.left, self.top, width, height]

    def whole(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Return the mask at the picture's size."""
        full = np.zeros(size, bool)
        height, width = self.mask.shape
        full[self.top : self.top + height, self.left : self.left + width] = self.mask
        return full


def parts_of(labels: NDArray[np.uint8], label: int, per: AnnotationScope) -> Iterator[ClassRegion]:
    """Yield a class's 4-connected parts in reading order, or all of it as one."""
    mask = labels == label
    if per is AnnotationScope.CLASS:
        numbered, count = mask.astype(np.int8), 1
    else:
        numbered, count = scipy.ndimage.label(mask)
    boxes = scipy.ndimage.find_objects(numbered, max_label=count)
    for number, box in enumerate(boxes, start=1):
        if box is not None:
            rows, columns = box
            yield ClassRegion(label, columns.start, rows.start, numbered[box] == number)
