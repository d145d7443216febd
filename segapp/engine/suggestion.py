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


_SIDE = 192  # samples along the longer side: a region is sought, not a pixel
_REACH = 0.04  # radius of a region, as a part of the longer side
_WORTH_ASKING = 0.15  # mean doubt below which there is nothing to ask


class Spot(NamedTuple):
    """A round region, in image pixels."""

    x: float
    y: float
    radius: float


def least_certain(labelling: Labelling) -> Spot | None:
    """Return the region where the margin is smallest on average, None when all is certain.

    A thin line of doubt runs along every edge, however good the answer is; the mean over a
    disc makes broad doubt win over long doubt. Pixels under a stroke are certain.
    """
    from scipy import ndimage  # comes with the first answer; a window opens without it

    height, width = labelling.labels.shape
    step = max(1, math.ceil(max(height, width) / _SIDE))
    margin = labelling.margins[step // 2 :: step, step // 2 :: step].astype(np.float64)
    if margin.size == 0 or not margin.any():
        return None
    # Strokes hold the maximum, however far above the rest.
    sure = float(np.percentile(margin, 90)) or float(margin.max())
    doubt = 1.0 - np.minimum(margin / sure, 1.0)
    reach = _REACH * max(height, width)
    blurred = ndimage.gaussian_filter(doubt, reach / step / 2, mode="constant")
    row, column = np.unravel_index(np.argmax(blurred), blurred.shape)
    if blurred[row, column] < _WORTH_ASKING:
        return None
    centre = step // 2 + 0.5
    return Spot(float(column * step + centre), float(row * step + centre), reach)


_MANY = 3
"""Marks of a class, each on an object of its own."""

_SMALL = 0.002
"""Of the picture: what a mark, and what the part that it lies on, covers at the most."""

_MAX_MARK_SIDE = 1500
"""Pixels of the longer side at which parts are told apart: enough for the smallest mark."""


def suggests_many_objects(document: Document, labels: NDArray[np.uint8]) -> bool:
    """Tell whether a class has many small marks, on as many small parts of the answer.

    Small marks on one large object lie on one part, and mean that object.
    """
    height, width = labels.shape
    for index in range(len(document.classes)):
        own = [mark for mark in document.strokes if mark.label == index]
        if index == document.background or len(own) < _MANY:
            continue
        if max(map(_area, own)) > _SMALL * height * width:
            continue
        step = -(-max(height, width) // _MAX_MARK_SIDE)
        numbered, _ = scipy.ndimage.label(labels[::step, ::step] == index)
        found = {_part(numbered, mark, step) for mark in own} - {0}
        sizes = np.bincount(numbered.ravel())
        small = [part for part in found if sizes[part] <= _SMALL * numbered.size]
        if len(small) >= _MANY:
            return True
    return False


def _area(mark: Mark) -> float:
    """Return about how many pixels a mark covers."""
    if isinstance(mark, Patch):
        return float(mark.width * mark.height)
    pairs = zip(mark.points, mark.points[1:], strict=False)
    length = sum(math.dist(one, other) for one, other in pairs)
    return math.pi * mark.radius**2 + 2 * mark.radius * length


def _part(numbered: NDArray[np.int32], mark: Mark, step: int) -> int:
    """Return the part at a mark's beginning, 0 where there is none."""
    x, y = (mark.left, mark.top) if isinstance(mark, Patch) else mark.points[0]
    row, column = int(y) // step, int(x) // step
    inside = 0 <= row < numbered.shape[0] and 0 <= column < numbered.shape[1]
    return int(numbered[row, column]) if inside else 0
