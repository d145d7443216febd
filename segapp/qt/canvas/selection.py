"""The outline of a part that somebody has chosen, as lines along the edges of its pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_LINES = 20_000
"""So many are drawn within a frame; what is more ragged than that is boxed."""


def outline_of(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    """Return the lines between a mask's pixels and others, in the picture's coordinates.

    ``left`` and ``top`` are where the mask begins in the picture.
    """
    padded, corner = np.pad(mask, 1), np.array([top, left])
    rows = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    columns = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    if len(rows) + len(columns) > _MOST_LINES:
        return _box(mask, left, top)
    return (
        *(QLineF(x, y, x + 1, y) for y, x in (rows + corner).tolist()),
        *(QLineF(x, y, x, y + 1) for y, x in (columns + corner).tolist()),
    )


def _box(mask: NDArray[np.bool_], left: int, top: int) -> tuple[QLineF, ...]:
    right, bottom = left + mask.shape[1], top + mask.shape[0]
    return (
        QLineF(left, top, right, top),
        QLineF(right, top, right, bottom),
        QLineF(right, bottom, left, bottom),
        QLineF(left, bottom, left, top),
    )
