"""How an instrument's picture is shown: which channels, in which colours, between which levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.values.colour_maps import ColourMap
from segapp.values.wording import quoted

if TYPE_CHECKING:
    from segapp.values.levels import Levels

MOST_CHANNELS = 4096


@dataclass(frozen=True, slots=True)
class Showing:
    """What is chosen; the default shows a file as it comes.

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
            raise ValueError(
                f"channels: wanted none, one, or three for red, green and blue, "
                f"got {quoted(list(self.channels))}"
            )
        if any(not 0 <= index < MOST_CHANNELS for index in chosen):
            raise ValueError(
                f"channels: wanted 0 to {MOST_CHANNELS - 1}, got {quoted(list(self.channels))}"
            )
        if len(self.levels) > MOST_CHANNELS:
            raise ValueError(f"levels: wanted at most {MOST_CHANNELS}, got {len(self.levels)}")

    def fits(self, n_channels: int) -> bool:
        """Tell whether a picture has all channels that are chosen."""
        return all(index is None or index < n_channels for index in self.channels)

    def shown(self, n_channels: int, usual: tuple[int, ...]) -> tuple[int | None, ...]:
        """Return the channels that are seen of so many; of those that are not there, the usual."""
        return self.channels if self.channels and self.fits(n_channels) else usual

    def levels_of(self, channel: int) -> Levels | None:
        """Return a channel's levels, ``None`` where they follow the picture."""
        return self.levels[channel] if channel < len(self.levels) else None

    def with_levels(self, channel: int, levels: Levels | None) -> Showing:
        """Set the levels of one channel; ``None`` lets them follow the picture."""
        length = max(len(self.levels), channel + 1)
        row = [self.levels_of(index) for index in range(length)]
        row[channel] = levels
        while row and row[-1] is None:
            row.pop()
        return replace(self, levels=tuple(row))


AS_IT_COMES = Showing()
