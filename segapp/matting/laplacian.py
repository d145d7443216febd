"""The matting Laplacian: which pixels of a neighbourhood have alpha in common.

In a window of 3 x 3 pixels with colours `c` of mean `m` and covariance `S`, two pixels `i` and `j`
are tied by ``[i = j] - (1 + (c_i - m)' (S + epsilon/9)^-1 (c_j - m)) / 9``. The Laplacian is the
sum over all windows. With ``S + epsilon/9 = L L'`` and ``g_i = L^-1 (c_i - m)`` the product is
``g_i' g_j``, so that all pixels' ties are found by a few operations on whole rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_EPSILON = 1e-7
"""How steep alpha may be over colour: the value of the authors' code, for colours from 0 to 1."""

_STRIP = 16
"""Rows of windows at a time: what is computed of them stays near the processor."""

_WINDOW = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
_PAIRS = [(i, j) for i in range(9) for j in range(i, 9)]
_N_HALF = 13
"""Ties go both ways: a pixel itself, and those of its neighbours that come later in reading."""


def neighbours(width: int) -> NDArray[np.int64]:
    """Return how far the pixels of 5 x 5 are from the middle one, in a picture so wide."""
    return np.array([dy * width + dx for dy in range(-2, 3) for dx in range(-2, 3)])


def laplacian_rows(
    rgb: NDArray[np.floating[Any]], unknown: NDArray[np.bool_], kind: type[np.floating[Any]]
) -> NDArray[np.floating[Any]]:
    """Return the Laplacian's rows of the unknown pixels: 25 columns, their `neighbours`.

    Those outside of the picture are tied by 0. ``kind`` is float32 or float64.
    """
    half = np.zeros((_N_HALF, *unknown.shape), kind)
    planes = np.ascontiguousarray(rgb.transpose(2, 0, 1), np.float64)
    for rows, columns in _boxes(unknown):
        _add_windows(half, planes, rows, columns)
    flat, here = half.reshape(_N_HALF, -1), np.flatnonzero(unknown)
    found = np.empty((here.size, 25), kind)
    for later, shift in enumerate(neighbours(unknown.shape[1])[12:]):
        found[:, 12 + later] = flat[later][here]
        # Going back may lead over the picture's side, to a pixel that has no tie this far.
        found[:, 12 - later] = flat[later][here - shift]
    return found


def _boxes(unknown: NDArray[np.bool_]) -> Iterator[tuple[slice, slice]]:
    """Yield strips of windows' middles, as wide as there are unknown pixels in the windows."""
    touching = scipy.ndimage.maximum_filter(unknown, size=3)[1:-1, 1:-1]
    for top in range(0, len(touching), _STRIP):
        columns = np.flatnonzero(touching[top : top + _STRIP].any(axis=0))
        if columns.size:
            bottom = min(top + _STRIP, len(touching))
            yield slice(top + 1, bottom + 1), slice(int(columns[0]) + 1, int(columns[-1]) + 2)


def _add_windows(
    half: NDArray[np.floating[Any]], planes: NDArray[np.float64], rows: slice, columns: slice
) -> None:
    """Add the ties of all windows with their middles in a box."""
    places = [
        (slice(rows.start + dy, rows.stop + dy), slice(columns.start + dx, columns.stop + dx))
        for dy, dx in _WINDOW
    ]
    colours = np.stack([planes[:, *place] for place in places], axis=1)
    apart = colours - colours.mean(axis=1, keepdims=True)
    whitened = _whitened(apart).astype(half.dtype) / 3
    products = np.empty_like(whitened[:, 0])
    for i, j in _PAIRS:
        np.multiply(whitened[:, i], whitened[:, j], out=products)
        (iy, ix), (jy, jx) = _WINDOW[i], _WINDOW[j]
        own = half[(jy - iy) * 5 + jx - ix][places[i]]
        for product in products:
            own -= product
        own -= half.dtype.type(1 / 9)
    for place in places:
        half[0][place] += 1


def _whitened(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``L^-1`` times the colours of windows, which are ``3 x 9 x rows x columns``."""
    red, green, blue = apart
    spread = {(k, n): (apart[k] * apart[n]).mean(axis=0) for k in range(3) for n in range(k + 1)}
    for k in range(3):
        spread[k, k] += _EPSILON / 9
    first = np.sqrt(spread[0, 0])
    low, lower = spread[1, 0] / first, spread[2, 0] / first
    second = np.sqrt(spread[1, 1] - low**2)
    between = (spread[2, 1] - lower * low) / second
    third = np.sqrt(spread[2, 2] - lower**2 - between**2)
    one = red / first
    two = (green - low * one) / second
    three = (blue - lower * one - between * two) / third
    return np.stack([one, two, three])
