"""Features of the regions that depend on the strokes, and their kernel matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import LARGEST_COST
from segapp.learning.nearness import nearness
from segapp.picture.kernels import kernels_of, kernels_of_all, stroke_groups
from segapp.values.settings import FeatureGroup, Settings
from shlcore import Grams
from shlcore.kernels import Gaussian
from shlcore.low_rank import LowRank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics
    from segapp.learning.supervision import Supervision
    from shlcore.kernels import Kernel

    Columns = dict[FeatureGroup, NDArray[np.float64]]

_ROWS_AT_ONCE = 64
_MOST_COLUMNS, _MOST_DIRECTIONS = 2, 32
"""Of kernels that are taken as products. Between two classes, whose columns mirror each other,
these have 6 and 12 directions; between three up to 90, and are made as fast as a whole."""


def stroke_features(
    colour_costs: NDArray[np.float64], geodesics: Geodesics, supervision: Supervision
) -> Columns:
    """Return the columns of the groups that depend on the strokes.

    ``colour_costs`` is regions x classes, by `ColourLikelihood.mean_costs`.
    """
    centred = (colour_costs - colour_costs.mean(axis=1, keepdims=True)) / LARGEST_COST
    near = nearness(geodesics, supervision.sources())
    return {FeatureGroup.LIKELIHOOD: centred, FeatureGroup.NEARNESS: near}


def all_grams(kept: Grams | None, features: Columns, settings: Settings) -> Grams:
    """Return all kernel matrices in the order of `segapp.picture.kernels.kernel_names`.

    Those that the picture keeps are shared, those of the strokes are the caller's own.
    """
    kernels = kernels_of_all(stroke_groups(settings), settings)
    if not kernels:
        return kept if kept is not None else Grams()
    few = _of_few_directions(features, settings)
    if few is not None:
        return Grams(few) if kept is None else Grams(kept, few)
    n = len(next(iter(features.values())))
    own = np.empty((len(kernels), n, n), dtype=np.float32)
    first = 0
    for group in stroke_groups(settings):
        kernels = list(kernels_of(group, settings))
        _write_grams(features[group], kernels, own[first : first + len(kernels)])
        first += len(kernels)
    return Grams(own) if kept is None else Grams(kept, own)


def _of_few_directions(features: Columns, settings: Settings) -> LowRank | None:
    """Return the kernels as products of few columns, if all are such."""
    found: list[LowRank] = []
    for group in stroke_groups(settings):
        kernels, columns = kernels_of(group, settings), features[group]
        gaussians = [kernel for kernel in kernels if isinstance(kernel, Gaussian)]
        if len(gaussians) < len(kernels) or columns.shape[1] > _MOST_COLUMNS:
            return None
        part = LowRank.of(gaussians, columns, _MOST_DIRECTIONS)
        if part is None:
            return None
        found.append(part)
    return LowRank.joined(found)


def _write_grams(
    columns: NDArray[np.float64], kernels: Sequence[Kernel], grams: NDArray[np.float32]
) -> None:
    """Write the kernel matrices of a group, a few rows at a time, and their mirror images.

    They are made anew for every stroke: single precision makes distances, and above all
    their exponentials, several times faster, what is between stays in the caches, and a
    matrix that is symmetric to the last bit is made by half.
    """
    single, n = columns.T.astype(np.float32), len(columns)
    squared, room = np.empty((2, _ROWS_AT_ONCE * n), dtype=np.float32)
    for top in range(0, n, _ROWS_AT_ONCE):
        rows, below = slice(top, min(top + _ROWS_AT_ONCE, n)), n - top
        count = rows.stop - top
        shape = count, below
        apart, power = (part[: count * below].reshape(shape) for part in (squared, room))
        _squared_distances(single[:, top:], count, apart, power)
        for kernel, gram in zip(kernels, grams, strict=True):
            if isinstance(kernel, Gaussian):
                np.multiply(apart, np.float32(-0.5 / kernel.sigma**2), out=power)
                np.exp(power, out=power)
            else:
                power[:] = kernel.of(columns[rows], columns[top:])
            gram[rows, top:] = power
            gram[rows.stop :, rows] = power[:, count:].T


def _squared_distances(
    columns: NDArray[np.float32],
    count: int,
    squared: NDArray[np.float32],
    room: NDArray[np.float32],
) -> None:
    """Write squared distances of the first rows to all in single precision, column by column.

    `shlcore.kernels.squared_distances` goes by ``|x|² + |y|² - 2 xy``, which would lose the
    small ones in single precision.
    """
    first, *others = columns
    np.square(np.subtract(first[:count, None], first, out=squared), out=squared)
    for column in others:
        np.subtract(column[:count, None], column, out=room)
        squared += np.square(room, out=room)
