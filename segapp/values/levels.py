"""Which values of a channel are black and white, and how grey lies between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.values.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Mapping = Callable[[NDArray[Any]], NDArray[np.uint8]]

GAMMAS = (0.1, 10.0)
_TABLE_BYTES = 2  # whole numbers of so many bytes are few enough for a table of all


@dataclass(frozen=True, slots=True)
class Levels:
    """Values up to ``black`` become 0, those from ``white`` on 255, in the file's own units.

    A ``gamma`` above 1 brightens what is between. Where black is white all is black.
    """

    black: float
    white: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if math.isnan(self.black) or math.isnan(self.white) or self.black > self.white:
            raise ValueError(
                f"levels: wanted black up to white, got {quoted(self.black)} and "
                f"{quoted(self.white)}"
            )
        if not GAMMAS[0] <= self.gamma <= GAMMAS[1]:
            raise ValueError(f"gamma: wanted {GAMMAS[0]} to {GAMMAS[1]}, got {quoted(self.gamma)}")

    def apply(self, values: NDArray[np.generic]) -> NDArray[np.uint8]:
        """Map values to 0..255; what is no number becomes 0.

        >>> Levels(100, 200).apply(np.array([0, 100, 150, 200, 999])).tolist()
        [0, 0, 128, 255, 255]
        """
        return self.mapping(values.dtype)(values)

    def mapping(self, dtype: np.dtype[Any]) -> Mapping:
        """Return what `apply` does, made ready for many arrays of one type."""
        size, native = dtype.itemsize, dtype.newbyteorder("=")
        if dtype.kind not in "ui" or size > _TABLE_BYTES:
            return self._mapped
        unsigned = np.dtype(f"u{size}")
        table = self._mapped(np.arange(1 << (8 * size), dtype=unsigned).view(native))
        return lambda values: table[np.ascontiguousarray(values, dtype=native).view(unsigned)]

    def _mapped(self, values: NDArray[np.generic]) -> NDArray[np.uint8]:
        # Halves, since the whole way from the least to the largest may be no finite number.
        black, white = self.black / 2, self.white / 2
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = values.astype(np.float64)
            scaled /= 2
            scaled -= black
            scaled /= white - black if white > black else 1.0
        np.clip(scaled, 0.0, 1.0, out=scaled)
        scaled[np.isnan(scaled)] = 0.0
        if self.gamma != 1.0:
            scaled **= 1 / self.gamma
        scaled *= 255
        return np.rint(scaled, out=scaled).astype(np.uint8)
