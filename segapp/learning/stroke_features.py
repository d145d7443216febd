"""Features of the regions that depend on the strokes, and their kernel matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import LARGEST_COST
from segapp.learning.nearness import nearness
from segapp.picture.kernels import kernels_of, stroke_groups
from segapp.values.settings import FeatureGroup, Settings
from shlcore import Grams
from shlcore.kernels import Gaussian

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics
    from segapp.learning.supervision import Supervision
    from shlcore.kernels import Kernel

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
    stacks: list[Grams | NDArray[np.float64]] = [] if kept is None else [kept]
    groups = stroke_groups(settings)
    if groups:
        made = [
            gram
            for group in groups
            for gram in _stroke_grams(features[group], kernels_of(group, settings))
        ]
        stacks.append(np.stack(made, dtype=np.float64))
    return Grams(*stacks)


def _stroke_grams(
    columns: NDArray[np.float64], kernels: Iterable[Kernel]
) -> Iterator[NDArray[np.floating]]:
    """Yield the kernel matrices of one group.

    They are made anew for every stroke: single precision makes distances, and above all
    their exponentials, several times faster.
    """
    squared = _squared_distances(columns)
    for kernel in kernels:
        if isinstance(kernel, Gaussian):
            yield np.exp(squared * np.float32(-0.5 / kernel.sigma**2))
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
