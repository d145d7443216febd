"""Anchor Graph Hashing of one or two layers (Liu et al., ICML 2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics.pairwise import euclidean_distances

from shlcore.baselines.base import HashTransformer, cluster_centres
from shlcore.kernels import squared_distances

if TYPE_CHECKING:
    from shlcore.array_types import Array


class AnchorGraphHashing(HashTransformer):
    """Bits from the smoothest eigenvectors of a low-rank neighbourhood graph.

    Rows are connected through their few nearest anchors: with the row-stochastic affinities Z
    to the anchors and ``D = diag(Z' 1)``, the graph is ``A = Z D^-1 Z'``. Its eigenvectors
    follow from a small anchors x anchors matrix and extend to new rows as ``Z(x) W``. One
    layer takes the signs of `n_bits` of them. Two layers take half as many, the smoothest,
    and cut both halves of each once more, at thresholds that keep the graph's cut small
    and the new bit balanced.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes. With two layers and an odd number, the roughest eigenvector
        gives one bit instead of two.
    n_layers : {1, 2}, default=1
        Bits per eigenvector.
    n_anchors : int, default=300
        k-means centres; fewer when there are fewer distinct rows.
    n_nearest : int, default=3
        Nearest anchors of each row in the graph. With too few the graph is disconnected, and the
        smoothest eigenvectors only separate its components.
    random_state : int, RandomState or None
        Starts k-means.

    Attributes
    ----------
    anchors_ : (n_anchors, n_features) array
        The anchors.
    width_ : float
        Width of the Gaussian affinity.
    weights_ : (n_anchors, n_vectors) array
        W above.
    eigenvalues_ : (n_vectors,) array
        Of the graph A, largest (smoothest) first; the constant eigenvector is left out.
    upper_, lower_ : arrays
        Thresholds of the second layer where the first bit is 1, and where it is 0.
    """

    def __init__(
        self,
        *,
        n_bits: int = 5,
        n_layers: int = 1,
        n_anchors: int = 300,
        n_nearest: int = 3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_layers = n_layers
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState) -> None:
        if self.n_layers not in {1, 2}:
            raise ValueError(f"n_layers: wanted 1 or 2, got {self.n_layers}")
        self.anchors_ = cluster_centres(X, self.n_anchors, rng)
        n_vectors = -(-self.n_bits // self.n_layers)
        if n_vectors >= len(self.anchors_):
            raise ValueError(
                f"n_bits: wanted at most {self.n_layers * (len(self.anchors_) - 1)} with "
                f"{len(self.anchors_)} distinct anchors, got {self.n_bits}"
            )
        if self.n_nearest < 1:
            raise ValueError(f"n_nearest: wanted at least 1, got {self.n_nearest}")
        nearest = np.sort(euclidean_distances(X, self.anchors_), axis=1)
        self.width_ = float(nearest[:, : self.n_nearest][:, -1].mean()) or 1.0
        Z = self._affinities(X)
        self._find_vectors(Z, n_vectors)
        if self.n_layers == 2:
            self._find_thresholds(Z)

    def _affinities(self, X: Array) -> Array:
        """Return Z, the Gaussian affinities to the nearest anchors, normalised to sum 1."""
        distances = squared_distances(X, self.anchors_)
        kept = min(self.n_nearest, len(self.anchors_))
        nearest = np.argpartition(distances, kept - 1, axis=1)[:, :kept]
        close = np.take_along_axis(distances, nearest, axis=1)
        # Distances relative to the nearest one avoid underflow far from all anchors.
        affinity = np.exp((close.min(axis=1, keepdims=True) - close) / self.width_**2)
        Z = np.zeros(distances.shape)
        np.put_along_axis(Z, nearest, affinity / affinity.sum(axis=1, keepdims=True), axis=1)
        return Z

    def _find_vectors(self, Z: Array, n_vectors: int) -> None:
        mass = Z.sum(axis=0)
        # An anchor without near rows has no mass and is left out.
        scale = np.where(mass > 0, 1 / np.sqrt(np.where(mass > 0, mass, 1)), 0)
        small = scale[:, None] * (Z.T @ Z) * scale[None, :]
        # The constant eigenvector (eigenvalue 1) is removed, so that it cannot mix with others of
        # the same eigenvalue in a disconnected graph.
        constant = np.sqrt(mass / mass.sum())
        # All eigenvectors, because LAPACK may omit some of equal eigenvalues from a subset.
        values, vectors = eigh(small - np.outer(constant, constant))
        values, vectors = values[-n_vectors:][::-1], vectors[:, -n_vectors:][:, ::-1]
        self.eigenvalues_ = np.maximum(values, np.finfo(float).tiny)
        self.mass_ = mass
        weights = scale[:, None] * vectors / np.sqrt(self.eigenvalues_)
        self.weights_ = np.sqrt(len(Z)) * weights

    def _find_thresholds(self, Z: Array) -> None:
        """Minimise the cut of the second bit, ``u' (I - A) u``, with u balanced.

        u is ``y - upper`` where y > 0 and ``lower - y`` elsewhere, that is
        ``|y| - (upper + lower) [y > 0] + lower``. The graph annihilates constants, so the
        cut depends on ``upper + lower`` alone, and the balance then fixes both.
        """
        vectors = Z @ self.weights_
        positive = (vectors > 0).astype(float)
        size = np.abs(vectors)
        inverse = np.where(self.mass_ > 0, 1 / np.where(self.mass_ > 0, self.mass_, 1), 0)
        spread_positive, spread_size = Z.T @ positive, Z.T @ size
        along = (positive * size).sum(axis=0) - (spread_positive * spread_size).T @ inverse
        across = positive.sum(axis=0) - (spread_positive**2).T @ inverse
        # Without an edge between the halves, the cut is 0 and across is a rounding error.
        total = np.where(across > 1e-12, along / np.where(across > 1e-12, across, 1), 0.0)
        self.lower_ = total * positive.mean(axis=0) - size.mean(axis=0)
        self.upper_ = total - self.lower_

    def _project(self, X: Array) -> Array:
        vectors: Array = self._affinities(X) @ self.weights_
        if self.n_layers == 1:
            return vectors
        second = np.where(vectors > 0, vectors - self.upper_, self.lower_ - vectors)
        return np.stack([vectors, second], axis=2).reshape(len(X), -1)[:, : self.n_bits]
