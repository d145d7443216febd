"""Kernels of each feature group, and features that depend on strokes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from segapp.engine.likelihood import LARGEST_COST
from segapp.model.settings import STROKE_DEPENDENT, FeatureGroup, Settings
from shlcore import Grams
from shlcore.gram_matrices import LowRank
from shlcore.kernels import Gaussian, Kernel, Linear, paper_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from segapp.engine.region_graph import Edges
    from segapp.engine.supervision import Supervision


def nearness(geodesics: Geodesics, sources: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Share of each class in the nearness of a region to all strokes, regions x classes.

    The nearness to a class is one over the distance to the nearest region that is labelled so;
    ``sources`` holds these regions for each class. Each row sums to 1: at a stroke of a class
    that class has all of it.
    """
    distances = np.stack([geodesics.distances(regions) for regions in sources], axis=1)
    closeness = 1.0 / np.maximum(distances, 1e-9)
    return np.asarray(closeness / closeness.sum(axis=1, keepdims=True))


def kernels_of(group: FeatureGroup, settings: Settings) -> tuple[Kernel, ...]:
    """Return the kernels that act on the columns of a group."""
    if group in STROKE_DEPENDENT:
        bandwidths = settings.stroke_bandwidths
    elif group is FeatureGroup.POSITION:
        bandwidths = settings.position_bandwidths
    else:
        bandwidths = settings.bandwidths
    if not bandwidths:
        return paper_kernels(group.value)
    return tuple(Gaussian(sigma, group.value) for sigma in bandwidths)


def kernels_of_all(groups: Iterable[FeatureGroup], settings: Settings) -> list[Kernel]:
    """Return the kernels of several groups, one group after the other."""
    return [kernel for group in groups for kernel in kernels_of(group, settings)]


def kernel_names(settings: Settings) -> tuple[str, ...]:
    """Name the kernels for people, in the order of their matrices: those of strokes are last."""
    groups = (*fixed_groups(settings), *stroke_groups(settings))
    return tuple(_kernel_name(kernel) for kernel in kernels_of_all(groups, settings))


def _kernel_name(kernel: Kernel) -> str:
    if isinstance(kernel, Gaussian):
        return f"{kernel.columns}, sigma {kernel.sigma:g}"
    return f"{kernel.columns}, {'linear' if isinstance(kernel, Linear) else 'polynomial'}"


def fixed_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that the picture alone gives."""
    return tuple(g for g in settings.features if g not in STROKE_DEPENDENT)


def stroke_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that depend on the strokes."""
    return tuple(g for g in settings.features if g in STROKE_DEPENDENT)


if TYPE_CHECKING:
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
    """Return all kernel matrices in the order of `segapp.engine.kernels.kernel_names`.

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
        part = LowRank.from_kernels(gaussians, columns, _MOST_DIRECTIONS)
        if part is None:
            return None
        found.append(part)
    return LowRank.concatenate(found)


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


_LENGTH = 0.02
"""What a step of average length costs besides the change of likelihood, which is at most 1."""
_FARTHEST_APART = 9.0
"""What a step costs at the most for what a head sees: 3 times its deviation, squared."""
_FARTHEST = 1e6
"""A region that no path reaches (there is none in one picture) is equally far from all."""


@dataclass(frozen=True, slots=True, eq=False)
class Geodesics:
    """The regions that touch, with what a step from one to the other costs, either way."""

    steps: csr_array

    @classmethod
    def of(
        cls,
        edges: Edges,
        lengths: NDArray[np.float64],
        beliefs: NDArray[np.float64],
        apart: NDArray[np.float64] | None = None,
    ) -> Geodesics:
        """Make a step cost the change of belief and a little for its length.

        Parameters
        ----------
        edges, lengths
            Between regions that touch; the average length is 1.
        beliefs
            Regions x classes, how likely each class is by colour alone; rows sum to 1.
        apart
            How different the two ends of each edge are to a network's head.
        """
        n = len(beliefs)
        change = 0.5 * np.abs(beliefs[edges.u] - beliefs[edges.v]).sum(axis=1)
        costs = change + _LENGTH * lengths
        if apart is not None:
            costs += np.minimum(apart, _FARTHEST_APART)
        # Both ways, or SciPy would turn the steps round for each search.
        ends = np.concatenate((edges.u, edges.v)), np.concatenate((edges.v, edges.u))
        return cls(csr_array(coo_array((np.tile(costs, 2), ends), shape=(n, n))))

    def distances(self, regions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each region's distance to the nearest of some, of which there may be none."""
        if not len(regions):
            return np.full(self.steps.shape[0], _FARTHEST)
        found = dijkstra(self.steps, indices=regions, min_only=True)
        return np.asarray(np.minimum(found, _FARTHEST))
