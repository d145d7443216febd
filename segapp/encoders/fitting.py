"""A picture at the size that a network wants, and the network's cells at the picture's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segapp.encoders.encoder import Fit
from segapp.encoders.head import evened
from segapp.values.encoded import EncodedPicture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder


def filled(shape: tuple[int, int], encoder: Encoder) -> tuple[int, int]:
    """Return how many rows and columns of the network's picture a picture fills."""
    if encoder.fit is Fit.STRETCH:
        return encoder.size
    scale = min(wanted / length for wanted, length in zip(encoder.size, shape, strict=True))
    rows, columns = (max(1, round(length * scale)) for length in shape)
    return min(rows, encoder.size[0]), min(columns, encoder.size[1])


def fitted(rgb: NDArray[np.uint8], encoder: Encoder) -> NDArray[np.uint8]:
    """Return a picture as large as it is in the network's."""
    rows, columns = filled((rgb.shape[0], rgb.shape[1]), encoder)
    # First in whole steps, down to three times the size: nobody can tell, and it is quick.
    image = Image.fromarray(rgb).resize(
        (columns, rows), Image.Resampling.BILINEAR, reducing_gap=3.0
    )
    return np.asarray(image)


def grid_on(
    shape: tuple[int, int], encoder: Encoder, grid: tuple[int, int]
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return how many rows and columns of cells lie on a picture, and how large they are on it.

    ``grid`` is that of all cells, the encoder's or its head's.
    """
    counts, steps = [], []
    for length, size, count, rows in zip(
        shape, encoder.size, grid, filled(shape, encoder), strict=True
    ):
        stride = size / count  # of the network's own pixels
        counts.append(min(count, math.ceil(rows / stride)))
        steps.append(stride * length / rows)
    return (counts[0], counts[1]), (steps[0], steps[1])


def in_picture(
    cells: NDArray[np.float16],
    fine: NDArray[np.float16] | None,
    encoder: Encoder,
    shape: tuple[int, int],
) -> EncodedPicture:
    """Return those cells of a network, and of its head, that lie on a picture of this shape."""
    smaller = None
    if encoder.head is not None and fine is not None:
        (rows, columns), step = grid_on(shape, encoder, encoder.head.grid)
        times = fine.shape[0] // cells.shape[0], fine.shape[1] // cells.shape[1]
        smaller = EncodedPicture(evened(fine[:rows, :columns], times), step, encoder.identity)
    (rows, columns), step = grid_on(shape, encoder, encoder.grid)
    return EncodedPicture(
        np.ascontiguousarray(cells[:rows, :columns]), step, encoder.identity, smaller
    )
