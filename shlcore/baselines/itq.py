"""Iterative Quantization (Gong and Lazebnik, CVPR 2011)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import svd
from sklearn.decomposition import PCA

from shlcore.baselines.base import HashTransformer

if TYPE_CHECKING:
    from shlcore.array_types import Array


class ITQ(HashTransformer):
    """Principal components, rotated so that they lie close to the corners of a cube.

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
