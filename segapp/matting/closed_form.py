"""Closed-form matting (Levin, Lischinski and Weiss, 2008) of the pixels that are in doubt.

In a window of 3 x 3 pixels, alpha is taken to be a linear function of the colour. The squared
error of the best such functions, summed over all windows, is a quadratic form of alpha: the
matting Laplacian. Alpha is given outside the doubtful pixels, and least squares finds the rest.

Where both sides are full of detail, colours alone mislead. A guess at alpha, that of a mask's
outline for instance, is listened to a little everywhere; where colours speak clearly they win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.matting.laplacian import laplacian_rows, neighbours

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    _Real = np.floating[Any]

_TRUST = 0.01
"""Weight of the guess against a window's error; chosen on `tests/benchmarks/matting.py`."""

_FEW = 2000
"""Unknown pixels that are solved for at once; more of them take steps."""

_PRECISION = 2e-5
"""What alpha of a pixel may still be wrong by if its neighbours' are right: with theirs it is up
to some thirty times that, well below what a byte can tell."""

_MOST_STEPS = 2000


def closed_form_alpha(
    rgb: NDArray[_Real],
    alpha: NDArray[_Real],
    unknown: NDArray[np.bool_],
    trust: float = _TRUST,
) -> NDArray[_Real]:
    """Return ``alpha`` with the unknown pixels found, all within 0 and 1.

    Parameters
    ----------
    rgb
        ``H x W x 3`` from 0 to 1, at least 3 x 3 pixels.
    alpha
        ``H x W``: given, and a guess at unknown pixels.
    unknown
        ``H x W``.
    trust
        Weight of the guess, above 0.
    """
    if not unknown.any():
        return alpha
    here = np.flatnonzero(unknown)
    few = here.size <= _FEW
    rows = laplacian_rows(rgb, unknown, np.float64 if few else np.float32)
    # A neighbour outside of the picture has the weight 0, whichever pixel it is taken for.
    columns = here[:, np.newaxis] + neighbours(unknown.shape[1])
    columns = np.clip(columns, 0, unknown.size - 1).astype(np.int32)
    starts = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    ties = scipy.sparse.csr_array(
        (rows.ravel(), columns.ravel(), starts), shape=(here.size, unknown.size)
    )
    # The guess contradicts nothing but the ties: its own weight is met by itself.
    left = -(ties @ alpha.ravel().astype(rows.dtype))
    change = (_at_once if few else _step_by_step)(ties, here, left, trust)
    filled = alpha.copy()
    filled[unknown] = np.clip(alpha[unknown] + change, 0.0, 1.0)
    return filled


def _at_once(
    ties: scipy.sparse.csr_array, here: NDArray[np.int64], left: NDArray[_Real], trust: float
) -> NDArray[_Real]:
    """Solve exactly."""
    square = ties.tocsc()[:, here]
    square.setdiag(square.diagonal() + trust)
    options = {"SymmetricMode": True}
    factors = scipy.sparse.linalg.splu(square, permc_spec="MMD_AT_PLUS_A", options=options)
    solved: NDArray[_Real] = factors.solve(left)
    return solved


def _step_by_step(
    ties: scipy.sparse.csr_array, here: NDArray[np.int64], left: NDArray[_Real], trust: float
) -> NDArray[_Real]:
    """Solve by conjugate gradients, each pixel scaled by its own weight."""
    weight = ties.data[12::25] + left.dtype.type(trust)
    change = np.zeros_like(left)
    ahead = np.zeros(ties.shape[1], left.dtype)  # where to go, 0 at pixels that are given
    scaled = left / weight
    way, length = scaled, left @ scaled
    for _ in range(_MOST_STEPS):
        if np.abs(scaled).max() <= _PRECISION:
            break
        ahead[here] = way
        pull = ties @ ahead
        pull += trust * way
        step = length / (way @ pull)
        change += step * way
        left = left - step * pull
        scaled = left / weight
        before, length = length, left @ scaled
        way = scaled + (length / before) * way
    return change
