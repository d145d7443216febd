"""Features of pixels: colour, texture, position, and statistics around each place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from scipy.linalg import eigh

from segapp.imaging.colour import rgb_to_lab
from segapp.model.display import MAX_CHANNELS
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import FeatureGroup
from segapp.model.validation import (
    SegappError,
    require_field,
    require_list,
    require_number,
    require_object,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.model.labelling import Box


_TEXTURE_WINDOW = 7  # pixels


class ColourImage:
    """Colours of an image in RGB and in CIE Lab divided by 100."""

    def __init__(self, rgb: NDArray[np.uint8]) -> None:
        self.rgb = rgb

    @cached_property
    def lab(self) -> NDArray[np.float32]:
        """CIE Lab of the image."""
        is_stretched = (self.rgb.min(), self.rgb.max()) == (0, 255)
        lab = self.stretched_lab if is_stretched else rgb_to_lab(self.rgb) / 100.0
        return lab.astype(np.float32)

    @cached_property
    def stretched_lab(self) -> NDArray[np.float64]:
        """The same with the image's contrast stretched from black to white."""
        darkest, brightest = self.rgb.min() / 255.0, self.rgb.max() / 255.0
        stretched = (self.rgb / 255.0 - darkest) / ((brightest - darkest) or 1.0)
        return rgb_to_lab(stretched) / 100.0


