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


_MOST_COMPUTED, _LEAST_SIDE = 0.8, 0.75
"""A picture that is nearly square is made smaller, so that no more than this of the network's
square need be computed, but never below that part of its side (ENCODER.md, "What it costs")."""


def filled(shape: tuple[int, int], encoder: Encoder) -> tuple[int, int]:
    """Return how many rows and columns of the network's picture a picture fills."""
    if encoder.fit is Fit.STRETCH:
        return encoder.size
    scale = min(wanted / length for wanted, length in zip(encoder.size, shape, strict=True))
    shorter = 0 if shape[0] <= shape[1] else 1
    scale = min(scale, _longest_shorter_side(encoder, shorter) / shape[shorter])
    rows, columns = (max(1, round(length * scale)) for length in shape)
    return min(rows, encoder.size[0]), min(columns, encoder.size[1])


def _longest_shorter_side(encoder: Encoder, axis: int) -> int:
    size, step = encoder.size[axis], encoder.steps[axis]
    if not step:
        return size
    narrow = size - math.ceil((1 - _MOST_COMPUTED) * size / step) * step
    return narrow if narrow >= _LEAST_SIDE * size else size


def read_size(shape: tuple[int, int], encoder: Encoder) -> tuple[int, int]:
    """Return rows and columns that the network reads: all of one side, what it must of the other.

    It can be shorter along one side alone, which is the one where that saves more.
    """
    rows, columns = (
        size - (size - length) // step * step if step else size
        for size, length, step in zip(
            encoder.size, filled(shape, encoder), encoder.steps, strict=True
        )
    )
    return (rows, encoder.size[1]) if rows <= columns else (encoder.size[0], columns)


@dataclass(frozen=True, slots=True, eq=False)
class FittedPicture:
    """A picture as large as it is in the network's, all that a network sees of it.

    ``shape`` is what it had itself.
    """

    pixels: NDArray[np.uint8]
    shape: tuple[int, int]


def fitted(rgb: NDArray[np.uint8], encoder: Encoder) -> FittedPicture:
    """Bring a picture to the size that it fills in the network's."""
    shape = rgb.shape[0], rgb.shape[1]
    rows, columns = filled(shape, encoder)
    # First in whole steps, down to one and a half times the size: quick, and nobody can tell.
    image = Image.fromarray(rgb).resize(
        (columns, rows), Image.Resampling.BILINEAR, reducing_gap=1.5
    )
    return FittedPicture(np.asarray(image), shape)


@dataclass(frozen=True, slots=True)
class Part:
    """Those cells of a network, or of its head, that lie on a picture.

    ``shape`` is rows x columns x channels, ``step`` how large a cell is on the picture.
    """

    shape: tuple[int, int, int]
    step: tuple[float, float]


def parts(shape: tuple[int, int], encoder: Encoder) -> list[Part]:
    """Return what of an encoder's cells lies on a picture of this shape, then of its head's."""
    grids = [(encoder.grid, encoder.channels)]
    if encoder.head is not None:
        grids.append((encoder.head.grid, encoder.head.channels))
    return [_part(shape, encoder, grid, channels) for grid, channels in grids]


def _part(shape: tuple[int, int], encoder: Encoder, grid: tuple[int, int], channels: int) -> Part:
    counts, steps = [], []
    for length, size, count, rows in zip(
        shape, encoder.size, grid, filled(shape, encoder), strict=True
    ):
        stride = size / count  # of the network's own pixels
        counts.append(min(count, math.ceil(rows / stride)))
        steps.append(stride * length / rows)
    return Part((counts[0], counts[1], channels), (steps[0], steps[1]))


def in_picture(
    cells: Sequence[NDArray[np.float16]], shape: tuple[int, int], encoder: Encoder
) -> EncoderFeatures:
    """Return cells as what an encoder, and its head, see of a picture of this shape.

    A `ValueError` says that they are not those of its `parts`.
    """
    seen = []
    for given, part in zip(cells, parts(shape, encoder), strict=True):
        if given.shape != part.shape:
            raise ValueError(f"wanted cells of {part.shape}, got {given.shape}")
        seen.append(EncoderFeatures(given, part.step, encoder.identity))
    whole, *fine = seen
    return replace(whole, fine=fine[0]) if fine else whole


_LARGEST_HALF = 65504.0


def pad_to_square(found: NDArray[np.float32], grid: list[int]) -> NDArray[np.float32]:
    """Fill what a narrower picture left out with the cells beside it, of which most are empty."""
    rows, columns = (count - seen for count, seen in zip(grid, found.shape[2:], strict=True))
    return np.pad(found, ((0, 0), (0, 0), (0, rows), (0, columns)), mode="edge")


def checked(found: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what a network gives, if it is numbers, and not too many; else say so."""
    if found.size > MAX_VALUES or found.dtype.kind != "f":
        raise ValueError(f"it gives {found.size} values of {found.dtype}")
    if not np.isfinite(found).all():
        raise ValueError("it gives values that are no numbers")
    return found


def to_float16(cells: NDArray[np.floating]) -> NDArray[np.float16]:
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
