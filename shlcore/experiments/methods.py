"""The compared hash methods by name, and *SHL's kernels for given data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from shlcore import baselines
from shlcore.distances import squared_distances
from shlcore.estimator import SHL
from shlcore.kernels import Gaussian, Kernel, Polynomial
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array

SAMPLE = 1000  # rows on which distances are judged: a median of so many is known to a few percent
# Chosen on held-out rows of usps and mnist; tests/benchmarks/RETRIEVAL.md has what was compared.
DEGREES = (2, 3, 5)
BANDWIDTHS = (-0.5, 0.0, 0.5, 1.0, 2.0)  # powers of 2, in nearest-neighbour distances


class Hasher(Protocol):
    """What an experiment needs of a method."""

    def fit(self, X: Array, y: AnyArray) -> Hasher:
        """Learn."""

    def hash(self, X: Array) -> NDArray[np.uint8]:
        """Packed codes."""


def shl(n_bits: int, seed: int, X: Array) -> Hasher:
    """*SHL with the paper's settings, but kernels that fit the data's scale."""
    # Codes settle long before eq. (6) does: a smaller tol doubles the time for nothing.
    hasher: Hasher = SHL(n_bits=n_bits, kernels=kernels_for(X), tol=1e-2, random_state=seed)
    return hasher


def kernels_for(X: Array) -> list[Kernel]:
    """Choose polynomial kernels, and Gaussians around the distance to a row's nearest other.

    The paper's bandwidths are fixed. On many columns most of them have the identity for a
    Gram matrix: such a kernel fits any labels, says nothing about new rows, and the kernel
    weights favour it all the same. These here were chosen on splits of training rows.
    """
    rows = learn_scaling("minmax", summarise(X, np.ones(len(X)))).apply(X)
    sample = rows[:: -(-len(rows) // SAMPLE)]
    squared = squared_distances(sample, rows)
    # The nearest is the row itself: 0. Rows equal to it say nothing about scale.
    others = np.where(squared > 1e-12, squared, np.inf).min(axis=1)
    others = others[np.isfinite(others)]
    nearest = float(np.sqrt(np.median(others))) if len(others) else 1.0
    gaussians = [Gaussian(nearest * 2.0**power) for power in BANDWIDTHS]
    return [*(Polynomial(degree) for degree in DEGREES), *gaussians]


def shl_paper(n_bits: int, seed: int, X: Array) -> Hasher:  # noqa: ARG001 (one signature)
    """*SHL with the paper's settings, its eleven kernels among them."""
    hasher: Hasher = SHL(n_bits=n_bits, random_state=seed)
    return hasher


METHODS: dict[str, Callable[[int, int, Array], Hasher]] = {
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
    "*SHL-paper": shl_paper,
}
COMPARED = [name for name in METHODS if name != "*SHL-paper"]


def method_name(text: str) -> str:
    """Find a method whatever the case, with or without *SHL's star."""
    for name in METHODS:
        if text.lower().lstrip("*") == name.lower().lstrip("*"):
            return name
    raise ValueError(f"methods: wanted some of {', '.join(METHODS)}, got {text!r}")
