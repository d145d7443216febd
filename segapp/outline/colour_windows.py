"""A class explained by colour, window by window: ridge regression of its indicator on colours.

This is the guided filter of He, Sun and Tang (2010) up to its coefficients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RADIUS = 4
"""Of a window, in cells (pixels of the coarse level); its side is 2³ + 1 for `_averaged`."""
_RIDGE = np.float32(1e-3)
"""Variance of colour (from 0 to 1) below which a window is taken to have no edge."""
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class ColourWindows:
    """How colours vary in the windows of a stack of blocks.

    Parameters
    ----------
    colours
        ``blocks x side x side x 3``, from 0 to 1.
    """

    def __init__(self, colours: NDArray[np.float32]) -> None:
        self._colours = colours
        products = np.empty((*colours.shape[:3], 9), dtype=np.float32)
        products[..., :3] = colours
        for place, (i, j) in enumerate(_PAIRS, start=3):
            np.multiply(colours[..., i], colours[..., j], out=products[..., place])
        means = _averaged(products)
        self._mean = means[..., :3]
        rr, rg, rb, gg, gb, bb = (
            means[..., place] - means[..., i] * means[..., j]
            for place, (i, j) in enumerate(_PAIRS, start=3)
        )
        rr, gg, bb = rr + _RIDGE, gg + _RIDGE, bb + _RIDGE
        # The inverse of a symmetric 3 x 3 matrix by its minors.
        minors = (
            gg * bb - gb * gb,
            rb * gb - rg * bb,
            rg * gb - rb * gg,
            rr * bb - rb * rb,
            rg * rb - rr * gb,
            rr * gg - rg * rg,
        )
        determinant = rr * minors[0] + rg * minors[1] + rb * minors[2]
        self._inverse = [minor / determinant for minor in minors]

    def explained(
        self, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return coefficients of the colours and a constant, and the mask's share of windows.

        ``mask`` is ``blocks x side x side``. Shares are of the windows that lie in a block,
        and coefficients are averaged over such windows again: the one are `RADIUS` cells
        narrower than the block on each side, the other twice that.
        """
        masked = np.empty((*mask.shape, 4), dtype=np.float32)
        np.multiply(self._colours, mask[..., None], out=masked[..., :3])
        masked[..., 3] = mask
        means = _averaged(masked)
        share = means[..., 3]
        r, g, b = (means[..., k] - self._mean[..., k] * share for k in range(3))
        rr, rg, rb, gg, gb, bb = self._inverse
        slopes = rr * r + rg * g + rb * b, rg * r + gg * g + gb * b, rb * r + gb * g + bb * b
        rest = share.copy()
        for k, slope in enumerate(slopes):
            rest -= slope * self._mean[..., k]
        return _averaged(np.stack((*slopes, rest), axis=-1)), share


def _averaged(stack: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average over all windows that lie in a block: nine cells by sums of two, four and eight."""
    for axis in (1, 2):
        lines = np.moveaxis(stack, axis, 0)
        pairs = lines[:-1] + lines[1:]
        fours = pairs[:-2] + pairs[2:]
        nines = fours[:-5] + fours[4:-1]
        nines += lines[8:]
        stack = np.moveaxis(nines, 0, axis)
    return np.ascontiguousarray(stack) * np.float32(1 / (2 * RADIUS + 1) ** 2)
