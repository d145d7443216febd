"""Masks that are pictures: black and white, grey, numbers of classes, or a colour for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.files.images import checked_image
from segapp.files.pages import file_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from PIL import Image

    _Colour = tuple[int, int, int]

WHITE = 255
_HALF = 128
_DEEP_WHITE = 65535
_MOST_COLOURS = 255  # the value that is left says nothing
_BETWEEN = 8
"""Greys between black and white that make a mask one with soft edges, and no list of numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredValues:
    """What a mask's file holds.

    Parameters
    ----------
    values
        uint8, ``H x W``.
    palette
        Colour of each value; ``None`` for numbers that have none.
    """

    values: NDArray[np.uint8]
    palette: tuple[_Colour, ...] | None = None


def stored_values(path: Path) -> StoredValues:
    """Read a mask's values as they are stored; `ValueError` when it is a picture of much else."""
    with checked_image(file_of(path)) as image:
        if image.mode == "P":
            flat = image.getpalette() or []
            rows = zip(flat[::3], flat[1::3], flat[2::3], strict=False)
            return StoredValues(np.array(image), tuple(rows))
        if image.mode in ("1", "L", "LA"):
            return StoredValues(_hardened(np.array(image.convert("L"))))
        if image.mode.startswith("I"):
            return StoredValues(_of_deep(np.array(image)))
        return _of_colours(image)


def _hardened(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return black and white alone, where a mask has soft edges between the two."""
    counts = np.bincount(values.ravel(), minlength=256)
    has_both = bool(counts[0] and counts[WHITE])
    mostly = 2 * (counts[0] + counts[WHITE]) > values.size
    if has_both and mostly and np.count_nonzero(counts) - 2 >= _BETWEEN:
        return np.where(values >= _HALF, WHITE, 0).astype(np.uint8)
    return values


def _of_deep(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return values of 16 bits as bytes; the brightest of them is white."""
    present = np.unique(values)
    if present[-1] == _DEEP_WHITE:
        present = present[:-1]
    if present.size and not 0 <= present[0] <= present[-1] < WHITE:
        raise ValueError(f"wanted numbers up to {WHITE - 1}, got {present[-1]}")
    return np.where(values == _DEEP_WHITE, WHITE, values).astype(np.uint8)


def _of_colours(image: Image.Image) -> StoredValues:
    """Return greys as they are, and else a number for each colour, in the order of the colours."""
    rgb = np.array(image.convert("RGB"))
    if (rgb == rgb[:, :, :1]).all():
        return StoredValues(_hardened(np.ascontiguousarray(rgb[:, :, 0])))
    packed = rgb.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    present, values = np.unique(packed, return_inverse=True)
    if present.size > _MOST_COLOURS:
        raise ValueError(f"wanted a colour for each class, got {present.size} colours")
    palette = tuple((int(c) >> 16, int(c) >> 8 & 255, int(c) & 255) for c in present)
    return StoredValues(values.reshape(packed.shape).astype(np.uint8), palette)
