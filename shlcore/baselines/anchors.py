"""Rows described by their nearness to some anchor rows, as several hash methods do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

from shlcore.distances import squared_distances

if TYPE_CHECKING:
    from shlcore.array_types import Array


def sampled_rows(X: Array, count: int, rng: np.random.RandomState) -> Array:
    """At most `count` rows, drawn without replacement."""
    return X[rng.choice(len(X), min(count, len(X)), replace=False)]


def cluster_centres(X: Array, count: int, rng: np.random.RandomState) -> Array:
    """At most `count` k-means centres: never more than there are distinct rows."""
    distinct = np.unique(X, axis=0)
    if len(distinct) <= count:
        return distinct
    # A coarse clustering will do for anchors: few rounds, one start.
    seed = rng.randint(np.iinfo(np.int32).max)
    means = KMeans(count, init="random", n_init=1, max_iter=10, random_state=seed).fit(X)
    return np.asarray(means.cluster_centers_)


def mean_square_distance(X: Array, anchors: Array) -> float:
    """Mean squared distance between rows and anchors, 1 where all are the same point."""
    return float(squared_distances(X, anchors).mean()) or 1.0


def gaussian(X: Array, anchors: Array, width: float) -> Array:
    """``exp(-|x - a|^2 / (2 width))`` for all rows x and anchors a."""
    return np.asarray(np.exp(squared_distances(X, anchors) / (-2.0 * width)))
