"""How strongly neighbouring pixels hold together: less across an edge of the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.picture.features import lab
from segapp.picture.neighbours import ACROSS, DOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bonds = tuple[NDArray[np.float32], NDArray[np.float32]]
    """From 0 to 1: of each pixel with its right neighbour, and with its lower one."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """How strongly neighbours hold together: ``exp(-difference^2 / (2 mean difference^2))``."""

    sharpness: float

    @classmethod
    def of(cls, rgb: NDArray[np.uint8]) -> Contrast:
        """Measure the mean squared difference between neighbours."""
        across, down = _squared_differences(lab(rgb))
        count = across.size + down.size
        mean = (float(across.sum()) + float(down.sum())) / max(count, 1)
        # A picture of one colour has no edges at all, whatever the sharpness.
        return cls(0.5 / mean if mean > 0 else 0.0)

    def bonds(self, rgb: NDArray[np.uint8]) -> Bonds:
        """Return bonds from 0 to 1 with the right and with the lower neighbour."""
        across, down = _squared_differences(lab(rgb))
        return np.exp(-self.sharpness * across), np.exp(-self.sharpness * down)


def _squared_differences(
    colours: NDArray[np.float32],
) -> Bonds:
    across, down = (((colours[a] - colours[b]) ** 2).sum(axis=2) for a, b in (ACROSS, DOWN))
    return across, down
