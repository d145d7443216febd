"""What a network sees, as a picture: its first three principal components as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.encoded import EncodedPicture

_MIDDLE = (1.0, 99.0)  # per cent of the cells between black and full colour


def component_colours(encoded: EncodedPicture) -> NDArray[np.uint8]:
    """Return an RGB colour for each cell: cells that are alike to the network look alike.

    The strongest component is green, which the eye sees best; the sign of each is the one in
    which more of its weight is positive, so that a picture has the same colours every time.
    """
    cells = encoded.cells.astype(np.float64)
    rows, columns, channels = cells.shape
    values = cells.reshape(rows * columns, channels)
    values -= values.mean(axis=0)
    _, directions = np.linalg.eigh(values.T @ values)  # weakest first
    strongest = directions[:, ::-1][:, :3]
    strongest = strongest * np.where(strongest.sum(axis=0) < 0, -1.0, 1.0)
    levels = np.zeros((rows * columns, 3))
    levels[:, : strongest.shape[1]] = values @ strongest
    low, high = np.percentile(levels, _MIDDLE, axis=0)
    spread = np.where(high > low, high - low, 1.0)
    shares = np.clip((levels - low) / spread, 0.0, 1.0)[:, [1, 0, 2]]
    colours: NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return colours.reshape(rows, columns, 3)


def component_picture(
    colours: NDArray[np.uint8], step: tuple[float, float], box: tuple[range, range]
) -> NDArray[np.uint8]:
    """Return the colours of some of a picture's rows and columns, straight between the cells.

    Parameters
    ----------
    colours
        Of `component_colours`.
    step
        Height and width of a cell in pixels.
    """
    between = colours.astype(np.float32)
    for axis, places in enumerate(box):
        cells = (np.arange(places.start, places.stop) + 0.5) / step[axis] - 0.5
        cells = np.clip(cells, 0, between.shape[axis] - 1)
        first = np.minimum(cells.astype(np.intp), max(between.shape[axis] - 2, 0))
        second = np.minimum(first + 1, between.shape[axis] - 1)
        share = np.expand_dims((cells - first).astype(np.float32), (1 - axis, 2))
        between = (1 - share) * between.take(first, axis) + share * between.take(second, axis)
    return np.rint(between).astype(np.uint8)
