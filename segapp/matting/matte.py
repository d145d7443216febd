"""A matte: the mask of an object with a soft edge, and its colours without the old background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import distance_transform_edt

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
    margin = int(np.ceil(REACH * width)) + FARTHEST_COLOUR
    tiles = list(_tiles(mask.shape, margin)) if width > HARD and min(mask.shape) >= 3 else []
    for done, (outer, core, within) in enumerate(tiles):
        yield done / len(tiles)
        depth = _depth(mask[outer])
        band = np.abs(depth) <= width
        if not band[within].any():
            continue
        seen = rgb[outer] / 255.0
        ramp = np.clip(0.5 + depth / _RAMP, 0.0, 1.0)
        guess = np.where(band, with_colour_guess(seen, ramp, depth, width), ramp)
        soft = closed_form_alpha(seen, guess, band)
        pure = object_colours(seen, soft)
        mixed = band[within]
        alpha[core][mixed] = np.rint(255 * soft[within][mixed]).astype(np.uint8)
        colours[core][mixed] = np.rint(255 * pure[within][mixed]).astype(np.uint8)
    colours[alpha == 0] = 0
    whole = alpha == 255
    colours[whole] = rgb[whole]
    return Matte(alpha, colours)


_Box = tuple[slice, slice]


def _tiles(shape: tuple[int, ...], margin: int) -> Iterator[tuple[_Box, _Box, _Box]]:
    """Yield boxes with their surroundings, without, and where the second lies in the first."""
    for top in range(0, shape[0], _TILE):
        for left in range(0, shape[1], _TILE):
            first = (top, left)
            start = [max(edge - margin, 0) for edge in first]
            stop = [min(edge + _TILE, end) for edge, end in zip(first, shape, strict=True)]
            outer = [min(edge + margin, end) for edge, end in zip(stop, shape, strict=True)]
            yield (
                _box(start, outer),
                _box(first, stop),
                _box(
                    [a - b for a, b in zip(first, start, strict=True)],
                    [a - b for a, b in zip(stop, start, strict=True)],
                ),
            )


def _box(start: list[int] | tuple[int, ...], stop: list[int]) -> _Box:
    return slice(start[0], stop[0]), slice(start[1], stop[1])


def _depth(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each pixel's distance to the outline: above 0 inside, below outside."""
    if mask.all() or not mask.any():
        return np.full(mask.shape, np.inf)
    inside = np.asarray(distance_transform_edt(mask))
    outside = np.asarray(distance_transform_edt(~mask))
    return np.where(mask, inside - 0.5, 0.5 - outside)
