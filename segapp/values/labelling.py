"""The answer for a picture: class, confidence and hash code of every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """Arrays of the picture's height and width, read-only once they are here.

    Parameters
    ----------
    labels
        uint8, index of the class of each pixel.
    margin
        float32, at least 0: how much nearer the best class's codeword is than the second
        best's, in hinge distance. 0 is undecided; pixels under a stroke hold the maximum.
    codes
        uint32, the hash code of each pixel, first bit lowest.
    n_classes
        How many classes there are, whether or not each has pixels.
    n_bits
        How many bits of ``codes`` are used.
    """

    labels: NDArray[np.uint8]
    margin: NDArray[np.float32]
    codes: NDArray[np.uint32]
    n_classes: int
    n_bits: int

    def __post_init__(self) -> None:
        for array in (self.labels, self.margin, self.codes):
            array.flags.writeable = False
