"""Locality-sensitive hashing with random hyperplanes (Charikar, STOC 2002)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shlcore.baselines.base import HashTransformer

if TYPE_CHECKING:
    from shlcore.array_types import Array


class LSH(HashTransformer):
    """Bits are the sides of random hyperplanes.

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
