"""What a vision network sees in a picture: grids of cells with many channels each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPicture:
    """A picture's dense features, as far as they cover it.

    Parameters
    ----------
    cells
        Rows x columns x channels, float16; the first cell begins at the picture's corner, and
        the last ones may stick out.
    step
        Height and width of a cell in pixels of the picture.
    encoder
        Which encoder it was: 64 hexadecimal digits.
    fine
        The same in smaller cells, where the encoder has a head; their values are even, so that
        their differences mean the same everywhere.
    """

    cells: NDArray[np.float16]
    step: tuple[float, float]
    encoder: str
    fine: EncodedPicture | None = None

    def __post_init__(self) -> None:
        if self.cells.ndim != 3 or not self.cells.size or self.cells.dtype != np.float16:
            got = f"{self.cells.shape} of {self.cells.dtype}"
            raise ValueError(f"cells: wanted rows x columns x channels of float16, got {got}")
        if not min(self.step) > 0:
            raise ValueError(f"step: wanted two lengths above 0, got {self.step}")

    @property
    def finest(self) -> EncodedPicture:
        """The smallest cells there are."""
        return self if self.fine is None else self.fine
