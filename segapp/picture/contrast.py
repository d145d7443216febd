"""How strongly neighbouring pixels hold together: less across an edge of the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.picture.features import seen
from segapp.picture.neighbours import ACROSS, DOWN, LENGTHS, PAIRS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.neighbours import Box

    Bonds = tuple[NDArray[np.float32], ...]
    """What it costs to part the pixels of each kind of pair in `PAIRS`, at most its length."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """How strongly neighbours hold together: ``exp(-difference^2 / (2 mean difference^2))``."""

    sharpness: float

    @classmethod
    def of(cls, rgb: NDArray[np.uint8], channels: NDArray[np.float32] | None = None) -> Contrast:
        """Measure the mean squared difference between neighbours in a row or column."""
        colours = seen(rgb, channels)
        across, down = (_squared_differences(colours, pair) for pair in (ACROSS, DOWN))
        count = across.size + down.size
        mean = (float(across.sum()) + float(down.sum())) / max(count, 1)
        # A picture of one colour has no edges at all, whatever the sharpness.
        return cls(0.5 / mean if mean > 0 else 0.0)

    def bonds(self, rgb: NDArray[np.uint8], channels: NDArray[np.float32] | None = None) -> Bonds:
        """Return the bonds of each kind of pair."""
        colours = seen(rgb, channels)
        return tuple(
            np.float32(length) * np.exp(-self.sharpness * _squared_differences(colours, pair))
            for pair, length in zip(PAIRS, LENGTHS, strict=True)
        )


def _squared_differences(
    colours: NDArray[np.float32], pair: tuple[Box, Box]
) -> NDArray[np.float32]:
    here, there = pair
    return np.asarray(((colours[here] - colours[there]) ** 2).sum(axis=2))
