"""Spectral Hashing (Weiss, Torralba and Fergus, NIPS 2008)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import PCA

from shlcore.baselines.base import HashTransformer

if TYPE_CHECKING:
    from shlcore.array_types import Array


class SpectralHashing(HashTransformer):
    """Bits are the signs of the smoothest eigenfunctions of a box along the principal axes.

    On a box ``[a, b]`` the graph Laplacian's eigenfunctions are ``sin(pi/2 + k pi/(b-a) x)``,
    and their eigenvalues grow with ``k / (b - a)``. Principal axes are taken for independent,
    so the smoothest functions over all axes and frequencies k make the bits. A long axis may
    give several bits; thus codes may be longer than there are features.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes, and the largest number of principal axes.
    random_state : int, RandomState or None
        Only decides the solver's start; the method itself draws nothing.

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
        # An axis without extent carries nothing: as short as can be, so it comes last.
        self.range_ = np.maximum(extent, max(1e-9 * float(extent.max()), np.finfo(float).tiny))
        frequencies = np.arange(1, self.n_bits + 1)
        roughness = frequencies[None, :] / self.range_[:, None]
        order = np.argsort(roughness, axis=None, kind="stable")[: self.n_bits]
        self.axes_, columns = np.unravel_index(order, roughness.shape)
        self.frequencies_ = frequencies[columns]

    def _project(self, X: Array) -> Array:
        position = ((self.pca_.transform(X) - self.low_) / self.range_)[:, self.axes_]
        return np.asarray(np.cos(np.pi * self.frequencies_ * position))  # sin(pi/2 + .)