def texture(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Compute the local standard deviation of each channel, from 0 to 1."""
    channels = []
    for k in range(3):
        channel = rgb[..., k].astype(np.float32) / 255.0
        mean = ndimage.uniform_filter(channel, _TEXTURE_WINDOW)
        mean_of_squares = ndimage.uniform_filter(channel * channel, _TEXTURE_WINDOW)
        channels.append(np.sqrt(np.maximum(mean_of_squares - mean * mean, 0.0)))
    return np.stack(channels, axis=-1)


def position(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return ``(y, x)`` of each pixel divided by the longer side."""
    rows, columns = np.indices(shape, dtype=np.float32)
    return np.stack((rows, columns), axis=-1) / np.float32(max(shape))


def pixel_features(image: ColourImage, group: FeatureGroup) -> NDArray[np.float32]:
    """Compute a group of features that needs no strokes, ``H x W x channels``."""
    if group is FeatureGroup.RGB:
        return (image.rgb / 255.0).astype(np.float32)
    if group is FeatureGroup.COLOUR:
        return image.lab
    if group is FeatureGroup.TEXTURE:
        return np.concatenate((image.lab, texture(image.rgb)), axis=-1)
    if group is FeatureGroup.POSITION:
        return position((image.rgb.shape[0], image.rgb.shape[1]))
    raise ValueError(f"group: wanted one that needs the image alone, got {group.value!r}")


LARGEST_LEVEL = np.uint16(65535)
"""The level of 1 where channels are quantised."""
_PERCENTILES = (0.1, 99.9)
"""The percentiles of a channel that become 0 and 1: a speck of dust must not set the scale."""
_ROWS_AT_ONCE = 64
"""Rows that are converted to floating point at once."""
_LEAST_NOISE = 1e-5
"""Least variance of noise: a channel without noise must not hide all others."""

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ChannelScales:
    """Ranges of channels, and the mixture of three colours that shows most of them.

    Parameters
    ----------
    spans
        The values of each channel that become 0 and 1, in the instrument's own numbers.
    mixing
        The weight of each channel in each of the colours.
    colour_spans
        The mixed values that become black and white.
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
        """Read the scales from JSON values; a `ValueError` names the wrong one."""
        values = require_object(plain, "channels")
        spans = _pairs(values, "spans", 1, MAX_CHANNELS)
        return cls(spans, _rows(values, "mixing", 3, 3), _pairs(values, "colour_spans", 3, 3))

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ChannelScales:
        """Estimate the scales of an image's channels."""
        spans = _spans(values)
        mixing = _noise_adjusted_components(_scaled(values, spans))
        mixed = _scaled(values, spans) @ mixing.T
        return cls(spans, tuple(map(tuple, mixing.tolist())), _spans(mixed))

    def scaled(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Map channels to 0..1; not-a-number becomes 0, as does a channel of one value."""
        return _scaled(values, self.spans)

    def colours(self, scaled: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Mix channels from 0 to 1 to three colours."""
        mixed = _scaled(scaled @ np.array(self.mixing, dtype=np.float32).T, self.colour_spans)
        return np.asarray(np.rint(mixed * np.float32(255)), dtype=np.uint8)


def _rows(
    values: dict[str, Any], name: str, least: int, most: int
) -> tuple[tuple[float, ...], ...]:
    rows = require_list(require_field(values, name), name, least, most)
    return tuple(
        tuple(require_number(part, name) for part in require_list(row, name)) for row in rows
    )


def _pairs(values: dict[str, Any], name: str, least: int, most: int) -> Spans:
    rows = _rows(values, name, least, most)
    if any(len(row) != 2 for row in rows):
        raise ValueError(f"{name}: wanted two numbers each, got others")
    return tuple((low, high) for low, high in rows)


def _spans(values: NDArray[np.floating]) -> Spans:
    """Estimate the range of each channel; one without a finite number gets (0, 0)."""
    spans = []
    for channel in np.moveaxis(values, -1, 0):
        finite = channel[np.isfinite(channel)]
        low, high = np.percentile(finite, _PERCENTILES).tolist() if finite.size else (0.0, 0.0)
        if low == high and finite.size:  # less than one in a thousand differs
            low, high = float(finite.min()), float(finite.max())
        spans.append((low, high))
    return tuple(spans)


def _scaled(values: NDArray[Any], spans: Spans) -> NDArray[np.float32]:
    scaled = np.empty(values.shape, dtype=np.float32)
    for channel, (low, high) in enumerate(spans):
        with np.errstate(invalid="ignore", over="ignore"):
            # Halves, since the range from least to largest may overflow.
            part = values[..., channel].astype(np.float64) / 2 - low / 2
            part /= (high / 2 - low / 2) or math.inf
        part[np.isnan(part)] = 0.0
        scaled[..., channel] = np.clip(part, 0.0, 1.0, out=part)
    return scaled


def _noise_adjusted_components(scaled: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the three mixtures, a row each, with the most signal against their noise.

    This is the minimum noise fraction transform of Green, Berman, Switzer and Craig (1988), with
    noise estimated from differences of neighbours: the content of one faint channel is not lost
    as it is among the principal components.
    """
    n_channels = scaled.shape[-1]
    flat = scaled.reshape(-1, n_channels).astype(np.float64)
    flat -= flat.mean(axis=0)
    signal = flat.T @ flat / len(flat)
    noise = _LEAST_NOISE * np.eye(n_channels)
    for axis in (0, 1):
        steps = np.diff(scaled, axis=axis).reshape(-1, n_channels).astype(np.float64)
        noise += steps.T @ steps / max(4 * len(steps), 1)
    _, vectors = eigh(signal, noise)
    mixing = np.zeros((3, n_channels))
    for row, vector in zip(mixing, vectors.T[::-1], strict=False):
        row[:] = vector / vector[np.abs(vector).argmax()]  # a vector's sign is arbitrary
    return mixing


class Channels:
    """An instrument's channels, at full size and at the working resolution.

    Indexing gives quantised channels at full size, up to `LARGEST_LEVEL`.

    Parameters
    ----------
    values
        ``H x W x channels``, of any number type.
    times
        Pixels along a side of a pixel of the working resolution.
    scales
        Those of the image that a model was trained on; otherwise the image's own.
    """

    def __init__(
        self, values: NDArray[Any], times: int, scales: ChannelScales | None = None
    ) -> None:
        if scales is not None and len(scales.spans) != values.shape[2]:
            raise SegappError(
                "channels: wanted {}, as in the image that was learnt from, got {}.",
                len(scales.spans),
                values.shape[2],
            )
        self._values, self._times, self._scales = values, times, scales

    @property
    def shape(self) -> tuple[int, ...]:
        """``H x W x channels``."""
        return self._values.shape

    def __getitem__(self, box: Box) -> NDArray[np.uint16]:
        return _quantised(self.scales.scaled(self._values[box]))

    @cached_property
    def scales(self) -> ChannelScales:
        """The ranges of the channels and their mixture to colours."""
        return ChannelScales.of(self._means) if self._scales is None else self._scales

    @cached_property
    def coarse(self) -> NDArray[np.float32]:
        """Channels from 0 to 1 at the working resolution."""
        coarse = self.scales.scaled(self._means)
        coarse.flags.writeable = False
        return coarse

    @cached_property
    def colours(self) -> tuple[NDArray[np.uint8], ...]:
        """Three colours that show most of the channels, at all levels."""
        small = self.scales.colours(self.coarse)
        if self._times == 1:
            return (small,)
        large = np.empty((*self.shape[:2], 3), dtype=np.uint8)
        for top in range(0, len(large), _ROWS_AT_ONCE):
            rows = slice(top, top + _ROWS_AT_ONCE)
            large[rows] = self.scales.colours(self.scales.scaled(self._values[rows]))
        return large, small

    @property
    def coarse_quantised(self) -> NDArray[np.uint16]:
        """Quantised channels at the working resolution."""
        return _quantised(self.coarse)

    @property
    def _means(self) -> NDArray[np.float64]:
        """Means over the pixels of each block; an incomplete block is padded by its edge."""
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


def _quantised(scaled: NDArray[np.float32]) -> NDArray[np.uint16]:
    return np.asarray(np.rint(scaled * np.float32(LARGEST_LEVEL)), dtype=np.uint16)


_BLOCK = 4
"""Pixels along a side of a block: values are counted in blocks, and averaged over these."""
_CELL = 8
"""Pixels along a side of a cell of the result."""
_SCALES = (4.0, 10.0, 24.0)
"""Deviations in pixels of the Gaussians that average, the first over blocks, others over cells."""
_BINS = (8, 10, 10)
"""Of lightness, and of the two colour axes of CIE Lab."""
_RANGES = ((0.0, 1.0), (-0.5, 0.5), (-0.5, 0.5))
_DIRECTIONS = 8
_EDGE = 0.2
"""Change of lightness at which an edge counts as much as a colour does."""


DESCRIPTOR_WEIGHT = 2.0
"""Of the costs by descriptors where their evidence is 1 and strokes are many."""


def descriptor_weight(strokes: float) -> float:
    """Return the weight of the costs by descriptors, by strokes per class.

    From a short stroke on each class of the hardest tuning images, the greater
    weight gains three points of IoU; two strokes later two.
    """
    return DESCRIPTOR_WEIGHT * (1.0 + min(1.0, 1.0 / (strokes * strokes)))


def descriptor_kernel(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of directions, twice: as large as that of encoder features."""
    return 2.0 * (vectors @ vectors.T)


def descriptor_factor(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors whose product `descriptor_kernel` is."""
    return np.asarray(np.sqrt(2.0) * vectors)


def local_statistics(lab: NDArray[np.floating], times: int) -> EncoderFeatures:
    """Return soft histograms around each cell, at three scales.

    Parameters
    ----------
    lab
        CIE Lab divided by 100, at the working resolution.
    times
        Pixels of the image along a side of a pixel of the working resolution.
    """
    height, width = lab.shape[:2]
    rows, columns = -(-height // _BLOCK), -(-width // _BLOCK)
    block = (np.arange(height) // _BLOCK * columns)[:, None] + np.arange(width) // _BLOCK
    block = block.ravel().astype(np.int32)
    counts = [
        _soft_histograms(block, rows * columns, (lab[..., axis] - low) / (high - low), bins)
        for axis, (bins, (low, high)) in enumerate(zip(_BINS, _RANGES, strict=True))
    ]
    counts.append(_direction_histograms(block, rows * columns, lab[..., 0]))
    sizes = np.maximum(np.bincount(block, minlength=rows * columns), 1)
    dense = (np.concatenate(counts, axis=1) / sizes[:, None]).astype(np.float32)
    dense = dense.reshape(rows, columns, -1)
    fine, *broad = _SCALES
    coarse = _halved(dense)
    scales = [_halved(_averaged(dense, fine / _BLOCK))]
    scales += [_averaged(coarse, sigma / _CELL) for sigma in broad]
    cells = np.sqrt(np.concatenate(scales, axis=2)).astype(np.float16)
    return EncoderFeatures(cells, (float(_CELL * times), float(_CELL * times)), "")


def _soft_histograms(
    block: NDArray[np.int32], n_blocks: int, values: NDArray[np.floating], bins: int
) -> NDArray[np.float64]:
    """Count values from 0 to 1 in blocks; each is shared by the two bins around it."""
    place = np.clip(values.ravel() * (bins - 1), 0, bins - 1)
    lower = np.minimum(place.astype(np.int32), bins - 2)
    share = place - lower
    keys, length = block * np.int32(bins) + lower, n_blocks * bins
    counts = np.bincount(keys, 1 - share, length) + np.bincount(keys + 1, share, length)
    return np.asarray(counts.reshape(n_blocks, bins))


def _direction_histograms(
    block: NDArray[np.int32], n_blocks: int, lightness: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Count directions of edges in blocks, by their strength."""
    down = ndimage.gaussian_filter(lightness, 1, order=(1, 0))
    right = ndimage.gaussian_filter(lightness, 1, order=(0, 1))
    strength = np.minimum(np.hypot(down, right) / _EDGE, 1.0).ravel()
    place = (np.arctan2(down, right) % np.pi * (_DIRECTIONS / np.pi)).ravel()
    lower = place.astype(np.int32)
    share = (place - lower) * strength
    first = block * np.int32(_DIRECTIONS) + lower % _DIRECTIONS
    second = block * np.int32(_DIRECTIONS) + (lower + 1) % _DIRECTIONS
    length = n_blocks * _DIRECTIONS
    counts = np.bincount(first, strength - share, length) + np.bincount(second, share, length)
    return np.asarray(counts.reshape(n_blocks, _DIRECTIONS))


def _averaged(values: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Average over places by a Gaussian."""
    return np.asarray(np.maximum(ndimage.gaussian_filter(values, (sigma, sigma, 0)), 0))


def _halved(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average blocks of 2 x 2; an incomplete one is padded by its edge."""
    padding = [(0, size % 2) for size in values.shape[:2]]
    values = np.pad(values, [*padding, (0, 0)], mode="edge")
    rows, columns = values.shape[0] // 2, values.shape[1] // 2
    return np.asarray(values.reshape(rows, 2, columns, 2, -1).mean(axis=(1, 3)))
