"""The image under annotation: display pixels, raw channels, features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.model.display import Levels


@dataclass(frozen=True, slots=True, eq=False)
class RawImage:
    """All channels of a picture, upright.

    Parameters
    ----------
    values
        ``H x W x channels``, of any number type, without transparency.
    inverted
        Whether 0 is white.
    on_white
        Whether transparent parts are blended with white already.
    separate_channels
        Whether the channels are pictures of their own, as those of a microscope, and no colours.
    """

    values: NDArray[Any]
    inverted: bool = False
    on_white: bool = False
    separate_channels: bool = False

    @property
    def n_channels(self) -> int:
        """How many channels there are."""
        return int(self.values.shape[2])

    @property
    def default_channels(self) -> tuple[int, ...]:
        """The channels that are shown unless others are chosen: three colours, or the first."""
        return (0, 1, 2) if self.n_channels >= 3 and not self.separate_channels else (0,)

    @property
    def dtype_text(self) -> str:
        """The number type in words."""
        bits = self.values.dtype.itemsize * 8
        return f"{bits}-bit" + (" float" if np.issubdtype(self.values.dtype, np.floating) else "")

    def at(self, x: int, y: int) -> tuple[int | float, ...]:
        """Return what was measured in one pixel, channel by channel."""
        return tuple(self.values[y, x].tolist())


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
    raw
        What was measured; ``None`` where that is ``rgb`` itself.
    display
        How ``rgb`` was made of it.
    levels
        Of the channels that are shown, as they came out; empty where nothing was stretched.
    """

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    path: Path
    sha256: str
    note: str
    raw: RawImage | None = None
    display: DisplaySettings = DEFAULT_DISPLAY
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
    def exceeds_rgb8(self) -> bool:
        """Whether the file has more to learn from than three channels of 8 bits."""
        values = self.raw_image.values
        return values.shape[2] > 3 or values.dtype.itemsize > 1

    @property
    def channels(self) -> NDArray[Any] | None:
        """What the learner may look at besides ``rgb``, if there is more."""
        return None if self.raw is None else self.raw.values

    @property
    def raw_image(self) -> RawImage:
        """All channels in the file's own numbers."""
        return self.raw or RawImage(self.rgb, on_white=True)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderFeatures:
    """A picture's dense features, as far as they cover it.

    Parameters
    ----------
    cells
        Rows x columns x channels, float16; the first cell begins at the picture's corner, and
        the last ones may stick out.
    step
        Height and width of a cell in pixels of the picture.
    encoder
        Which encoder it was: 64 hexadecimal digits.
    fine
        The same in smaller cells, where the encoder has a head; their values are even, so that
        their differences mean the same everywhere.
    """

    cells: NDArray[np.float16]
    step: tuple[float, float]
    encoder: str
    fine: EncoderFeatures | None = None

    def __post_init__(self) -> None:
        if self.cells.ndim != 3 or not self.cells.size or self.cells.dtype != np.float16:
            got = f"{self.cells.shape} of {self.cells.dtype}"
            raise ValueError(f"cells: wanted rows x columns x channels of float16, got {got}")
        if not min(self.step) > 0:
            raise ValueError(f"step: wanted two lengths above 0, got {self.step}")

    @property
    def finest(self) -> EncoderFeatures:
        """The smallest cells there are."""
        return self if self.fine is None else self.fine
