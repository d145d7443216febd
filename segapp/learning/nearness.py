"""How near a region is to the strokes of each class, going through regions of like colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics


def nearness(geodesics: Geodesics, sources: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Share of each class in the nearness of a region to all strokes, regions x classes.

    The nearness to a class is one over the distance to the nearest region that is labelled so;
    ``sources`` holds these regions for each class. Each row sums to 1: at a stroke of a class
    that class has all of it.
    """
    distances = np.stack([geodesics.distances(regions) for regions in sources], axis=1)
    closeness = 1.0 / np.maximum(distances, 1e-9)
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))
