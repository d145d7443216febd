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

    from segapp.engine.clean_up import Rewriting
    from segapp.imaging.seeds import SeedMap


@dataclass(frozen=True, slots=True, eq=False)
class Enlarged:
    """Labels at full size, and all that the next drawing goes on from.

    Parameters
    ----------
    small
        The labels of the level at which is learnt.
    marked
        Marked pixels have the class they are marked with.
    labels
        uint8, read-only, tidied.
    tidying
        What tidying has written over the drawing.
    """

    small: NDArray[np.uint8]
    marked: SeedMap
    labels: NDArray[np.uint8]
    tidying: Rewriting | None

    def as_drawn(self) -> NDArray[np.uint8]:
        """Return a copy of the labels as they were before tidying."""
        labels = self.labels.copy()
        if self.tidying is not None:
            self.tidying.take_back(labels)
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class FreshDrawing:
    """What has just been drawn, and was shown to nobody: its labels may be written to, once."""

    small: NDArray[np.uint8]
    marked: SeedMap
    labels: NDArray[np.uint8]

    def tidied(self, tidying: Rewriting | None) -> Enlarged:
        """Write over the labels in place: to copy them takes longer than all of tidying."""
        if tidying is not None:
            tidying.write(self.labels)
        self.labels.flags.writeable = False
        return Enlarged(self.small, self.marked, self.labels, tidying)


# This is the guided filter of He, Sun and Tang (2010) up to its coefficients.

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


# Around the coarse outline a class is explained by colour, window by window: the ridge regression
# of the class's indicator on the colours of the coarse level (the guided filter of He, Sun and
# Tang, 2010), whose coefficients are then applied to the colours at full size. Where a window has
# an edge, the outline follows it pixel by pixel; where it has none, the outline is that of the
# blurred indicator, which is smooth.
#
# What a pixel gets depends on the picture and on the coarse labels within `_REACH` cells of it and
# on nothing else. So a new answer is drawn again only in the blocks of cells where the coarse
# labels changed, and is to the pixel what drawing it from scratch would give.

_REACH = 2 * RADIUS + 1
"""Coefficients are averaged over a window of windows, and interpolated between cells."""
_BLOCK = 16
"""Cells along a side of what is drawn again as one."""
_SIDE = _BLOCK + 2 * _REACH
_BLOCKS_AT_ONCE = 96
_PIXELS_AT_ONCE = 1 << 18


def enlarged(
    sizes: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    small: NDArray[np.uint8],
    marked: SeedMap,
    n_classes: int,
    before: Enlarged | None,
) -> Generator[float, None, FreshDrawing]:
    """Draw labels at full size; yield the share that is done.

    Parameters
    ----------
    sizes
        The picture at full size and at the size of ``small``.
    before
        Any earlier drawing of this picture: whatever is the same is taken from it.
    """
    rgb, coarse = sizes
    if before is None:
        labels = np.empty(rgb.shape[:2], dtype=np.uint8)
        blocks = _all_blocks(small.shape)
    else:
        labels = before.as_drawn()
        blocks = _changed_blocks(before.small, small, marked.differs_from(before.marked))
    yield from _Enlarging(rgb, coarse, marked.times, n_classes).draw(small, labels, blocks)
    marked.pin(labels)
    return FreshDrawing(small, marked, labels)


