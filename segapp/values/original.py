"""What an instrument has measured, in the file's own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """All channels of a picture, upright.

    Parameters
    ----------
    values
        ``H x W x channels``, of any number type, without transparency.
    inverted
        Whether 0 is white.
    on_white
        Whether transparent parts are blended with white already.
    apart
        Whether the channels are pictures of their own, as those of a microscope, and no colours.
    """

    values: NDArray[Any]
    inverted: bool = False
    on_white: bool = False
    apart: bool = False

    @property
    def n_channels(self) -> int:
        """How many channels there are."""
        return int(self.values.shape[2])

    @property
    def usual(self) -> tuple[int, ...]:
        """The channels that are shown unless others are chosen: three colours, or the first."""
        return (0, 1, 2) if self.n_channels >= 3 and not self.apart else (0,)

    @property
    def kind(self) -> str:
        """The number type in words."""
        bits = self.values.dtype.itemsize * 8
        return f"{bits}-bit" + (" float" if np.issubdtype(self.values.dtype, np.floating) else "")

    def at(self, x: int, y: int) -> tuple[int | float, ...]:
        """Return what was measured in one pixel, channel by channel."""
        return tuple(self.values[y, x].tolist())
