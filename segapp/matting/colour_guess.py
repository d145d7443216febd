"""How much of the object is in a pixel outside of the mask, by its colour.

A mask mostly ends where hair begins. A pixel beyond it whose colour lies between those of the
object and of the background nearby is a mixture; how far on the way it lies says how much of the
object is in it. That is believed as far as the two colours are farther apart than either varies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.matting.wide_means import WideMeans

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
    """Mean and variance of the sure colours around blocks of pixels, and whether there are any."""

    mean: NDArray[np.float32]
    variance: NDArray[np.float32]
    known: NDArray[np.bool_]

    @classmethod
    def around(
        cls, rgb: NDArray[np.float32], sure: NDArray[np.bool_], means: WideMeans
    ) -> _Colours:
        weight = sure[:, :, np.newaxis].astype(np.float32)
        picked = rgb * weight
        found = means.coarse(np.concatenate([weight, picked, picked * rgb], axis=2))
        share = found[:, :, :1]
        total = np.maximum(share, np.float32(1e-6))
        mean = np.asarray(found[:, :, 1:4] / total, np.float32)
        return cls(mean, np.maximum(found[:, :, 4:] / total - mean**2, 0), share > _FEWEST)


def with_colour_guess(
    rgb: NDArray[np.float32],
    guess: NDArray[np.float32],
    depth: NDArray[np.float32],
    width: float,
) -> NDArray[np.float32]:
    """Return a guess at alpha in which pixels outside of the mask are judged by colour, too.

    ``depth`` is above 0 inside the mask; farther than ``width`` from the outline it is sure.
    """
    means = WideMeans(depth.shape, int(np.ceil(REACH * width)))
    front = _Colours.around(rgb, depth > width, means)
    back = _Colours.around(rgb, depth < -width, means)
    way = front.mean - back.mean
    apart = (way**2).sum(axis=2, keepdims=True)
    # How much the colours vary along the way from the one to the other.
    varied = ((front.variance + back.variance) * way**2).sum(axis=2, keepdims=True)
    varied /= np.maximum(apart, np.float32(1e-6))
    trust = apart / (apart + _DOUBT * varied + _LEAST)
    trust[~(front.known & back.known)] = 0
    way /= np.maximum(apart, np.float32(1e-6))
    there = means.fine(np.concatenate([way, back.mean, trust], axis=2).astype(np.float32))
    share = ((rgb - there[:, :, 3:6]) * there[:, :, :3]).sum(axis=2)
    believed = np.where(depth >= 0, 0, there[:, :, 6])
    return np.asarray(guess + believed * (np.clip(share, 0, 1) - guess))
