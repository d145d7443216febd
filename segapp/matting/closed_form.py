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
from scipy.ndimage import maximum_filter
from scipy.sparse import csr_array
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPSILON = 1e-7
"""How steep alpha may be over colour: the value of the authors' code, for colours from 0 to 1."""

_TRUST = 0.01
"""Weight of the guess against a window's error; chosen on `tests/benchmarks/matting.py`."""

_WINDOW = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
_REACH = 2
"""Two pixels share a window when they are no farther apart than this."""


def closed_form_alpha(
    rgb: NDArray[np.float64],
    alpha: NDArray[np.float64],
    unknown: NDArray[np.bool_],
    trust: float = _TRUST,
) -> NDArray[np.float64]:
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
    stencil = _laplacian_rows(rgb, unknown)
    width = alpha.shape[1] + 2 * _REACH
    number = np.full(unknown.size, -1, np.int64)
    number[unknown.ravel()] = np.arange(unknown.sum())
    number = np.pad(number.reshape(unknown.shape), _REACH, constant_values=-1).ravel()
    given = np.pad(np.where(unknown, 0.0, alpha), _REACH).ravel()
    here = np.flatnonzero(number >= 0)
    near = here[:, np.newaxis] + np.array(
        [dy * width + dx for dy in range(-2, 3) for dx in range(-2, 3)]
    )
    columns = number[near]
    right = trust * alpha[unknown] - (stencil * given[near]).sum(axis=1)
    inner = columns >= 0
    starts = np.concatenate([[0], np.cumsum(inner.sum(axis=1))])
    laplacian = csr_array(
        (stencil[inner], columns[inner], starts), shape=(len(here), len(here))
    ).tocsc()
    laplacian.setdiag(laplacian.diagonal() + trust)
    solved = splu(laplacian, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(
        right
    )
    filled = alpha.copy()
    filled[unknown] = np.clip(solved, 0.0, 1.0)
    return filled


def _laplacian_rows(rgb: NDArray[np.float64], unknown: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the Laplacian's rows of the unknown pixels: 25 columns, their neighbours in 5 x 5."""
    height, width = unknown.shape
    touching = maximum_filter(unknown, size=3)[1:-1, 1:-1]
    rows, columns = np.nonzero(touching)
    centres = (rows + 1) * width + columns + 1
    members = centres[:, np.newaxis] + np.array([dy * width + dx for dy, dx in _WINDOW])
    colours = rgb.reshape(-1, 3)[members]
    apart = colours - colours.mean(axis=1, keepdims=True)
    spread = np.einsum("wik,wil->wkl", apart, apart) / 9.0
    spread[:, np.arange(3), np.arange(3)] += _EPSILON / 9.0
    slopes = np.linalg.solve(spread, apart.transpose(0, 2, 1))
    ties = (1.0 + apart @ slopes) / -9.0
    ties[:, np.arange(9), np.arange(9)] += 1.0
    # One pair of places at a time no pixel comes twice, so that plain addition is right.
    stencil = np.zeros((25, height * width))
    for i, (iy, ix) in enumerate(_WINDOW):
        for j, (jy, jx) in enumerate(_WINDOW):
            stencil[(jy - iy + 2) * 5 + (jx - ix + 2), members[:, i]] += ties[:, i, j]
    return stencil[:, unknown.ravel()].T
