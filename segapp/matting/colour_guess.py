"""How much of the object is in a pixel outside of the mask, by its colour.

A mask mostly ends where hair begins. A pixel beyond it whose colour lies between those of the
object and of the background nearby is a mixture; how far on the way it lies says how much of the
object is in it. That is believed as far as the two colours are farther apart than either varies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import uniform_filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DOUBT = 32.0
"""Weight of colours that vary. Lower ones show more hair where a mask has cut it off, higher ones
less of what only looks like the object: tests/benchmarks/MATTING.md."""
_LEAST = 0.02
"""Squared distance of two colours, from 0 to 1 each channel, that says half of what it can."""
_FEWEST = 1e-4
"""Part of the pixels around that have to be sure for their colours to count."""
REACH = 2.0
"""Widths of the band around a pixel in which colours are sure enough to be compared with."""


@dataclass(frozen=True, slots=True, eq=False)
class _Colours:
    """Mean and variance of the colours around each pixel, and whether there are any."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def around(cls, rgb: NDArray[np.float64], sure: NDArray[np.bool_], radius: int) -> _Colours:
        size = 2 * radius + 1
        weight = sure.astype(np.float64)
        share = np.asarray(uniform_filter(weight, size, mode="nearest"))
        total = np.maximum(share, 1e-6)[:, :, np.newaxis]
        window, picked = (size, size, 1), rgb * weight[:, :, np.newaxis]
        mean = np.asarray(uniform_filter(picked, window, mode="nearest")) / total
        squares = np.asarray(uniform_filter(picked * rgb, window, mode="nearest")) / total
        return cls(mean, np.maximum(squares - mean**2, 0.0), share > _FEWEST)


def with_colour_guess(
    rgb: NDArray[np.float64],
    guess: NDArray[np.float64],
    depth: NDArray[np.float64],
    width: float,
) -> NDArray[np.float64]:
    """Return a guess at alpha in which pixels outside of the mask are judged by colour, too.

    ``depth`` is above 0 inside the mask; farther than ``width`` from the outline it is sure.
    """
    radius = int(np.ceil(REACH * width))
    front = _Colours.around(rgb, depth > width, radius)
    back = _Colours.around(rgb, depth < -width, radius)
    way = front.mean - back.mean
    apart = (way**2).sum(axis=2)
    share = ((rgb - back.mean) * way).sum(axis=2) / np.maximum(apart, 1e-6)
    # How much the colours vary along the way from the one to the other.
    varied = ((front.variance + back.variance) * way**2).sum(axis=2) / np.maximum(apart, 1e-6)
    trust = apart / (apart + _DOUBT * varied + _LEAST)
    trust[~(front.known & back.known) | (depth >= 0)] = 0.0
    return np.asarray(guess + trust * (np.clip(share, 0.0, 1.0) - guess))
