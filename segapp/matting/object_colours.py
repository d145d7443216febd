"""The object's own colours where the picture shows a mixture of it and what lies behind.

Blur fusion (Forte, 2021): colours of either side, averaged around a pixel with alpha as the
weight, and then moved just so far that the mixture is the colour seen. Far and near in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.matting.wide_means import WideMeans

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REACHES = (45, 3)
"""Pixels around a pixel that its colours come from, first and then again."""

FARTHEST_COLOUR = sum(_REACHES)
"""How far away a pixel can lie that has a say."""


def object_colours(rgb: NDArray[np.float32], alpha: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the colours, from 0 to 1, that the object alone would have; all arrays ``H x W``."""
    front, back = rgb, rgb
    weight = alpha[:, :, np.newaxis]
    for reach in _REACHES:
        means = WideMeans(alpha.shape, reach)
        near_front = _averaged(front, weight, means)
        near_back = _averaged(back, 1 - weight, means)
        missing = rgb - near_back
        missing -= weight * (near_front - near_back)
        front = np.clip(near_front + weight * missing, 0, 1)
        back = np.clip(near_back + (1 - weight) * missing, 0, 1)
    return front


def _averaged(
    colours: NDArray[np.float32], weight: NDArray[np.float32], means: WideMeans
) -> NDArray[np.float32]:
    weighted = np.concatenate([colours * weight, weight], axis=2)
    found = means.fine(means.coarse(weighted))
    return np.asarray(found[:, :, :3] / np.maximum(found[:, :, 3:], np.float32(1e-5)))
