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


def component_picture(encoded: EncodedPicture, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the colours at a picture's size, smooth between the cells."""
    from PIL import Image

    height, width = shape
    colours = component_colours(encoded)
    rows, columns = colours.shape[:2]
    # The last cells may stick out: of the grid, only what lies on the picture is enlarged.
    box = (0.0, 0.0, min(columns, width / encoded.step[1]), min(rows, height / encoded.step[0]))
    image = Image.fromarray(colours).resize((width, height), Image.Resampling.BICUBIC, box)
    return np.asarray(image)
