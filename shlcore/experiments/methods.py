"""The compared hash methods by name, and *SHL's kernels for given data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from shlcore import baselines
from shlcore.estimator import SHL
from shlcore.kernels import Gaussian, Kernel, paper_kernels
from shlcore.scaling import learn_scaling

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SAMPLE = 1000  # rows on which kernels are judged
LEAST_SIMILARITY = 0.1


class Hasher(Protocol):
    """What an experiment needs of a method."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Hasher:
        """Learn."""

    def hash(self, X: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Packed codes."""


def shl(n_bits: int, seed: int, X: NDArray[np.float64]) -> Hasher:
    """*SHL with the paper's settings, less the kernels that cannot generalise from X."""
    hasher: Hasher = SHL(n_bits=n_bits, kernels=informative_kernels(X), random_state=seed)
    return hasher


def informative_kernels(X: NDArray[np.float64]) -> list[Kernel]:
    """Leave out of the paper's kernels the Gaussians to which no row resembles another.

    On many columns narrow ones have the identity for a Gram matrix: they fit any
    labels, say nothing about new rows, and the kernel weights still favour them. Judged by
    the median similarity of a training row to the nearest other one.
    """
    rows = learn_scaling("minmax", X, np.ones(len(X))).apply(X)
    sample = rows[:: -(-len(rows) // SAMPLE)]
    squared = euclidean_distances(sample, rows, squared=True)
    # The nearest is the row itself, or one equal to it.
    nearest = np.median(np.partition(squared, 1, axis=1)[:, 1])
    return [
        kernel
        for kernel in paper_kernels()
        if not isinstance(kernel, Gaussian)
        or np.exp(-nearest / (2 * kernel.sigma**2)) >= LEAST_SIMILARITY
    ]


METHODS: dict[str, Callable[[int, int, NDArray[np.float64]], Hasher]] = {
    "*SHL": shl,
    "KSH": lambda bits, seed, _: baselines.KSH(n_bits=bits, random_state=seed),
    "BRE": lambda bits, seed, _: baselines.BRE(n_bits=bits, random_state=seed),
    "1-AGH": lambda bits, seed, _: baselines.AnchorGraphHashing(n_bits=bits, random_state=seed),
    "2-AGH": lambda bits, seed, _: baselines.AnchorGraphHashing(
        n_bits=bits, n_layers=2, random_state=seed
    ),
    "SPH": lambda bits, seed, _: baselines.SpectralHashing(n_bits=bits, random_state=seed),
    "LSH": lambda bits, seed, _: baselines.LSH(n_bits=bits, random_state=seed),
    "ITQ": lambda bits, seed, _: baselines.ITQ(n_bits=bits, random_state=seed),
    "SDH": lambda bits, seed, _: baselines.SDH(n_bits=bits, random_state=seed),
}


def method_name(text: str) -> str:
    """Find a method whatever the case, with or without *SHL's star."""
    for name in METHODS:
        if text.lower().lstrip("*") == name.lower().lstrip("*"):
            return name
    raise ValueError(f"methods: wanted some of {', '.join(METHODS)}, got {text!r}")
