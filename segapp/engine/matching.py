"""Matching of places between pages of a stack by their surroundings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.engine.features import ColourImage


_CELLS = 6400
"""Cells of a page, about: the work grows with their number and not with the size of a page."""
_REACH = 8
"""Cells in each direction within which a place is searched: 7 % of the width of a film's page."""
_PATCH = 3
"""Cells along a side of the square that is compared."""
_TOLERANCE = 0.08
"""Difference of colours, in units of CIE Lab / 100, at which a match counts exp(-1)."""
_BEST = 10
"""Matches of a cell that count: many bad ones would outvote a few good ones."""
_MUTUALITY = 0.5
"""Weight of a place's own best match against that of the place that it is compared with."""
_EDGES = 2.0
"""Weight of local contrast against colour."""
_FAR = np.float32(1e3)
"""The difference from a place beyond the image's border."""


@dataclass(frozen=True, slots=True, eq=False)
class PageCells:
    """Mean colour and local contrast of the square cells of a page.

    Parameters
    ----------
    values
        Rows x columns x features, float32.
    side
        Pixels of the working resolution along a side of a cell.
    """

    values: NDArray[np.float32]
    side: int

    @classmethod
    def of(cls, colours: ColourImage) -> PageCells:
        """Describe a page; pages of the same size have the same cells."""
        lab = colours.lab
        side = max(1, round(math.sqrt(lab.shape[0] * lab.shape[1] / _CELLS)))
        lightness = lab[..., 0]
        edges = [
            np.abs(ndimage.gaussian_filter(lightness, 1, order=order))
            for order in ((0, 1), (1, 0))
        ]
        means = cell_means(np.concatenate((lab, np.stack(edges, axis=-1)), axis=-1), side)
        squares = cell_means(np.square(lightness)[..., np.newaxis], side)
        spread = np.sqrt(np.maximum(squares - np.square(means[..., :1]), 0))
        values = np.concatenate(
            (means[..., :3], _EDGES * spread, _EDGES * means[..., 3:]), axis=-1
        )
        return cls(values.astype(np.float32), side)


def cell_means(pixels: NDArray[np.floating], side: int) -> NDArray[np.float32]:
    """Average square cells of ``H x W x channels``; the last ones may be smaller."""
    sums = np.add.reduceat(pixels, np.arange(0, pixels.shape[0], side), axis=0)
    sums = np.add.reduceat(sums, np.arange(0, pixels.shape[1], side), axis=1)
    heights, widths = (
        np.diff(np.append(np.arange(0, length, side), length)) for length in pixels.shape[:2]
    )
    return np.asarray(sums / (heights[:, None] * widths)[..., None], dtype=np.float32)


def spread_cells(
    cells: NDArray[np.float32], side: int, shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Interpolate values of cells, ``rows x columns x channels``, to all pixels."""
    for axis, length in enumerate(shape):
        place = np.clip((np.arange(length) + 0.5) / side - 0.5, 0, cells.shape[axis] - 1)
        low = np.minimum(place.astype(np.intp), max(cells.shape[axis] - 2, 0))
        high = np.minimum(low + 1, cells.shape[axis] - 1)
        share = (place - low).astype(np.float32).reshape((-1,) + (1,) * (2 - axis))
        first, second = cells.take(low, axis=axis), cells.take(high, axis=axis)
        cells = first + share * (second - first)
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class MatchedShares:
    """The share of each class at the cells of a page, by its matches on other pages.

    Parameters
    ----------
    shares
        Rows x columns x classes; they sum to 1.
    moves
        Rows x columns x 2: from each cell to its best match on the first of the other pages, in
        cells down and to the right.
    """

    shares: NDArray[np.float32]
    moves: NDArray[np.intp]


def match_pages(
    page: PageCells, others: Sequence[tuple[PageCells, NDArray[np.float32]]]
) -> MatchedShares:
    """Carry shares of classes from other pages to a page.

    Each cell takes the shares of those cells nearby whose surroundings look like its own, the
    more they do the more. Of two cells with the same best match, the one that fits better counts
    more, so that a background that comes into view is not taken for the object that has hidden
    it.

    Parameters
    ----------
    others
        Cells and shares, ``rows x columns x classes``, of pages of the same size.
    """
    costs = np.concatenate([_differences(page.values, other.values) for other, _ in others])
    costs -= costs.min(axis=0)
    first = costs[: (2 * _REACH + 1) ** 2].argmin(axis=0)
    moves = np.stack(np.divmod(first, 2 * _REACH + 1), axis=-1) - _REACH
    places = np.ascontiguousarray(costs.reshape(len(costs), -1).T)
    enough = np.partition(places, _BEST - 1, axis=1)[:, _BEST - 1].reshape(costs.shape[1:])
    weights = np.where(costs <= enough, np.exp(np.float32(-1 / _TOLERANCE**2) * costs), 0)
    shares = np.zeros_like(others[0][1])
    for (_, known), own in zip(others, np.split(weights, len(others)), strict=True):
        shares += _votes(own, known)
    return MatchedShares(shares / shares.sum(axis=2, keepdims=True), moves)


def _windows(values: NDArray[np.float32], fill: float | None) -> NDArray[np.float32]:
    """View the values around each cell, ``rows x columns x ... x down x right``."""
    padding = [(_REACH, _REACH)] * 2 + [(0, 0)] * (values.ndim - 2)
    if fill is None:
        padded = np.pad(values, padding, mode="edge")
    else:
        padded = np.pad(values, padding, constant_values=fill)
    size = 2 * _REACH + 1
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(0, 1))


def _differences(page: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compare each cell with those around it, ``moves x rows x columns``."""
    rows, columns = page.shape[:2]
    size = 2 * _REACH + 1
    around = _windows(other, None)
    inside = _windows(np.ones((rows, columns), np.float32), 0.0)
    best = np.full((rows + size - 1, columns + size - 1), _FAR, np.float32)
    costs = np.empty((size, size, rows, columns), np.float32)
    for down in range(size):
        moved = around[..., down, :]  # rows x columns x features x right
        squares = np.zeros((size, rows, columns), np.float32)
        for feature in range(page.shape[2]):
            change = np.moveaxis(moved[:, :, feature], -1, 0) - page[:, :, feature]
            squares += np.square(change, out=change)
        ndimage.uniform_filter(squares, (0, _PATCH, _PATCH), output=costs[down])
        costs[down][np.moveaxis(inside[..., down, :], -1, 0) == 0] = _FAR
        for right in range(size):
            there = best[down : down + rows, right : right + columns]
            np.minimum(there, costs[down, right], out=there)
    for down in range(size):
        for right in range(size):
            own = costs[down, right]
            there = best[down : down + rows, right : right + columns]
            own += np.float32(_MUTUALITY) * (own - there)
    return costs.reshape(size * size, rows, columns)


def _votes(weights: NDArray[np.float32], known: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum the shares around each cell by weights, ``moves x rows x columns``."""
    size = 2 * _REACH + 1
    around = _windows(known, 0.0)  # rows x columns x classes x down x right
    weights = weights.reshape(size, size, *weights.shape[1:])
    total = np.zeros(known.shape, np.float32)
    for down in range(size):
        total += np.einsum("rij,ijkr->ijk", weights[down], around[..., down, :])
    return total
