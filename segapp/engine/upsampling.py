"""Upsampling of labels from the working resolution, guided by colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.imaging.pyramid import upsample

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.engine.clean_up import LabelPatch
    from segapp.imaging.seeds import SeedMap


@dataclass(frozen=True, slots=True, eq=False)
class UpsampledLabels:
    """Labels at full size, with the inputs from which the next upsampling continues.

    Parameters
    ----------
    small
        The labels of the working resolution.
    marked
        The marked pixels, whose class is fixed.
    labels
        uint8, read-only, cleaned up.
    patch
        The change by the clean-up.
    """

    small: NDArray[np.uint8]
    marked: SeedMap
    labels: NDArray[np.uint8]
    patch: LabelPatch | None

    def __post_init__(self) -> None:
        self.labels.flags.writeable = False

    def before_clean_up(self) -> NDArray[np.uint8]:
        """Return a copy of the labels without the clean-up."""
        labels = self.labels.copy()
        if self.patch is not None:
            self.patch.revert(labels)
        return labels


# This is the guided filter of He, Sun and Tang (2010) up to its coefficients.

RADIUS = 4
"""Of a window, in cells (pixels of the working resolution); its side is 2³ + 1 for `_box_mean`."""
_RIDGE = np.float32(1e-3)
"""Variance of colour (from 0 to 1) below which a window is taken to have no edge."""
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class GuideWindows:
    """Means and inverse covariances of the guide's colours in windows.

    Parameters
    ----------
    colours
        ``blocks x side x side x 3``, from 0 to 1.
    """

    def __init__(self, colours: NDArray[np.float32]) -> None:
        self._colours = colours
        products = np.empty((*colours.shape[:3], 9), dtype=np.float32)
        products[..., :3] = colours
        for index, (i, j) in enumerate(_PAIRS, start=3):
            np.multiply(colours[..., i], colours[..., j], out=products[..., index])
        means = _box_mean(products)
        self._mean = means[..., :3]
        rr, rg, rb, gg, gb, bb = (
            means[..., index] - means[..., i] * means[..., j]
            for index, (i, j) in enumerate(_PAIRS, start=3)
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

    def coefficients(
        self, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return coefficients of the colours, a constant, and the mask's share.

        ``mask`` is ``blocks x side x side``. Shares are of the windows that lie in a block,
        and coefficients are averaged over such windows again: the former are `RADIUS` cells
        narrower than the block on each side, the latter twice that.
        """
        masked = np.empty((*mask.shape, 4), dtype=np.float32)
        np.multiply(self._colours, mask[..., None], out=masked[..., :3])
        masked[..., 3] = mask
        means = _box_mean(masked)
        share = means[..., 3]
        r, g, b = (means[..., k] - self._mean[..., k] * share for k in range(3))
        rr, rg, rb, gg, gb, bb = self._inverse
        slopes = rr * r + rg * g + rb * b, rg * r + gg * g + gb * b, rb * r + gb * g + bb * b
        rest = share.copy()
        for k, slope in enumerate(slopes):
            rest -= slope * self._mean[..., k]
        return _box_mean(np.stack((*slopes, rest), axis=-1)), share


