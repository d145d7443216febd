"""Where a further stroke would teach the most: the least certain region of an answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from segapp.values.labelling import Labelling

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
