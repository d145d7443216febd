"""What is to be learnt, and what has been learnt so far, as immutable values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

UNLABELLED = -1

Function = TypeVar("Function")
"""How a solver writes down one hash function: dual coefficients, or feature weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Eq. (6) without its data terms: who is labelled, and the constants.

    Parameters
    ----------
    labels
        ``(n,)``, index of the class of each row, or `UNLABELLED`.
    weights
        ``(n,)``, how many samples each row stands for; positive.
    """

    labels: NDArray[np.intp]
    weights: Array
    n_classes: int
    n_codewords: int
    n_bits: int
    lambda1: float
    lambda2: float
    p: float


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
        B of them, in the solver's own notation.
    """

    codewords: NDArray[np.int8]
    projections: NDArray[np.floating[Any]]
    kernel_weights: Array
    squared_norms: Array
    functions: tuple[Function, ...]