def _box_mean(stack: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average over the windows of a block: nine cells by sums of two, four, eight."""
    for axis in (1, 2):
        lines = np.moveaxis(stack, axis, 0)
        pairs = lines[:-1] + lines[1:]
        fours = pairs[:-2] + pairs[2:]
        nines = fours[:-5] + fours[4:-1]
        nines += lines[8:]
        stack = np.moveaxis(nines, 0, axis)
    return np.ascontiguousarray(stack) * np.float32(1 / (2 * RADIUS + 1) ** 2)


# Around the coarse boundary a class is explained by colour, window by window: the ridge regression
# of the class's indicator on the colours of the working resolution (the guided filter), whose
# coefficients are then applied to the colours at full size. Where a window has an edge, the
# boundary follows it pixel by pixel; where it has none, the boundary is that of the blurred
# indicator, which is smooth.
#
# A pixel's label depends on the image and on the coarse labels within `_REACH` cells of it alone.
# So a new answer is upsampled again only in the blocks of cells where the coarse labels changed,
# with the same pixels as from scratch.

_REACH = 2 * RADIUS + 1
"""Coefficients are averaged over a window of windows, and interpolated between cells."""
_BLOCK = 16
"""Cells along a side of the blocks that are upsampled."""
_SIDE = _BLOCK + 2 * _REACH
_BLOCKS_AT_ONCE = 96
_PIXELS_AT_ONCE = 1 << 18


def guided_upsample(
    levels: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    small: NDArray[np.uint8],
    marked: SeedMap,
    n_classes: int,
    before: UpsampledLabels | None,
) -> Generator[float, None, NDArray[np.uint8]]:
    """Upsample labels to full size; yield the share done, return the array.

    Parameters
    ----------
    levels
        The image at full size and at the size of ``small``.
    before
        Any earlier upsampling for this image, for unchanged blocks.
    """
    rgb, coarse = levels
    if before is None:
        labels = np.empty(rgb.shape[:2], dtype=np.uint8)
        blocks = np.ones([-(-size // _BLOCK) for size in small.shape], dtype=bool)
    else:
        labels = before.before_clean_up()
        changed = (before.small != small) | marked.differs_from(before.marked)
        # A block is wider than the reach: a change concerns its block and the neighbours.
        near = ndimage.binary_dilation(_any_in_squares(changed, _BLOCK), np.ones((3, 3), bool))
        blocks = np.asarray(near)
    upsampler = _GuidedUpsampler(rgb, coarse, marked.times, n_classes)
    yield from upsampler.write(small, labels, blocks)
    marked.pin(labels)
    return labels


def _any_in_squares(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Return which squares of a side hold any pixel of a mask."""
    rows, columns = (np.arange(0, size, side) for size in mask.shape)
    return np.asarray(
        np.logical_or.reduceat(np.logical_or.reduceat(mask, rows, axis=0), columns, axis=1)
    )


class _GuidedUpsampler:
    """The guided filter from the working resolution to full size, block by block.

    Parameters
    ----------
    rgb, coarse
        The image at full size and at the working resolution.
    times
        Pixels of the former along a side of a cell, a pixel of the latter.
    """

    def __init__(
        self, rgb: NDArray[np.uint8], coarse: NDArray[np.uint8], times: int, n_classes: int
    ) -> None:
        self._rgb, self._coarse, self._times, self._n_classes = rgb, coarse, times, n_classes
        self._weights = _interpolation_weights(times)

    def write(
        self, small: NDArray[np.uint8], labels: NDArray[np.uint8], blocks: NDArray[np.bool_]
    ) -> Iterator[float]:
        """Upsample the chosen blocks of ``small`` into ``labels``, in place.

        In all other blocks ``labels`` are already those of ``small``.
        """
        self._repeat_cells(small, labels, blocks)
        mixed = np.argwhere(blocks & _mixed_blocks(small))
        framed = np.pad(small, _frame(small.shape), mode="edge")
        coarse = np.pad(self._coarse, (*_frame(small.shape), (0, 0)), mode="edge")
        for start in range(0, len(mixed), _BLOCKS_AT_ONCE):
            some = mixed[start : start + _BLOCKS_AT_ONCE]
            self._filter_blocks(some, _stack(framed, some), _stack(coarse, some), labels)
            yield (start + len(some)) / len(mixed)

    def _repeat_cells(
        self, small: NDArray[np.uint8], labels: NDArray[np.uint8], blocks: NDArray[np.bool_]
    ) -> None:
        """Give all pixels of a cell its label."""
        for row in np.flatnonzero(blocks.any(axis=1)):
            steps = np.diff(blocks[row].astype(np.int8), prepend=0, append=0)
            begins, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)
            for first, last in zip(begins * _BLOCK, ends * _BLOCK, strict=True):
                part = small[row * _BLOCK : (row + 1) * _BLOCK, first:last]
                top, left = row * _BLOCK * self._times, first * self._times
                into = labels[top : top + _BLOCK * self._times, left : last * self._times]
                into[:] = upsample(part, into.shape, self._times)

    def _filter_blocks(
        self,
        blocks: NDArray[np.intp],
        small: NDArray[np.uint8],
        rgb: NDArray[np.uint8],
        labels: NDArray[np.uint8],
    ) -> None:
        windows = GuideWindows(rgb.astype(np.float32) / np.float32(255.0))
        present = np.unique(small)
        if self._n_classes == 2:  # the coefficients of one class give those of the other
            present = present[:1]
        coefficients, shares = zip(
            *(windows.coefficients(small == label) for label in present), strict=True
        )
        inner = slice(_REACH - RADIUS, _REACH - RADIUS + _BLOCK)
        band = np.zeros((len(blocks), _BLOCK, _BLOCK), dtype=bool)
        for share in shares:
            band |= (share > 1e-4)[:, inner, inner] & (share < 1 - 1e-4)[:, inner, inner]
        height, width = self._coarse.shape[:2]
        block, row, column = np.nonzero(band)
        cell_rows, cell_columns = (
            blocks[block, 0] * _BLOCK + row,
            blocks[block, 1] * _BLOCK + column,
        )
        within = (cell_rows < height) & (cell_columns < width)
        cells = np.stack((block, row, column, cell_rows, cell_columns), axis=1)[within]
        at_once = max(1, _PIXELS_AT_ONCE // self._times**2)
        for start in range(0, len(cells), at_once):
            self._label_cells(cells[start : start + at_once], present, coefficients, labels)

    def _label_cells(
        self,
        cells: NDArray[np.intp],
        present: NDArray[np.uint8],
        coefficients: tuple[NDArray[np.float32], ...],
        labels: NDArray[np.uint8],
    ) -> None:
        block, row, column, cell_rows, cell_columns = cells.T
        steps = np.arange(self._times)[:, None]
        rows, columns = cell_rows * self._times + steps, cell_columns * self._times + steps
        height, width = labels.shape
        # The last cells of a row or column may reach beyond the image.
        inside = (rows < height)[:, None] & (columns < width)
        np.minimum(rows, height - 1, out=rows)
        np.minimum(columns, width - 1, out=columns)
        indices = (rows * width)[:, None] + columns
        colours = self._colours(indices)
        around = np.arange(3)[:, None]  # the cell before, itself and the next
        near = (block, (row + around)[:, None], column + around)
        best: NDArray[np.uint8] | None = None
        most: NDArray[np.float32] | None = None
        for label, coefficient in zip(present, coefficients, strict=True):
            share = self._share(coefficient[near], colours)
            if self._n_classes == 2:
                best = np.where(share > np.float32(0.5), label, 1 - label).astype(np.uint8)
            elif best is None or most is None:
                best, most = np.full(share.shape, label, dtype=np.uint8), share
            else:
                wins = share > most
                best[wins], most = label, np.maximum(share, most)
        if best is None:
            return
        flat = labels.reshape(-1)
        if inside.all():
            flat[indices] = best
        else:
            flat[indices[inside]] = best[inside]

    def _colours(self, indices: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the colours of some pixels, from 0 to 1, channel by channel."""
        pixels = self._rgb.reshape(-1, 3).take(indices, axis=0)
        colours = np.empty((3, *indices.shape), dtype=np.float32)
        for channel in range(3):
            np.divide(pixels[..., channel], np.float32(255.0), out=colours[channel])
        return colours

    def _share(
        self, near: NDArray[np.float32], colours: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Compute class shares of the pixels of some cells from coefficients."""
        share = self._interpolate(near[..., 3])
        for channel, colour in enumerate(colours):
            share += self._interpolate(near[..., channel]) * colour
        return share

    def _interpolate(self, near: NDArray[np.float32]) -> NDArray[np.float32]:
        """Interpolate one coefficient of 3 x 3 cells at the pixels of the middle one."""
        weights, near = self._weights[:, :, None], np.ascontiguousarray(near)
        down = sum(near[k] * weights[k][:, None] for k in range(3))
        return np.asarray(sum(down[:, k, None] * weights[k] for k in range(3)))


def _interpolation_weights(times: int) -> NDArray[np.float32]:
    """Return the weights of a pixel's cell and of the cells on both sides."""
    offset = (np.arange(times) + 0.5) / times - 0.5
    return np.stack((np.maximum(-offset, 0), 1 - np.abs(offset), np.maximum(offset, 0))).astype(
        np.float32
    )


def _frame(shape: tuple[int, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many cells are padded before and after, for all blocks to be whole."""
    rows, columns = ((_REACH, _REACH + -size % _BLOCK) for size in shape[:2])
    return rows, columns


def _stack(framed: NDArray[np.uint8], blocks: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return blocks with all cells within reach of them, one after the other."""
    side = np.arange(_SIDE)
    rows, columns = (blocks[:, axis, None] * _BLOCK + side for axis in (0, 1))
    return np.asarray(framed[rows[:, :, None], columns[:, None, :]])


def _mixed_blocks(small: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the blocks that have a window with an edge, and maybe a few more."""
    edge = np.zeros(small.shape, dtype=bool)
    edge[1:] |= small[1:] != small[:-1]
    edge[:, 1:] |= small[:, 1:] != small[:, :-1]
    squares = _any_in_squares(edge, RADIUS)
    near = np.asarray(ndimage.binary_dilation(squares, np.ones((3, 3), bool)))
    return _any_in_squares(near, _BLOCK // RADIUS)
