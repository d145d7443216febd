"""Display settings of multi-channel images: levels, channels, colour maps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class ColourMap(Enum):
    """Colour maps, named as in microscopy."""

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


# Colours at equal distances from black to white, interpolated linearly.
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
    positions = np.linspace(0, 255, len(points))
    mixed = [np.interp(np.arange(256), positions, part) for part in points.T]
    table: NDArray[np.uint8] = np.rint(np.stack(mixed, axis=1)).astype(np.uint8)
    table.flags.writeable = False
    return table


MAX_CHANNELS = 4096


@dataclass(frozen=True, slots=True)
class DisplaySettings:
    """Channels, levels and colour map of an image; the default shows a file as it is.

    Parameters
    ----------
    channels
        Numbers from 0: one channel, shown by ``colour_map``; three, as red, green and blue, of
        which some may be ``None``; or none, for the file's own three colours or its first
        channel.
    levels
        By number of channel. Where there are none, the 0.1 and 99.9 per cent points: of all
        shown channels together, or of each chosen one by itself.
    """

    channels: tuple[int | None, ...] = ()
    levels: tuple[Levels | None, ...] = ()
    colour_map: ColourMap = ColourMap.GREY

    def __post_init__(self) -> None:
        chosen = [index for index in self.channels if index is not None]
        if len(self.channels) not in (0, 1, 3) or bool(chosen) != bool(self.channels):
            raise SegappError(
                f"channels: wanted none, one, or three for red, green and blue, "
                f"got {short_repr(list(self.channels))}"
            )
        if any(not 0 <= index < MAX_CHANNELS for index in chosen):
            raise SegappError(
                f"channels: wanted 0 to {MAX_CHANNELS - 1}, got {short_repr(list(self.channels))}"
            )
        if len(self.levels) > MAX_CHANNELS:
            raise SegappError(f"levels: wanted at most {MAX_CHANNELS}, got {len(self.levels)}")

    def fits(self, n_channels: int) -> bool:
        """Tell whether an image has all chosen channels."""
        return all(index is None or index < n_channels for index in self.channels)

    def visible_channels(
        self, n_channels: int, default: tuple[int, ...]
    ) -> tuple[int | None, ...]:
        """Return the chosen channels if an image has them, else ``default``."""
        return self.channels if self.channels and self.fits(n_channels) else default

    def levels_of(self, channel: int) -> Levels | None:
        """Return a channel's levels, ``None`` where they follow the image."""
        return self.levels[channel] if channel < len(self.levels) else None

    def with_levels(self, channel: int, levels: Levels | None) -> DisplaySettings:
        """Set the levels of one channel; ``None`` lets them follow the image."""
        length = max(len(self.levels), channel + 1)
        row = [self.levels_of(index) for index in range(length)]
        row[channel] = levels
        while row and row[-1] is None:
            row.pop()
        return replace(self, levels=tuple(row))


DEFAULT_DISPLAY = DisplaySettings()


if TYPE_CHECKING:
    Mapping = Callable[[NDArray[Any]], NDArray[np.uint8]]

GAMMAS = (0.1, 10.0)
_TABLE_BYTES = 2  # integers of this size are few enough for a table of all values


@dataclass(frozen=True, slots=True)
class Levels:
    """Black and white point of a channel, in the file's own units.

    Values up to ``black`` become 0, those from ``white`` on 255.

    A ``gamma`` above 1 brightens what is between. Where black is white all is black.
    """

    black: float
    white: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if math.isnan(self.black) or math.isnan(self.white) or self.black > self.white:
            raise SegappError(
                f"levels: wanted black up to white, got {short_repr(self.black)} and "
                f"{short_repr(self.white)}"
            )
        if not GAMMAS[0] <= self.gamma <= GAMMAS[1]:
            raise SegappError(
                f"gamma: wanted {GAMMAS[0]} to {GAMMAS[1]}, got {short_repr(self.gamma)}"
            )

    def apply(self, values: NDArray[np.generic]) -> NDArray[np.uint8]:
        """Map values to 0..255; not a number becomes 0.

        >>> Levels(100, 200).apply(np.array([0, 100, 150, 200, 999])).tolist()
        [0, 0, 128, 255, 255]
        """
        return self.mapping(values.dtype)(values)

    def mapping(self, dtype: np.dtype[Any]) -> Mapping:
        """Return `apply` for many arrays of one type, by a table where that is faster."""
        size, native = dtype.itemsize, dtype.newbyteorder("=")
        if dtype.kind not in "ui" or size > _TABLE_BYTES:
            return self._mapped
        unsigned = np.dtype(f"u{size}")
        table = self._mapped(np.arange(1 << (8 * size), dtype=unsigned).view(native))
        return lambda values: table[np.ascontiguousarray(values, dtype=native).view(unsigned)]

    def _mapped(self, values: NDArray[np.generic]) -> NDArray[np.uint8]:
        # Halves, since the difference of the extremes may overflow.
        black, white = self.black / 2, self.white / 2
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = values.astype(np.float64)
            scaled /= 2
            scaled -= black
            scaled /= white - black if white > black else 1.0
        np.clip(scaled, 0.0, 1.0, out=scaled)
        scaled[np.isnan(scaled)] = 0.0
        if self.gamma != 1.0:
            scaled **= 1 / self.gamma
        scaled *= 255
        return np.rint(scaled, out=scaled).astype(np.uint8)
