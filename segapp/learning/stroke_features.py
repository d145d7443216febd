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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics
    from segapp.learning.supervision import Supervision
    from shlcore.kernels import Kernel

    Columns = dict[FeatureGroup, NDArray[np.float64]]

_ROWS_AT_ONCE = 32


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
    n = len(next(iter(features.values())))
    own = np.empty((len(kernels), n, n), dtype=np.float32)
    first = 0
    for group in stroke_groups(settings):
        kernels = list(kernels_of(group, settings))
        _write_grams(features[group], kernels, own[first : first + len(kernels)])
        first += len(kernels)
    return Grams(own) if kept is None else Grams(kept, own)


def _write_grams(
    columns: NDArray[np.float64], kernels: Sequence[Kernel], grams: NDArray[np.float32]
) -> None:
    """Write the kernel matrices of a group, a few rows at a time.

    They are made anew for every stroke: single precision makes distances, and above all
    their exponentials, several times faster, and what is between stays in the caches.
    """
    single = columns.T.astype(np.float32)
    squared = np.empty((_ROWS_AT_ONCE, len(columns)), dtype=np.float32)
    room = np.empty_like(squared)
    for top in range(0, len(columns), _ROWS_AT_ONCE):
        rows = slice(top, min(top + _ROWS_AT_ONCE, len(columns)))
        count = rows.stop - rows.start
        _squared_distances(single, rows, squared[:count], room[:count])
        for kernel, gram in zip(kernels, grams, strict=True):
            if isinstance(kernel, Gaussian):
                factor = np.float32(-0.5 / kernel.sigma**2)
                power = np.multiply(squared[:count], factor, out=gram[rows])
                np.exp(power, out=power)
            else:
                gram[rows] = kernel.of(columns[rows], columns)


def _squared_distances(
    columns: NDArray[np.float32],
    rows: slice,
    squared: NDArray[np.float32],
    room: NDArray[np.float32],
) -> None:
    """Write squared distances of some rows to all in single precision, summed column by column.

    `shlcore.kernels.squared_distances` goes by ``|x|² + |y|² - 2 xy``, which would lose the
    small ones in single precision.
    """
    first, *others = columns
    np.square(np.subtract(first[rows, None], first, out=squared), out=squared)
    for column in others:
        np.subtract(column[rows, None], column, out=room)
        squared += np.square(room, out=room)
