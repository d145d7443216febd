"""Resizing of images for a network, and of its cells for the image."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segapp.encoders.encoder import MAX_VALUES, Fit, Layout
from segapp.model.picture import EncoderFeatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder


_MAX_COMPUTED, _MIN_SCALE = 0.8, 0.75
"""An image that is nearly square is scaled down, so that at most this part of the network's square
is computed, but never below that part of its side (ENCODER.md, "What it costs")."""


def fitted_size(shape: tuple[int, int], encoder: Encoder) -> tuple[int, int]:
    """Return the rows and columns of the network's input that an image fills."""
    if encoder.fit is Fit.STRETCH:
        return encoder.size
    scale = min(side / length for side, length in zip(encoder.size, shape, strict=True))
    shorter = 0 if shape[0] <= shape[1] else 1
    scale = min(scale, _longest_shorter_side(encoder, shorter) / shape[shorter])
    rows, columns = (max(1, round(length * scale)) for length in shape)
    return min(rows, encoder.size[0]), min(columns, encoder.size[1])


def _longest_shorter_side(encoder: Encoder, axis: int) -> int:
    size, step = encoder.size[axis], encoder.steps[axis]
    if not step:
        return size
    shorter = size - math.ceil((1 - _MAX_COMPUTED) * size / step) * step
    return shorter if shorter >= _MIN_SCALE * size else size


def input_size(shape: tuple[int, int], encoder: Encoder) -> tuple[int, int]:
    """Return the rows and columns of the input: one side whole, the other shorter.

    A network can be made shorter along one side alone: the one where that saves more.
    """
    rows, columns = (
        size - (size - length) // step * step if step else size
        for size, length, step in zip(
            encoder.size, fitted_size(shape, encoder), encoder.steps, strict=True
        )
    )
    return (rows, encoder.size[1]) if rows <= columns else (encoder.size[0], columns)


@dataclass(frozen=True, slots=True, eq=False)
class FittedPicture:
    """An image at the size that it fills in a network's input; ``shape`` is its own."""

    pixels: NDArray[np.uint8]
    shape: tuple[int, int]


def fit_picture(rgb: NDArray[np.uint8], encoder: Encoder) -> FittedPicture:
    """Resize an image to the size that it fills in the network's input."""
    shape = rgb.shape[0], rgb.shape[1]
    rows, columns = fitted_size(shape, encoder)
    # A box filter first, down to one and a half times the size: quick, and no eye sees it.
    image = Image.fromarray(rgb).resize(
        (columns, rows), Image.Resampling.BILINEAR, reducing_gap=1.5
    )
    return FittedPicture(np.asarray(image), shape)


@dataclass(frozen=True, slots=True)
class CellGrid:
    """The cells of a network, or of its head, that lie on an image.

    ``shape`` is rows x columns x channels, ``step`` the size of a cell in pixels of the image.
    """

    shape: tuple[int, int, int]
    step: tuple[float, float]


def cell_grids(shape: tuple[int, int], encoder: Encoder) -> list[CellGrid]:
    """Return the grid of an encoder's cells on an image, then of its smaller ones."""
    grids = [(encoder.grid, encoder.channels)]
    if (fine := encoder.fine_cells) is not None:
        grids.append((fine.grid, fine.channels))
    return [_cell_grid(shape, encoder, grid, channels) for grid, channels in grids]


def _cell_grid(
    shape: tuple[int, int], encoder: Encoder, grid: tuple[int, int], channels: int
) -> CellGrid:
    counts, steps = [], []
    for length, size, count, filled in zip(
        shape, encoder.size, grid, fitted_size(shape, encoder), strict=True
    ):
        stride = size / count  # in pixels of the network's input
        counts.append(min(count, math.ceil(filled / stride)))
        steps.append(stride * length / filled)
    return CellGrid((counts[0], counts[1], channels), (steps[0], steps[1]))


def to_encoded_picture(
    cells: Sequence[NDArray[np.float16]], shape: tuple[int, int], encoder: Encoder
) -> EncoderFeatures:
    """Return cells as the features of an image of this shape.

    A `ValueError` says that they are not those of its `cell_grids`.
    """
    encoded = []
    for values, grid in zip(cells, cell_grids(shape, encoder), strict=True):
        if values.shape != grid.shape:
            raise ValueError(f"wanted cells of {grid.shape}, got {values.shape}")
        encoded.append(EncoderFeatures(values, grid.step, encoder.identity))
    whole, *fine = encoded
    return replace(whole, fine=fine[0]) if fine else whole