def _changed_blocks(
    before: NDArray[np.uint8], now: NDArray[np.uint8], also: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which blocks have to be drawn again: within reach of a changed label or mark."""
    differs = _any_of((before != now) | also, _BLOCK)
    # A block is wider than the reach: what changed in one concerns its neighbours and no others.
    return np.asarray(ndimage.binary_dilation(differs, np.ones((3, 3), dtype=bool)))


def _all_blocks(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.ones((-(-shape[0] // _BLOCK), -(-shape[1] // _BLOCK)), dtype=bool)


def _any_of(mask: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Tell which squares of a side hold any of a mask."""
    rows, columns = (np.arange(0, size, side) for size in mask.shape)
    return np.asarray(
        np.logical_or.reduceat(np.logical_or.reduceat(mask, rows, axis=0), columns, axis=1)
    )


class _Enlarging:
    """Draws labels of the coarse level at full size, block by block.

    Parameters
    ----------
    rgb, coarse
        The picture at full size and at the level of the labels.
    times
        How many pixels of the one are a cell of the other, along a side.
    """

    def __init__(
        self, rgb: NDArray[np.uint8], coarse: NDArray[np.uint8], times: int, n_classes: int
    ) -> None:
        self._rgb, self._coarse, self._times, self._n_classes = rgb, coarse, times, n_classes
        self._weights = _interpolation(times)

    def draw(
        self, small: NDArray[np.uint8], labels: NDArray[np.uint8], blocks: NDArray[np.bool_]
    ) -> Iterator[float]:
        """Draw the marked blocks of ``small`` into ``labels``, in place; yield the share done.

        ``labels`` holds what was drawn before in all other blocks.
        """
        self._fill(small, labels, blocks)
        mixed = np.argwhere(blocks & _mixed_blocks(small))
        framed = np.pad(small, _frame(small.shape), mode="edge")
        coarse = np.pad(self._coarse, (*_frame(small.shape), (0, 0)), mode="edge")
        for start in range(0, len(mixed), _BLOCKS_AT_ONCE):
            some = mixed[start : start + _BLOCKS_AT_ONCE]
            self._draw_mixed(some, _stack(framed, some), _stack(coarse, some), labels)
            yield (start + len(some)) / len(mixed)

    def _fill(
        self, small: NDArray[np.uint8], labels: NDArray[np.uint8], blocks: NDArray[np.bool_]
    ) -> None:
        """Give all pixels of a cell its label."""
        for row in np.flatnonzero(blocks.any(axis=1)):
            begins, ends = _spans(blocks[row])
            for first, last in zip(begins * _BLOCK, ends * _BLOCK, strict=True):
                part = small[row * _BLOCK : (row + 1) * _BLOCK, first:last]
                top, left = row * _BLOCK * self._times, first * self._times
                into = labels[top : top + _BLOCK * self._times, left : last * self._times]
                into[:] = upsample(part, into.shape, self._times)

    def _draw_mixed(
        self,
        blocks: NDArray[np.intp],
        small: NDArray[np.uint8],
        rgb: NDArray[np.uint8],
        labels: NDArray[np.uint8],
    ) -> None:
        windows = ColourWindows(rgb.astype(np.float32) / np.float32(255.0))
        present = np.unique(small)
        if self._n_classes == 2:  # what explains one class explains the other
            present = present[:1]
        coefficients, shares = zip(
            *(windows.explained(small == label) for label in present), strict=True
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
            self._draw_cells(cells[start : start + at_once], present, coefficients, labels)

    def _draw_cells(
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
        # The last cells of a row or column may reach beyond the picture.
        inside = (rows < height)[:, None] & (columns < width)
        np.minimum(rows, height - 1, out=rows)
        np.minimum(columns, width - 1, out=columns)
        places = (rows * width)[:, None] + columns
        colours = self._colours(places)
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
            flat[places] = best
        else:
            flat[places[inside]] = best[inside]

    def _colours(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the colours of some pixels, from 0 to 1, channel by channel."""
        pixels = self._rgb.reshape(-1, 3).take(places, axis=0)
        colours = np.empty((3, *places.shape), dtype=np.float32)
        for channel in range(3):
            np.divide(pixels[..., channel], np.float32(255.0), out=colours[channel])
        return colours

    def _share(
        self, near: NDArray[np.float32], colours: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Ask each pixel of some cells for its own colour, by coefficients of 3 x 3 cells."""
        share = self._spread(near[..., 3])
        for channel, colour in enumerate(colours):
            share += self._spread(near[..., channel]) * colour
        return share

    def _spread(self, near: NDArray[np.float32]) -> NDArray[np.float32]:
        """Interpolate one coefficient of 3 x 3 cells at the pixels of the middle one."""
        weights, near = self._weights[:, :, None], np.ascontiguousarray(near)
        down = sum(near[k] * weights[k][:, None] for k in range(3))
        return np.asarray(sum(down[:, k, None] * weights[k] for k in range(3)))


def _interpolation(times: int) -> NDArray[np.float32]:
    """Return how much the cell before, the cell itself and the one after count at each pixel."""
    offset = (np.arange(times) + 0.5) / times - 0.5
    return np.stack((np.maximum(-offset, 0), 1 - np.abs(offset), np.maximum(offset, 0))).astype(
        np.float32
    )


def _spans(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the spans of a row of truths begin, and where they have ended."""
    steps = np.diff(mask.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)


def _frame(shape: tuple[int, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many cells are added before and after, for all blocks to be whole."""
    rows, columns = ((_REACH, _REACH + -size % _BLOCK) for size in shape[:2])
    return rows, columns


def _stack(framed: NDArray[np.uint8], blocks: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return blocks with all that is within reach of them, one after the other."""
    side = np.arange(_SIDE)
    rows, columns = (blocks[:, axis, None] * _BLOCK + side for axis in (0, 1))
    return np.asarray(framed[rows[:, :, None], columns[:, None, :]])


def _mixed_blocks(small: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which blocks have a window with an edge; some that have none may be among them."""
    edge = np.zeros(small.shape, dtype=bool)
    edge[1:] |= small[1:] != small[:-1]
    edge[:, 1:] |= small[:, 1:] != small[:, :-1]
    near = np.asarray(ndimage.binary_dilation(_any_of(edge, RADIUS), np.ones((3, 3), bool)))
    return _any_of(near, _BLOCK // RADIUS)
