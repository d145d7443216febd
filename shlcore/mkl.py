"""Multiple kernel learning: regularisers and kernel weights (block 2, eq. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shlcore.array_types import Array


def uniform_weights(n_kernels: int, p: float) -> Array:
    """Return equal kernel weights with p-norm 1."""
    return np.full(n_kernels, n_kernels ** (-1.0 / p))


def regularisers(squared_norms: Array, kernel_weights: Array) -> Array:
    """Return ``1/2 sum_m ||w_bm||^2 / theta_bm`` of each bit, where 0 / 0 is 0."""
    used = squared_norms > 0
    ratio = np.divide(squared_norms, kernel_weights, out=np.zeros_like(squared_norms), where=used)
    return np.asarray(0.5 * ratio.sum(axis=-1))


def weigh_kernels(squared_norms: Array, kernel_weights: Array, p: float) -> Array:
    """Minimise ``1/2 sum_m ||w_m||^2 / theta_m`` for ``theta >= 0, ||theta||_p <= 1``.

    Parameters
    ----------
    squared_norms
        ``(..., M)``, ``||w_m||^2``.
    kernel_weights
        Current weights, kept where all norms are 0: there every theta is optimal.
    """
    largest = squared_norms.max(axis=-1, keepdims=True)
    flat = largest <= 0
    # Dividing by the largest norm leaves the result unchanged and avoids overflow of the powers.
    relative = squared_norms / np.where(flat, 1.0, largest)
    powers = relative ** (1.0 / (p + 1.0))
    weights = powers / np.where(flat, 1.0, (powers**p).sum(axis=-1, keepdims=True) ** (1.0 / p))
    return np.where(flat, kernel_weights, weights)
