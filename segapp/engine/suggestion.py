"""Suggestions for the next stroke or setting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from segapp.model.document import Patch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.model.document import Document, Mark
    from segapp.model.labelling import Labelling


_SAMPLES = 192  # along the longer side: enough for regions
_REACH = 0.04  # radius of a region, as a share of the longer side
_LEAST_DOUBT = 0.15  # mean uncertainty of a region below which none is suggested


class Spot(NamedTuple):
    """A round region, in image pixels."""

    x: float
    y: float
    radius: float


def least_certain(labelling: Labelling) -> Spot | None:
    """Return the disc with the smallest mean margin, ``None`` when all are certain.

    A thin line of uncertain pixels runs along every edge, however good the answer is; the mean
    over a disc prefers wide regions to thin ones. Pixels under a stroke are certain.
    """
    from scipy import ndimage  # loaded with the first answer; a window opens without it

    height, width = labelling.labels.shape
    step = max(1, math.ceil(max(height, width) / _SAMPLES))
    margin = labelling.margins[step // 2 :: step, step // 2 :: step].astype(np.float64)
    if margin.size == 0 or not margin.any():
        return None
    # Pixels under strokes have the maximum, which may be far above the rest.
    sure = float(np.percentile(margin, 90)) or float(margin.max())
    doubt = 1.0 - np.minimum(margin / sure, 1.0)
    reach = _REACH * max(height, width)
    blurred = ndimage.gaussian_filter(doubt, reach / step / 2, mode="constant")
    row, column = np.unravel_index(np.argmax(blurred), blurred.shape)
    if blurred[row, column] < _LEAST_DOUBT:
        return None
    centre = step // 2 + 0.5
    return Spot(float(column * step + centre), float(row * step + centre), reach)


_MANY = 3
"""Least number of marks of a class, each on an object of its own."""
_SMALL = 0.002
"""Largest area of a mark, and of the component under it, as a share of the image."""
_TOO_LATE = 200
"""Marks after which nothing is suggested: all of them would be searched after each."""
_MAX_MARK_SIDE = 1500
"""Pixels of the longer side at which components are labelled: enough for the smallest mark."""


def suggests_many_objects(document: Document, labels: NDArray[np.uint8]) -> bool:
    """Return whether a class has many small marks on as many small components.

    Small marks on one large object lie on one component, and mean that object.
    """
    height, width = labels.shape
    if len(document.strokes) > _TOO_LATE:
        return False
    for index in range(len(document.classes)):
        own = [mark for mark in document.strokes if mark.label == index]
        if index == document.background or len(own) < _MANY:
            continue
        if max(map(_area, own)) > _SMALL * height * width:
            continue
        step = -(-max(height, width) // _MAX_MARK_SIDE)
        numbered, _ = scipy.ndimage.label(labels[::step, ::step] == index)
        marked = {_component_under(numbered, mark, step) for mark in own} - {0}
        sizes = np.bincount(numbered.ravel())
        small = [number for number in marked if sizes[number] <= _SMALL * numbered.size]
        if len(small) >= _MANY:
            return True
    return False


def _area(mark: Mark) -> float:
    """Return the approximate number of pixels of a mark."""
    if isinstance(mark, Patch):
        return float(mark.width * mark.height)
    pairs = zip(mark.points, mark.points[1:], strict=False)
    length = sum(math.dist(one, other) for one, other in pairs)
    return math.pi * mark.radius**2 + 2 * mark.radius * length


def _component_under(numbered: NDArray[np.int32], mark: Mark, step: int) -> int:
    """Return the component at a mark's first point, 0 where there is none."""
    x, y = (mark.left, mark.top) if isinstance(mark, Patch) else mark.points[0]
    row, column = int(y) // step, int(x) // step
    inside = 0 <= row < numbered.shape[0] and 0 <= column < numbered.shape[1]
    return int(numbered[row, column]) if inside else 0
