"""Colours counted in bins: a histogram of three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = 32
"""Bins along each of the three channels."""


def colour_bins(rgb: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the bin of each pixel."""
    levels = rgb.astype(np.int32) * LEVELS // 256
    return (levels[..., 0] * LEVELS + levels[..., 1]) * LEVELS + levels[..., 2]
