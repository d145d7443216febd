"""Features of pixels: colour, texture, position and raw channels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from scipy.linalg import eigh
from skimage.color import rgb2lab

from segapp.model.display import MAX_CHANNELS
from segapp.model.settings import FeatureGroup
from segapp.model.validation import require_field, require_list, require_number, require_object

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.region_graph import Box


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


WHOLE = np.uint16(65535)
"""What stands for 1 where channels are whole numbers."""
_SHARE = (0.1, 99.9)
"""Per cent of a channel's values that become 0 and 1: a speck of dust must not be the scale."""
_ROWS_AT_ONCE = 64
"""Blocks of rows, of which floating-point copies are made."""
_QUIETEST = 1e-5
"""Variance of noise at the least: a channel without any must not be all that is seen."""


Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ChannelScales:
    """How channels become numbers from 0 to 1, and three colours that show most of them.

    Parameters
    ----------
    spans
        Which values of each channel become 0 and 1, in the instrument's own numbers.
    mixing
        How much of each channel is in each of the colours.
    colour_spans
        What of that is black and white.
    """

    spans: Spans
    mixing: tuple[tuple[float, ...], ...]
    colour_spans: Spans

    def __post_init__(self) -> None:
        for low, high in (*self.spans, *self.colour_spans):
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise ValueError(f"channels: wanted two numbers that rise, got {low} and {high}")
        shape = len(self.mixing), {len(row) for row in self.mixing}, len(self.colour_spans)
        if shape != (3, {len(self.spans)}, 3) or not np.isfinite(self.mixing).all():
            raise ValueError(f"channels: wanted three colours of {len(self.spans)}, got others")

    @classmethod
    def from_plain(cls, plain: object) -> ChannelScales:
        """Make a value of what JSON holds of it, or a `ValueError` that says what is wrong."""
        told = require_object(plain, "channels")
        spans = _pairs(told, "spans", 1, MAX_CHANNELS)
        return cls(spans, _rows(told, "mixing", 3, 3), _pairs(told, "colour_spans", 3, 3))

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ChannelScales:
        """Find the scales of the channels of a picture."""
        spans = _spans(values)
        mixing = _mixing(_scaled(values, spans))
        mixed = _scaled(values, spans) @ mixing.T
        return cls(spans, tuple(map(tuple, mixing.tolist())), _spans(mixed))

    def scaled(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Map channels to 0..1; what is no number becomes 0, as does a channel of one value."""
        return _scaled(values, self.spans)

    def colours(self, scaled: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Mix channels from 0 to 1 to three colours."""
        mixed = _scaled(scaled @ np.array(self.mixing, dtype=np.float32).T, self.colour_spans)
        return np.asarray(np.rint(mixed * np.float32(255)), dtype=np.uint8)


def _rows(told: dict[str, Any], name: str, least: int, most: int) -> tuple[tuple[float, ...], ...]:
    found = require_list(require_field(told, name), name, least, most)
    return tuple(
        tuple(require_number(part, name) for part in require_list(row, name)) for row in found
    )


def _pairs(told: dict[str, Any], name: str, least: int, most: int) -> Spans:
    rows = _rows(told, name, least, most)
    if any(len(row) != 2 for row in rows):
        raise ValueError(f"{name}: wanted two numbers each, got others")
    return tuple((low, high) for low, high in rows)


def _spans(values: NDArray[np.floating]) -> Spans:
    """Find the scale of each channel; one without a number gets any."""
    spans = []
    for channel in np.moveaxis(values, -1, 0):
        finite = channel[np.isfinite(channel)]
        low, high = np.percentile(finite, _SHARE).tolist() if finite.size else (0.0, 0.0)
        if low == high and finite.size:  # less than one in a thousand differs
            low, high = float(finite.min()), float(finite.max())
        spans.append((low, high))
    return tuple(spans)


def _scaled(values: NDArray[Any], spans: Spans) -> NDArray[np.float32]:
    scaled = np.empty(values.shape, dtype=np.float32)
    for place, (low, high) in enumerate(spans):
        with np.errstate(invalid="ignore", over="ignore"):
            # Halves, since the way from the least to the largest may be no finite number.
            part = values[..., place].astype(np.float64) / 2 - low / 2
            part /= (high / 2 - low / 2) or math.inf
        part[np.isnan(part)] = 0.0
        scaled[..., place] = np.clip(part, 0.0, 1.0, out=part)
    return scaled


def _mixing(scaled: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the three mixtures, a row each, that have most to show against their noise.

    This is the transform of Green, Berman, Switzer and Craig (1988) to the largest fractions of
    signal, with noise estimated from differences of neighbours: what lies in one faint channel
    alone is not lost as it is among the principal components.
    """
    n_channels = scaled.shape[-1]
    flat = scaled.reshape(-1, n_channels).astype(np.float64)
    flat -= flat.mean(axis=0)
    signal = flat.T @ flat / len(flat)
    noise = _QUIETEST * np.eye(n_channels)
    for axis in (0, 1):
        steps = np.diff(scaled, axis=axis).reshape(-1, n_channels).astype(np.float64)
        noise += steps.T @ steps / max(4 * len(steps), 1)
    _, vectors = eigh(signal, noise)
    mixing = np.zeros((3, n_channels))
    for row, vector in zip(mixing, vectors.T[::-1], strict=False):
        row[:] = vector / vector[np.abs(vector).argmax()]  # of either sign, so that one is chosen
    return mixing


class Channels:
    """Channels at full size as whole numbers up to `WHOLE`, and at the size of learning.

    Parameters
    ----------
    values
        ``H x W x channels``, of any number type.
    times
        Pixels along a side of what is one pixel of the size at which is learnt.
    scales
        Those of another picture that was learnt from; otherwise the picture's own.
    """

    def __init__(
        self, values: NDArray[Any], times: int, scales: ChannelScales | None = None
    ) -> None:
        if scales is not None and len(scales.spans) != values.shape[2]:
            raise ValueError(
                f"channels: wanted {len(scales.spans)}, as in the picture that was learnt from, "
                f"got {values.shape[2]}."
            )
        self._values, self._times, self._scales = values, times, scales

    @property
    def shape(self) -> tuple[int, ...]:
        """``H x W x channels``."""
        return self._values.shape

    def __getitem__(self, box: Box) -> NDArray[np.uint16]:
        """Return some rows and columns at full size."""
        scaled = self.scales.scaled(self._values[box])
        return _whole(scaled)

    @cached_property
    def scales(self) -> ChannelScales:
        """What becomes 0 and 1."""
        return ChannelScales.of(self._means) if self._scales is None else self._scales

    @cached_property
    def coarse(self) -> NDArray[np.float32]:
        """Channels from 0 to 1, at the size at which is learnt."""
        made = self.scales.scaled(self._means)
        made.flags.writeable = False
        return made

    @cached_property
    def colours(self) -> tuple[NDArray[np.uint8], ...]:
        """Three colours that show most of the channels, at full size and at that of learning."""
        small = self.scales.colours(self.coarse)
        if self._times == 1:
            return (small,)
        large = np.empty((*self.shape[:2], 3), dtype=np.uint8)
        for top in range(0, len(large), _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            large[rows] = self.scales.colours(self.scales.scaled(self._values[rows]))
        return large, small

    @property
    def coarse_whole(self) -> NDArray[np.uint16]:
        """The same as whole numbers."""
        return _whole(self.coarse)

    @property
    def _means(self) -> NDArray[np.float64]:
        """Means over the pixels of each block; a last row or column fills up what is missing."""
        step = self._times
        strips = []
        for top in range(0, self.shape[0], step * _ROWS_AT_ONCE):
            strip = self._values[top : top + step * _ROWS_AT_ONCE].astype(np.float64)
            missing = [(0, -size % step) for size in strip.shape[:2]]
            strip = np.pad(strip, [*missing, (0, 0)], mode="edge")
            height, width = strip.shape[0] // step, strip.shape[1] // step
            blocks = strip.reshape(height, step, width, step, -1)
            with np.errstate(invalid="ignore", over="ignore"):
                strips.append(blocks.mean(axis=(1, 3)))
        return np.concatenate(strips)


def _whole(scaled: NDArray[np.float32]) -> NDArray[np.uint16]:
    return np.asarray(np.rint(scaled * np.float32(WHOLE)), dtype=np.uint16)
