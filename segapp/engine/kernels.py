"""Kernels and kernel matrices of each feature group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.likelihood import LARGEST_COST
from segapp.engine.region_graph import nearness
from segapp.model.settings import STROKE_DEPENDENT, FeatureGroup, Settings, dense_group
from shlcore import Grams
from shlcore.gram_matrices import LowRank
from shlcore.kernels import Gaussian, Kernel, Linear, paper_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from segapp.engine.region_classifier import Supervision
    from segapp.engine.region_graph import Geodesics

    Columns = dict[FeatureGroup, NDArray[np.float64]]


def kernels_of(groups: Iterable[FeatureGroup], settings: Settings) -> list[Kernel]:
    """Return the kernels on the columns of some groups, group after group."""
    kernels: list[Kernel] = []
    for group in groups:
        if group in STROKE_DEPENDENT:
            bandwidths = settings.stroke_bandwidths
        elif group is FeatureGroup.POSITION:
            bandwidths = settings.position_bandwidths
        else:
            bandwidths = settings.bandwidths
        if bandwidths:
            kernels.extend(Gaussian(sigma, group.value) for sigma in bandwidths)
        else:
            kernels.extend(paper_kernels(group.value))
    return kernels


def kernel_names(settings: Settings) -> tuple[str, ...]:
    """Name the kernels in the order of their matrices: those of strokes are last."""
    names = []
    for kernel in kernels_of((*fixed_groups(settings), *stroke_groups(settings)), settings):
        if isinstance(kernel, Gaussian):
            names.append(f"{kernel.columns}, sigma {kernel.sigma:g}")
        else:
            form = "linear" if isinstance(kernel, Linear) else "polynomial"
            names.append(f"{kernel.columns}, {form}")
    return tuple(names)


def fixed_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that need the image alone."""
    return tuple(group for group in settings.features if group not in STROKE_DEPENDENT)


def stroke_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that depend on the strokes, with one kind of dense features."""
    unused = {FeatureGroup.DESCRIPTORS, FeatureGroup.ENCODER} - {dense_group(settings)}
    return tuple(
        group for group in settings.features if group in STROKE_DEPENDENT and group not in unused
    )


_ROWS_AT_ONCE = 64
_MOST_COLUMNS, _MOST_RANK = 2, 32
"""Of kernels in low-rank form. Between two classes, whose columns mirror each other, their ranks
are 6 and 12; between three classes up to 90, where a full matrix is made as fast."""


def stroke_features(
    colour_costs: NDArray[np.float64], geodesics: Geodesics, supervision: Supervision
) -> Columns:
    """Compute the columns of the groups that depend on the strokes.

    ``colour_costs`` is regions x classes, by `ClassCosts.mean_costs`.
    """
    centred = (colour_costs - colour_costs.mean(axis=1, keepdims=True)) / LARGEST_COST
    near = nearness(geodesics, supervision.sources())
    return {FeatureGroup.LIKELIHOOD: centred, FeatureGroup.NEARNESS: near}


def gram_matrices(fixed: Grams | None, features: Columns, settings: Settings) -> Grams:
    """Compute all kernel matrices in the order of `kernel_names`.

    The ``fixed`` ones of the image are shared, those of the strokes are the caller's own.
    """
    groups = stroke_groups(settings)
    n_kernels = len(kernels_of(groups, settings))
    if not n_kernels:
        return fixed if fixed is not None else Grams()
    low_rank = _low_rank_kernels(features, settings)
    if low_rank is not None:
        return Grams(low_rank) if fixed is None else Grams(fixed, low_rank)
    n = len(next(iter(features.values())))
    own = np.empty((n_kernels, n, n), dtype=np.float32)
    first = 0
    for group in groups:
        kernels = kernels_of((group,), settings)
        _write_grams(features[group], kernels, own[first : first + len(kernels)])
        first += len(kernels)
    return Grams(own) if fixed is None else Grams(fixed, own)


def _low_rank_kernels(features: Columns, settings: Settings) -> LowRank | None:
    """Return the kernels of the strokes in low-rank form, if all have a low rank."""
    parts: list[LowRank] = []
    for group in stroke_groups(settings):
        kernels, columns = kernels_of((group,), settings), features[group]
        gaussians = [kernel for kernel in kernels if isinstance(kernel, Gaussian)]
        if len(gaussians) < len(kernels) or columns.shape[1] > _MOST_COLUMNS:
            return None
        part = LowRank.from_kernels(gaussians, columns, _MOST_RANK)
        if part is None:
            return None
        parts.append(part)
    return LowRank.concatenate(parts)


def _write_grams(
    columns: NDArray[np.float64], kernels: Sequence[Kernel], grams: NDArray[np.float32]
) -> None:
    """Write the kernel matrices of a group, a few rows at a time, mirrored.

    They are computed for every stroke: single precision makes distances, and above all
    their exponentials, several times faster, intermediate values stay in the caches, and a
    matrix that is symmetric to the last bit is computed by half.
    """
    single, n = columns.T.astype(np.float32), len(columns)
    squared, room = np.empty((2, _ROWS_AT_ONCE * n), dtype=np.float32)
    for top in range(0, n, _ROWS_AT_ONCE):
        rows, below = slice(top, min(top + _ROWS_AT_ONCE, n)), n - top
        count = rows.stop - top
        shape = count, below
        distances, power = (part[: count * below].reshape(shape) for part in (squared, room))
        _squared_distances(single[:, top:], count, distances, power)
        for kernel, gram in zip(kernels, grams, strict=True):
            if isinstance(kernel, Gaussian):
                np.multiply(distances, np.float32(-0.5 / kernel.sigma**2), out=power)
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
    """Write squared distances of the first rows to all, column by column.

    `shlcore.kernels.squared_distances` computes ``|x|² + |y|² - 2 xy``, which would lose small
    distances in single precision.
    """
    first, *others = columns
    np.square(np.subtract(first[:count, None], first, out=squared), out=squared)
    for column in others:
        np.subtract(column[:count, None], column, out=room)
        squared += np.square(room, out=room)
