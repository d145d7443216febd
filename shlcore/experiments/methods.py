"""The compared hash methods by name, and *SHL's kernels for given data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from shlcore import baselines
from shlcore.estimator import SHL
from shlcore.kernels import fitting_kernels
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array
    from shlcore.kernels import Kernel


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
    """Return what ``kernels="auto"`` chooses for these rows, less the widest Gaussian.

    It came later than the tables of tests/benchmarks/RETRIEVAL.md.
    """
    rows = learn_scaling("minmax", summarise(X, np.ones(len(X)))).apply(X)
    return list(fitting_kernels(rows)[:-1])


def shl_paper(n_bits: int, seed: int, X: Array) -> Hasher:  # noqa: ARG001 (one signature)
    """*SHL with the paper's settings, its eleven kernels among them."""
    hasher: Hasher = SHL.paper(n_bits=n_bits, random_state=seed)
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
