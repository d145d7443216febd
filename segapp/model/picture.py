"""The image under annotation: display pixels, raw channels, features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.model.display import Levels


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a pixel.

    Parameters
    ----------
    pixel
        Length of its side.
    unit
        Of that length, "px" or "µm" for instance.
    source
        Of what is told: "ImageJ", "OME", "TIFF resolution"; empty for a length that was typed.
    """

    pixel: float = 1.0
    unit: str = "px"
    source: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.pixel) and self.pixel > 0):
            raise SegappError(f"pixel: wanted a positive length, got {self.pixel}")


PIXELS = Scale()


@dataclass(frozen=True, slots=True, eq=False)
class RawImage:
    """All channels of an image in the file's own numbers, upright.

    Parameters
    ----------
    values
        ``H x W x channels``, of any number type, without transparency.
    inverted
        Whether 0 is white.
    on_white
        Whether transparent parts are blended with white already.
    separate_channels
        Whether the channels are images of their own, as those of a microscope, and no colours.
    names
        Of the channels, where the file tells them.
    """

    values: NDArray[Any]
    inverted: bool = False
    on_white: bool = False
    separate_channels: bool = False
    names: tuple[str, ...] = ()

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return int(self.values.shape[2])

    @property
    def default_channels(self) -> tuple[int, ...]:
        """The channels shown by default: three colours, or the first."""
        return (0, 1, 2) if self.n_channels >= 3 and not self.separate_channels else (0,)

    @property
    def dtype_text(self) -> str:
        """The number type in words."""
        bits = self.values.dtype.itemsize * 8
        return f"{bits}-bit" + (" float" if np.issubdtype(self.values.dtype, np.floating) else "")

    def at(self, x: int, y: int) -> tuple[int | float, ...]:
        """Return the values of one pixel, channel by channel."""
        return tuple(self.values[y, x].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """An image for display, upright, with 8 bits a channel.

    Parameters
    ----------
    rgb
        ``H x W x 3``, read-only. Transparent parts are blended with white.
    alpha
        ``H x W``, read-only, or ``None`` when the file has no transparency.
    path
        Of the file, or of its page.
    sha256
        Of the file's bytes, in hexadecimal.
    note
        About its conversion, "16-bit, shown from 13 to 4095" for instance; often empty.
    raw
        The file's own numbers; ``None`` where they are ``rgb`` itself.
    display
        The settings that made ``rgb``.
    levels
        Of the shown channels, as computed; empty where nothing was stretched.
    scale
        The size of a pixel, where the file or its folder tells it.
    """

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    path: Path
    sha256: str
    note: str
    raw: RawImage | None = None
    display: DisplaySettings = DEFAULT_DISPLAY
    levels: tuple[Levels | None, ...] = ()
    scale: Scale | None = None

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
        """Whether the file holds more than three channels of 8 bits."""
        values = self.raw_image.values
        return values.shape[2] > 3 or values.dtype.itemsize > 1

    @property
    def channels(self) -> NDArray[Any] | None:
        """The raw channels for the learner, if there are others than ``rgb``."""
        return None if self.raw is None else self.raw.values

    @property
    def raw_image(self) -> RawImage:
        """All channels in the file's own numbers."""
        return self.raw or RawImage(self.rgb, on_white=True)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderFeatures:
    """An encoder's dense features of an image.

    Parameters
    ----------
    cells
        Rows x columns x channels, float16; the first cell begins at the image's corner, and the
        last ones may stick out.
    step
        Height and width of a cell in pixels of the image.
    encoder
        Its identity: 64 hexadecimal digits.
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
