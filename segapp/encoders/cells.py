"""What networks give, as numbers in a grid; a `ValueError` says what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.encoders.encoder import MOST_VALUES, Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST_HALF = 65504.0


def squared(found: NDArray[np.float32], grid: list[int]) -> NDArray[np.float32]:
    """Fill what a narrower picture left out with the cells beside it, of which most are empty."""
    rows, columns = (count - seen for count, seen in zip(grid, found.shape[2:], strict=True))
    return np.pad(found, ((0, 0), (0, 0), (0, rows), (0, columns)), mode="edge")


def checked(found: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what a network gives, if it is numbers, and not too many; else say so."""
    if found.size > MOST_VALUES or found.dtype.kind != "f":
        raise ValueError(f"it gives {found.size} values of {found.dtype}")
    if not np.isfinite(found).all():
        raise ValueError("it gives values that are no numbers")
    return found


def halves(cells: NDArray[np.floating]) -> NDArray[np.float16]:
    """Return cells with half of the precision, as they are kept."""
    halved: NDArray[np.float16] = np.clip(cells, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
    return halved


def in_grid(
    found: NDArray[np.floating], layout: Layout, skipped: int, grid: list[int]
) -> NDArray[np.floating]:
    """Return an output as rows x columns x channels."""
    rows, columns = grid
    if layout is Layout.TOKENS:
        cells = found[0, skipped:].reshape(rows, columns, found.shape[2])
    else:
        cells = found[0].transpose(1, 2, 0) if layout is Layout.CHANNELS_FIRST else found[0]
    if cells.shape[:2] != (rows, columns):
        raise ValueError(
            f"it gives {cells.shape[0]} x {cells.shape[1]} cells, not {rows} x {columns}"
        )
    return cells
