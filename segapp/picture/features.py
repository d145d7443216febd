"""What a pixel is described by: one array of a few channels for each group of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage
from skimage.color import rgb2lab

from segapp.values.settings import FeatureGroup

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WINDOW = 7


def lab(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """CIE Lab divided by 100, so that a distance of 1 is that from black to white."""
    return np.asarray(rgb2lab(rgb) / 100.0, dtype=np.float32)


class SeenColours:
    """A picture's colours as they are and as they look, the latter when first asked for."""

    def __init__(self, rgb: NDArray[np.uint8]) -> None:
        self.rgb = rgb
        self._lab: NDArray[np.float32] | None = None
        self._stretched: NDArray[np.float64] | None = None

    @property
    def lab(self) -> NDArray[np.float32]:
        """`lab` of the picture."""
        if self._lab is None:
            is_stretched = (self.rgb.min(), self.rgb.max()) == (0, 255)
            self._lab = self.stretched.astype(np.float32) if is_stretched else lab(self.rgb)
        return self._lab

    @property
    def stretched(self) -> NDArray[np.float64]:
        """CIE Lab divided by 100 of the picture from its darkest value to its brightest."""
        if self._stretched is None:
            darkest, brightest = self.rgb.min() / 255.0, self.rgb.max() / 255.0
            values = (self.rgb / 255.0 - darkest) / ((brightest - darkest) or 1.0)
            self._stretched = rgb2lab(values) / 100.0
        return self._stretched


def roughness(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Local standard deviation of each channel (from 0 to 1): how rough the picture is here."""
    channels = []
    for k in range(3):
        channel = rgb[..., k].astype(np.float32) / 255.0
        mean = ndimage.uniform_filter(channel, _WINDOW)
        mean_of_squares = ndimage.uniform_filter(channel * channel, _WINDOW)
        channels.append(np.sqrt(np.maximum(mean_of_squares - mean * mean, 0.0)))
    return np.stack(channels, axis=-1)


def position(shape: tuple[int, int]) -> NDArray[np.float32]:
    """``(y, x)`` divided by the longer side."""
    rows, columns = np.indices(shape, dtype=np.float32)
    return np.stack((rows, columns), axis=-1) / np.float32(max(shape))


def describe(colours: SeenColours, group: FeatureGroup) -> NDArray[np.float32]:
    """Features of every pixel, ``H x W x channels``, of a group that needs no strokes."""
    if group is FeatureGroup.RGB:
        return (colours.rgb / 255.0).astype(np.float32)
    if group is FeatureGroup.COLOUR:
        return colours.lab
    if group is FeatureGroup.TEXTURE:
        return np.concatenate((colours.lab, roughness(colours.rgb)), axis=-1)
    if group is FeatureGroup.POSITION:
        return position((colours.rgb.shape[0], colours.rgb.shape[1]))
    raise ValueError(f"group: wanted one that the picture alone gives, got {group.value!r}")
