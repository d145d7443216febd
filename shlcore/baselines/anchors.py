"""Rows described by their nearness to some anchor rows, as several hash methods do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

from shlcore.baselines.base import HashTransformer
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


class AnchorHash(HashTransformer):
    """A method whose bits combine Gaussian kernels between a row and anchor rows.

    A method calls ``_draw_anchors`` first. A constructor belongs to each method:
    scikit-learn reads the parameters from its signature.
    """

    def _draw_anchors(self, X: Array, rng: np.random.RandomState) -> Array:
        """Draw the anchors from the training rows, and return all kernels with them."""
        self.anchors_ = sampled_rows(X, self.n_anchors, rng)
        self.width_ = mean_square_distance(X, self.anchors_)
        return self._kernels(X)

    def _kernels(self, X: Array) -> Array:
        """Return the kernels between rows and anchors, ``n x n_anchors``."""
        return gaussian(X, self.anchors_, self.width_)
