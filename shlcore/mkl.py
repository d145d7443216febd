"""Block 2: the kernel weights in closed form (eq. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shlcore.array_types import Array


def uniform_weights(n_kernels: int, p: float) -> Array:
    """Return the kernel weights that prefer none: equal, with p-norm 1."""
    return np.full(n_kernels, n_kernels ** (-1.0 / p))


def weigh_kernels(squared_norms: Array, kernel_weights: Array, p: float) -> Array:
    """Minimise ``1/2 sum_m ||w_m||^2 / theta_m`` over ``theta >= 0, ||theta||_p <= 1``.

    Parameters
    ----------
    squared_norms
        ``(..., M)``, ``||w_m||^2``.
    kernel_weights
        Present weights, kept where all norms are 0: there every theta is as good.
    """
    largest = squared_norms.max(axis=-1, keepdims=True)
    flat = largest <= 0
    # Dividing by the largest norm changes nothing and keeps the powers in range.
    relative = squared_norms / np.where(flat, 1.0, largest)
    powers = relative ** (1.0 / (p + 1.0))
    weights = powers / np.where(flat, 1.0, (powers**p).sum(axis=-1, keepdims=True) ** (1.0 / p))
    return np.where(flat, kernel_weights, weights)
