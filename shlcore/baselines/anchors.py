"""Rows described by their nearness to some anchor rows, as several hash methods do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sampled_rows(
    X: NDArray[np.float64], count: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """At most `count` rows, drawn without replacement."""
    return X[rng.choice(len(X), min(count, len(X)), replace=False)]


def cluster_centres(
    X: NDArray[np.float64], count: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """At most `count` k-means centres: never more than there are distinct rows."""
    distinct = np.unique(X, axis=0)
    if len(distinct) <= count:
        return distinct
    # A coarse clustering will do for anchors: few rounds, one start.
    seed = rng.randint(np.iinfo(np.int32).max)
    means = KMeans(count, init="random", n_init=1, max_iter=10, random_state=seed).fit(X)
    return np.asarray(means.cluster_centers_)


def mean_square_distance(X: NDArray[np.float64], anchors: NDArray[np.float64]) -> float:
    """Mean squared distance between rows and anchors, 1 where all are the same point."""
    return float(euclidean_distances(X, anchors, squared=True).mean()) or 1.0


def gaussian(
    X: NDArray[np.float64], anchors: NDArray[np.float64], width: float
) -> NDArray[np.float64]:
    """``exp(-|x - a|^2 / (2 width))`` for all rows x and anchors a."""
    return np.asarray(np.exp(euclidean_distances(X, anchors, squared=True) / (-2.0 * width)))
