"""The object's own colours where the picture shows a mixture of it and what lies behind.

Blur fusion (Forte, 2021): colours of either side, averaged around a pixel with alpha as the
weight, and then moved just so far that the mixture is the colour seen. Far and near in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import uniform_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REACHES = (45, 3)
"""Pixels around a pixel that its colours come from, first and then again."""

FARTHEST_COLOUR = sum(_REACHES)
"""How far away a pixel can lie that has a say."""


def object_colours(rgb: NDArray[np.float64], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the colours, from 0 to 1, that the object alone would have; all arrays ``H x W``."""
    front, back = rgb, rgb
    weight = alpha[:, :, np.newaxis]
    for reach in _REACHES:
        near_front = _averaged(front, weight, reach)
        near_back = _averaged(back, 1.0 - weight, reach)
        missing = rgb - weight * near_front - (1.0 - weight) * near_back
        front = np.clip(near_front + weight * missing, 0.0, 1.0)
        back = np.clip(near_back + (1.0 - weight) * missing, 0.0, 1.0)
    return front


def _averaged(
    colours: NDArray[np.float64], weight: NDArray[np.float64], reach: int
) -> NDArray[np.float64]:
    size = (2 * reach + 1, 2 * reach + 1, 1)
    total = uniform_filter(colours * weight, size, mode="nearest")
    share = uniform_filter(weight, size, mode="nearest")
    return np.asarray(total / np.maximum(share, 1e-5))
