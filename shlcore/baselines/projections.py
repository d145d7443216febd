"""Hashing by linear projections: LSH, iterative quantization, spectral hashing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import svd
from sklearn.decomposition import PCA

from shlcore.baselines.base import HashTransformer

if TYPE_CHECKING:
    from shlcore.array_types import Array


class LSH(HashTransformer):
    """Sides of random hyperplanes (Charikar, STOC 2002).

    Two rows share a bit with probability ``1 - angle / pi``, the angle being the one
    between them as seen from the hyperplanes' common point.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    with_mean : bool, default=True
        Let the hyperplanes pass through the mean of the training rows, else the origin.
        Features that are never negative would leave the origin on the same side of most.
    random_state : int, RandomState or None
        Draws the hyperplanes.

    Attributes
    ----------
    hyperplanes_ : (n_features, n_bits) array
        Normals.
    mean_ : (n_features,) array
        The point through which all hyperplanes pass.
    """

    def __init__(
        self,
        *,
        n_bits: int = 5,
        with_mean: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.with_mean = with_mean
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState) -> None:
        self.mean_ = X.mean(axis=0) if self.with_mean else np.zeros(X.shape[1])
        self.hyperplanes_ = rng.standard_normal((X.shape[1], self.n_bits))

    def _project(self, X: Array) -> Array:
        return (X - self.mean_) @ self.hyperplanes_


class ITQ(HashTransformer):
    """Principal components rotated to the corners of a cube (Gong and Lazebnik, 2011).

    Codes longer than there are components: the components are padded with zeros to `n_bits`
    before they are rotated, so only the rows of the rotation that meet components count.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    n_iter : int, default=50
        Rounds of quantising and rotating.
    random_state : int, RandomState or None
        Draws the first rotation.

    Attributes
    ----------
    pca_ : PCA
        The components.
    rotation_ : (n_components, n_bits) array
        Rows of a rotation of n_bits dimensions.
    errors_ : (n_iter + 1,) array
        Squared distance between rotated components and corners: at first, after each round.
    """

    def __init__(
        self,
        *,
        n_bits: int = 5,
        n_iter: int = 50,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_iter = n_iter
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState) -> None:
        if self.n_iter < 0:
            raise ValueError(f"n_iter: wanted 0 or more, got {self.n_iter}")
        self.pca_ = PCA(min(self.n_bits, *X.shape), random_state=rng).fit(X)
        scores = self.pca_.transform(X)
        n_components = scores.shape[1]
        rotation = np.linalg.qr(rng.standard_normal((self.n_bits, self.n_bits)))[0][:n_components]
        corners = np.where(scores @ rotation > 0, 1.0, -1.0)
        errors = [((corners - scores @ rotation) ** 2).sum()]
        for _ in range(self.n_iter):
            # The rotation nearest to the corners (orthogonal Procrustes), then its corners.
            left, _, right = svd(scores.T @ corners, full_matrices=False)
            rotation = left @ right
            corners = np.where(scores @ rotation > 0, 1.0, -1.0)
            errors.append(((corners - scores @ rotation) ** 2).sum())
        self.rotation_, self.errors_ = rotation, np.array(errors)

    def _project(self, X: Array) -> Array:
        return np.asarray(self.pca_.transform(X) @ self.rotation_)


class SpectralHashing(HashTransformer):
    """Smoothest eigenfunctions of a box of principal axes (Weiss et al., NIPS 2008).

    On a box ``[a, b]`` the graph Laplacian's eigenfunctions are ``sin(pi/2 + k pi/(b-a) x)``,
    and their eigenvalues grow with ``k / (b - a)``. Principal axes are taken for independent,
    so the smoothest functions over all axes and frequencies k make the bits. A long axis may
    give several bits; thus codes may be longer than there are features.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes, and the largest number of principal axes.
    random_state : int, RandomState or None
        Start of the eigensolver; the method itself is deterministic.

    Attributes
    ----------
    pca_ : PCA
        The axes.
    low_, range_ : arrays, one entry an axis
        The box.
    axes_, frequencies_ : (n_bits,) arrays
        Axis and frequency k of each bit.
    """

    def __init__(
        self, *, n_bits: int = 5, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _learn(self, X: Array, rng: np.random.RandomState) -> None:
        n_axes = min(self.n_bits, *X.shape)
        self.pca_ = PCA(n_axes, random_state=rng).fit(X)
        scores = self.pca_.transform(X)
        self.low_ = scores.min(axis=0)
        extent = np.ptp(scores, axis=0)
        # An axis without extent has no information: the shortest range makes it the last one.
        self.range_ = np.maximum(extent, max(1e-9 * float(extent.max()), np.finfo(float).tiny))
        frequencies = np.arange(1, self.n_bits + 1)
        roughness = frequencies[None, :] / self.range_[:, None]
        order = np.argsort(roughness, axis=None, kind="stable")[: self.n_bits]
        self.axes_, columns = np.unravel_index(order, roughness.shape)
        self.frequencies_ = frequencies[columns]

    def _project(self, X: Array) -> Array:
        position = ((self.pca_.transform(X) - self.low_) / self.range_)[:, self.axes_]
        return np.asarray(np.cos(np.pi * self.frequencies_ * position))  # sin(pi/2 + .)
