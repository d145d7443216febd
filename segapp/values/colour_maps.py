"""Colours for a picture of one channel."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ColourMap(Enum):
    """Named as microscopists know them."""

    GREY = "grey"
    INVERTED = "inverted"
    RED = "red"
    GREEN = "green"
    BLUE = "blue"
    CYAN = "cyan"
    MAGENTA = "magenta"
    YELLOW = "yellow"
    FIRE = "fire"
    VIRIDIS = "viridis"


# Colours at equal distances from black to white; what is between is mixed.
_POINTS: dict[ColourMap, tuple[int, ...]] = {
    ColourMap.GREY: (0x000000, 0xFFFFFF),
    ColourMap.INVERTED: (0xFFFFFF, 0x000000),
    ColourMap.RED: (0x000000, 0xFF0000),
    ColourMap.GREEN: (0x000000, 0x00FF00),
    ColourMap.BLUE: (0x000000, 0x0000FF),
    ColourMap.CYAN: (0x000000, 0x00FFFF),
    ColourMap.MAGENTA: (0x000000, 0xFF00FF),
    ColourMap.YELLOW: (0x000000, 0xFFFF00),
    ColourMap.FIRE: (0x000000, 0x400080, 0xB01080, 0xF04030, 0xFF9000, 0xFFE040, 0xFFFFFF),
    ColourMap.VIRIDIS: (
        *(0x440154, 0x482878, 0x3E4A89, 0x31688E, 0x26828E),
        *(0x1F9E89, 0x35B779, 0x6DCD59, 0xB4DE2C, 0xFDE725),
    ),
}


@cache
def colour_table(colour_map: ColourMap) -> NDArray[np.uint8]:
    """Return 256 rows of red, green and blue.

    >>> colour_table(ColourMap.GREEN)[[0, 128, 255]].tolist()
    [[0, 0, 0], [0, 128, 0], [0, 255, 0]]
    """
    points = np.array([[p >> 16, p >> 8 & 255, p & 255] for p in _POINTS[colour_map]])
    places = np.linspace(0, 255, len(points))
    mixed = [np.interp(np.arange(256), places, part) for part in points.T]
    table: NDArray[np.uint8] = np.rint(np.stack(mixed, axis=1)).astype(np.uint8)
    table.flags.writeable = False
    return table
