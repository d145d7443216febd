"""A matte: the mask of an object with a soft edge, and its colours without the old background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.matting.closed_form import closed_form_alpha
from segapp.matting.colour_guess import REACH, with_colour_guess
from segapp.matting.object_colours import FARTHEST_COLOUR, object_colours
from segapp.values.export_choices import WIDEST_EDGE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

HARD = 0.0
"""The width of an edge that is not softened."""

_RAMP = 2.0
"""Pixels over which a guess goes from 0 to 1: wider ones lose the hairs' own places."""

_TILE = 512
"""Pixels of a tile's side: what is solved at once takes some hundred megabytes at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Matte:
    """Arrays of the picture's size, read-only once they are here.

    Parameters
    ----------
    alpha
        uint8: 255 where a pixel is the object alone, 0 where nothing of it is there.
    rgb
        uint8: the object's colours; as in the picture where alpha is 255, black where it is 0.
    """

    alpha: NDArray[np.uint8]
    rgb: NDArray[np.uint8]

    def __post_init__(self) -> None:
        for array in (self.alpha, self.rgb):
            array.flags.writeable = False


def usual_width(size: tuple[int, int]) -> float:
    """Return a band that holds the hair of a portrait of this height and width, in pixels.

    >>> usual_width((480, 640)), usual_width((3000, 4000))
    (5.0, 30.0)
    """
    return float(np.clip(round(0.006 * np.hypot(*size)), 5, 40))


def soft_edge(
    rgb: NDArray[np.uint8], mask: NDArray[np.bool_], width: float
) -> Generator[float, None, Matte]:
    """Soften a mask within ``width`` pixels of its outline; yields how much is done.

    Farther from the outline than that nothing changes, and a mask without an outline is its
    own matte. Tiles overlap by more than a band's width, so that no seam is seen.
    """
    if not HARD <= width <= WIDEST_EDGE:
        raise ValueError(f"width: wanted 0 to {WIDEST_EDGE:.0f} pixels, got {width}")
    alpha = mask.astype(np.uint8) * np.uint8(255)
    colours = np.where(mask[:, :, np.newaxis], rgb, np.uint8(0))
    farthest = FARTHEST_COLOUR + int(np.ceil(REACH * width))
    tiles = list(_tiles(mask.shape)) if width > HARD and min(mask.shape) >= 3 else []
    for done, core in enumerate(tiles):
        yield done / len(tiles)
        # Guesses look around as far as the first, and colours as the second.
        outer, middle = (_grown(core, by, mask.shape) for by in (farthest, FARTHEST_COLOUR))
        depth = _depth(mask[outer])
        mixed = np.abs(depth[_within(core, outer)]) <= width
        if not mixed.any():
            continue
        seen = rgb[outer] * np.float32(1 / 255)
        ramp = np.clip(0.5 + depth / np.float32(_RAMP), 0, 1)
        inner = _within(middle, outer)
        band = np.abs(depth[inner]) <= width
        guess = with_colour_guess(seen, ramp, depth, width)[inner]
        soft = closed_form_alpha(seen[inner], np.where(band, guess, ramp[inner]), band)
        pure = object_colours(seen[inner], soft)
        inmost = _within(core, middle)
        alpha[core][mixed] = np.rint(255 * soft[inmost][mixed]).astype(np.uint8)
        colours[core][mixed] = np.rint(255 * pure[inmost][mixed]).astype(np.uint8)
    colours[alpha == 0] = 0
    whole = alpha == 255
    colours[whole] = rgb[whole]
    return Matte(alpha, colours)


_Box = tuple[slice, slice]


def _tiles(shape: tuple[int, ...]) -> Iterator[_Box]:
    for top in range(0, shape[0], _TILE):
        for left in range(0, shape[1], _TILE):
            yield slice(top, min(top + _TILE, shape[0])), slice(left, min(left + _TILE, shape[1]))


def _grown(box: _Box, by: int, shape: tuple[int, ...]) -> _Box:
    """Return a box with its surroundings, as far as the picture goes."""
    rows, columns = (
        slice(max(side.start - by, 0), min(side.stop + by, end))
        for side, end in zip(box, shape, strict=True)
    )
    return rows, columns


def _within(inner: _Box, outer: _Box) -> _Box:
    """Return where a box lies in a larger one."""
    rows, columns = (
        slice(one.start - other.start, one.stop - other.start)
        for one, other in zip(inner, outer, strict=True)
    )
    return rows, columns


def _depth(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return each pixel's distance to the outline: above 0 inside, below outside."""
    if mask.all() or not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    inside = np.asarray(scipy.ndimage.distance_transform_edt(mask))
    outside = np.asarray(scipy.ndimage.distance_transform_edt(~mask))
    return np.where(mask, inside - 0.5, 0.5 - outside).astype(np.float32)
