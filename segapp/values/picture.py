"""The picture that is worked on, as people see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segapp.values.original import Original
from segapp.values.showing import AS_IT_COMES, Showing

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.levels import Levels


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """An image as people see it, upright, with 8 bits a channel.

    Parameters
    ----------
    rgb
        ``H x W x 3``, read-only. Transparent parts are blended with white.
    alpha
        ``H x W``, read-only, or ``None`` when the file has no transparency.
    path
        Where it came from.
    sha256
        Of the file's bytes, in hexadecimal.
    note
        What was done to show it, "16-bit, shown from 13 to 4095" for instance; often empty.
    original
        What was measured; ``None`` where that is ``rgb`` itself.
    showing
        How ``rgb`` was made of it.
    levels
        Of the channels that are shown, as they came out; empty where nothing was stretched.
    """

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    path: Path
    sha256: str
    note: str
    original: Original | None = None
    showing: Showing = AS_IT_COMES
    levels: tuple[Levels | None, ...] = ()

    def __post_init__(self) -> None:
        self.rgb.flags.writeable = False
        if self.alpha is not None:
            self.alpha.flags.writeable = False

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.rgb.shape[0], self.rgb.shape[1]

    @property
    def holds_more(self) -> bool:
        """Whether the file has more to learn from than three channels of 8 bits."""
        values = self.measured.values
        return values.shape[2] > 3 or values.dtype.itemsize > 1

    @property
    def channels(self) -> NDArray[Any] | None:
        """What the learner may look at besides ``rgb``, if there is more."""
        return None if self.original is None else self.original.values

    @property
    def measured(self) -> Original:
        """All channels in the file's own numbers."""
        return self.original or Original(self.rgb, on_white=True)
