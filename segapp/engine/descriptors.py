"""Local statistics of an image: colours and edge directions around each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.model.picture import EncoderFeatures

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
"""Of the costs by descriptors where their evidence is 1."""


def descriptor_kernel(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of directions, twice: as large as that of encoder features."""
    return 2.0 * (vectors @ vectors.T)


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
