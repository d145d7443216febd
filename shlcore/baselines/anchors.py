"""Rows described by their nearness to some anchor rows, as several hash methods do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.cluster import KMeans

from shlcore.baselines.base import HashTransformer
from shlcore.distances import squared_distances
from shlcore.kernels import Gaussian, KernelBank
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.array_types import Array
    from shlcore.kernels import Kernel
    from shlcore.scaling import Scaling


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


@dataclass(frozen=True, slots=True, eq=False)
class KernelMean:
    """The mean of some kernels between rows and anchors; rows are scaled before."""

    bank: KernelBank
    scaling: Scaling
    anchors: Array

    def of(self, X: Array) -> Array:
        """Return the kernels between rows and anchors, ``n x n_anchors``."""
        rows = self.scaling.apply(X)
        total = np.zeros((len(rows), len(self.anchors)))
        for matrix in self.bank.each(rows, self.anchors):
            total += matrix
        return total / len(self.bank)


class AnchorHash(HashTransformer):
    """A method whose bits combine kernels between a row and anchor rows.

    A method calls ``_draw_anchors`` first. A constructor belongs to each method:
    scikit-learn reads the parameters from its signature.
    """

    kernels: Sequence[Kernel] | None

    def _draw_anchors(self, X: Array, rng: np.random.RandomState, count: int | None) -> Array:
        """Draw so many anchors (None: all) of the training rows; return all kernels with them.

        Without kernels of its own a method has one Gaussian, as wide as rows and anchors are apart
        in the root mean square. Given ones act on columns scaled to [0, 1], as `shlcore.SHL`'s do.
        """
        self.anchors_ = X if count is None else sampled_rows(X, count, rng)
        if self.kernels is None:
            self.width_ = mean_square_distance(X, self.anchors_)
            chosen: Sequence[Kernel] = [Gaussian(float(np.sqrt(self.width_)))]
        else:
            chosen = self.kernels
        scale = None if self.kernels is None else "minmax"
        scaling = learn_scaling(scale, summarise(X, np.ones(len(X))))
        bank = KernelBank(chosen, X.shape[1])
        self.similarity_ = KernelMean(bank, scaling, scaling.apply(self.anchors_))
        return self._kernels(X)

    def _kernels(self, X: Array) -> Array:
        """Return the kernels between rows and anchors, ``n x n_anchors``."""
        return self.similarity_.of(X)
