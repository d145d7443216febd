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
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics
    from segapp.learning.supervision import Supervision

    Columns = dict[FeatureGroup, NDArray[np.float64]]


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
    own = np.empty((len(kernels), n, n))
    for place, gram in zip(own, _stroke_grams(features, settings), strict=True):
        place[:] = gram
    return Grams(own) if kept is None else Grams(kept, own)


def _stroke_grams(features: Columns, settings: Settings) -> Iterator[NDArray[np.floating]]:
    """Yield the kernel matrices of each group; the next one may overwrite the last.

    They are made anew for every stroke: single precision makes distances, and above all
    their exponentials, several times faster.
    """
    for group in stroke_groups(settings):
        columns = features[group]
        squared = _squared_distances(columns)
        gram = np.empty_like(squared)
        for kernel in kernels_of(group, settings):
            if isinstance(kernel, Gaussian):
                np.multiply(squared, np.float32(-0.5 / kernel.sigma**2), out=gram)
                yield np.exp(gram, out=gram)
            else:
                yield kernel.of(columns, columns)


def _squared_distances(columns: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return squared distances in single precision, summed column by column.

    `shlcore.kernels.squared_distances` goes by ``|x|² + |y|² - 2 xy``, which would lose the
    small ones in single precision.
    """
    squared = np.zeros((len(columns), len(columns)), dtype=np.float32)
    for column in columns.T.astype(np.float32):
        difference = column[:, None] - column[None, :]
        squared += np.square(difference, out=difference)
    return squared
