"""The learning problem, its start and the model so far, as immutable values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices


UNLABELLED = -1

Function = TypeVar("Function")
"""A solver's representation of one hash function: dual coefficients, or feature weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Labels, weights and constants of eq. (6).

    Parameters
    ----------
    labels
        ``(n,)``, class index of each row, or `UNLABELLED`.
    weights
        ``(n,)``, number of samples that each row stands for; positive.
    fixed_codewords
        Whether block 3 is left out.
    """

    labels: Indices
    weights: Array
    n_classes: int
    n_codewords: int
    n_bits: int
    lambda1: float
    lambda2: float
    p: float
    fixed_codewords: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The starting point of a descent.

    Parameters
    ----------
    codewords
        ``(C, S, B)``, -1 or +1.
    members
        ``(n,)``, the flat codeword index of each row, or `UNLABELLED` for rows that wait
        until the others are fitted.
    kernel_weights
        ``(B, M)``; None stands for equal ones.
    """

    codewords: NDArray[np.int8]
    members: Indices
    kernel_weights: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Model(Generic[Function]):
    """The parameters omega: codewords, hash functions and kernel weights.

    Parameters
    ----------
    codewords
        ``(C, S, B)``, -1 or +1.
    projections
        ``(n, B)``, f at the training rows.
    kernel_weights
        ``(B, M)``, theta.
    squared_norms
        ``(B, M)``, ``||w_bm||^2``.
    functions
        B functions in the solver's representation.
    """

    codewords: NDArray[np.int8]
    projections: Floats
    kernel_weights: Array
    squared_norms: Array
    functions: tuple[Function, ...]