# The steps below run in the worker process, around the network.


def normalise(
    pixels: NDArray[np.uint8],
    size: Sequence[int],
    mean: Sequence[float],
    std: Sequence[float],
) -> NDArray[np.float32]:
    """Return an image as a network's input, zeros where it does not fill it."""
    rows, columns = pixels.shape[:2]
    result = np.zeros((1, 3, *size), np.float32)
    levels = np.arange(256, dtype=np.float32)
    for channel in range(3):
        values = (levels - np.float32(mean[channel])) / np.float32(std[channel])
        result[0, channel, :rows, :columns] = values[pixels[:, :, channel]]
    return result


def check_output(output: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an output of finite numbers, and not too many; refuse any other."""
    if output.size > MAX_VALUES or output.dtype.kind != "f":
        raise ValueError(f"it gives {output.size} values of {output.dtype}")
    if not np.isfinite(output).all():
        raise ValueError("it gives values that are no numbers")
    return output


def to_grid(
    output: NDArray[np.floating], layout: Layout, skipped: int, grid: Sequence[int]
) -> NDArray[np.floating]:
    """Return an output as rows x columns x channels."""
    rows, columns = grid
    if layout is Layout.TOKENS:
        cells = output[0, skipped:].reshape(rows, columns, output.shape[2])
    else:
        cells = output[0].transpose(1, 2, 0) if layout is Layout.CHANNELS_FIRST else output[0]
    if cells.shape[:2] != (rows, columns):
        raise ValueError(
            f"it gives {cells.shape[0]} x {cells.shape[1]} cells, not {rows} x {columns}"
        )
    return cells


def pad_to_square(cells: NDArray[np.float32], grid: Sequence[int]) -> NDArray[np.float32]:
    """Repeat the last cells of a shorter input up to the whole grid."""
    rows, columns = (count - given for count, given in zip(grid, cells.shape[2:], strict=True))
    return np.pad(cells, ((0, 0), (0, 0), (0, rows), (0, columns)), mode="edge")


_LARGEST_FLOAT16 = 65504.0


def to_float16(cells: NDArray[np.floating]) -> NDArray[np.float16]:
    """Return cells in half precision, clipped to its range."""
    result: NDArray[np.float16] = np.clip(cells, -_LARGEST_FLOAT16, _LARGEST_FLOAT16).astype(
        np.float16
    )
    return result


PROMPT_INPUTS = (
    "point_coords",
    "point_labels",
    "mask_input",
    "has_mask_input",
    "orig_im_size",
)
"""Inputs of a mask decoder of the SAM family beside the cells."""
CELLS_INPUT = "image_embeddings"
_NO_POINT = -1.0


def empty_prompt(
    cells: NDArray[np.float32], size: Sequence[int], mask: tuple[int, int]
) -> dict[str, NDArray[np.float32]]:
    """Return a mask decoder's inputs for a prompt without any object."""
    prompt = (
        np.zeros((1, 1, 2), np.float32),
        np.full((1, 1), _NO_POINT, np.float32),
        np.zeros((1, 1, *mask), np.float32),
        np.zeros(1, np.float32),
        np.array(size, np.float32),
    )
    return {CELLS_INPUT: cells, **dict(zip(PROMPT_INPUTS, prompt, strict=True))}


def remove_grid_bias(fine: NDArray[np.float32], factors: tuple[int, int]) -> None:
    """Subtract, in place, the mean of each position within a larger cell.

    A transposed convolution makes ``factors`` rows and columns of smaller cells from each larger
    one, by weights of their own; so positions differ a little, as a fine grid over the image.

    Parameters
    ----------
    fine
        Channels x rows x columns.
    """
    for row in range(factors[0]):
        for column in range(factors[1]):
            values = fine[:, row :: factors[0], column :: factors[1]]
            if values.size:
                values -= values.mean(axis=(1, 2), keepdims=True)
