"""Closed-form alpha matting of object edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from segapp.imaging.tiles import grow, relative, tiles_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Box

    _Real = np.floating[Any]

_EPSILON = 1e-7
"""Largest slope of alpha over colour: the value of the authors' code, for colours from 0 to 1."""
_STRIP = 16
"""Rows of windows at a time, so that their products stay in the processor's caches."""
_WINDOW = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
_PAIRS = [(i, j) for i in range(9) for j in range(i, 9)]
_N_HALF = 13
"""Weights are symmetric: that of a pixel itself and those of its later neighbours suffice."""

_BLOCKS = 8
"""Blocks that a mean's window reaches to each side, if it is that wide."""

_GUESS_WEIGHT = 0.01
"""Weight of the prior against a window's error; chosen on `tests/benchmarks/matting.py`."""
_FEW = 2000
"""Unknown pixels that are solved for directly; more of them take steps."""
_PRECISION = 2e-5
"""Error that alpha of a pixel may have if its neighbours' are right: with theirs it is up to
some thirty times that, well below the steps of a byte."""
_MAX_STEPS = 2000

_VARIANCE_WEIGHT = 32.0
"""Weight of colours that vary. Lower ones show more hair where a mask has cut it off, higher ones
less of what only looks like the object: tests/benchmarks/NOTES.md."""
_MIN_CONTRAST = 0.02
"""Squared distance of two colours, from 0 to 1 each channel, that is trusted half."""
_MIN_SHARE = 1e-4
"""Share of the surrounding pixels that has to be certain for their colours to count."""
_PRIOR_REACH = 2.0
"""Widths of the band around a pixel in which certain colours are compared."""

_COLOUR_RADII = (45, 3)
"""Pixels around a pixel that its colours come from, first and then again."""
_COLOUR_REACH = sum(_COLOUR_RADII)
"""Distance of the farthest pixel that has an influence."""

HARD_EDGE, MAX_EDGE_WIDTH = 0.0, 200.0
"""Widths of an edge that is not softened, and of the widest."""
_RAMP = 2.0
"""Pixels over which a prior goes from 0 to 1: wider ones lose the hairs' own positions."""
_TILE = 512
"""Side of a tile: solving one takes some hundred megabytes at most."""


# In a window of 3 x 3 pixels with colours `c` of mean `m` and covariance `S`, two pixels `i` and
# `j` have the weight ``[i = j] - (1 + (c_i - m)' (S + epsilon/9)^-1 (c_j - m)) / 9``. The
# Laplacian is the sum over all windows. With ``S + epsilon/9 = L L'`` and
# ``g_i = L^-1 (c_i - m)`` the product is ``g_i' g_j``, so that all weights are computed by a few
# operations on whole rows.


def neighbour_offsets(width: int) -> NDArray[np.int64]:
    """Return the flat offsets of 5 x 5 pixels from their centre."""
    return np.array([dy * width + dx for dy in range(-2, 3) for dx in range(-2, 3)])


def matting_laplacian(
    rgb: NDArray[np.floating[Any]], unknown: NDArray[np.bool_], kind: type[np.floating[Any]]
) -> NDArray[np.floating[Any]]:
    """Return the Laplacian's rows of unknown pixels, by `neighbour_offsets`.

    Neighbours outside of the image have the weight 0. ``kind`` is float32 or float64.
    """
    half = np.zeros((_N_HALF, *unknown.shape), kind)
    planes = np.ascontiguousarray(rgb.transpose(2, 0, 1), np.float64)
    for rows, columns in _boxes(unknown):
        _add_windows(half, planes, rows, columns)
    flat, here = half.reshape(_N_HALF, -1), np.flatnonzero(unknown)
    weights = np.empty((here.size, 25), kind)
    for later, shift in enumerate(neighbour_offsets(unknown.shape[1])[12:]):
        weights[:, 12 + later] = flat[later][here]
        # Going back may lead over the image's side, to a pixel that has no weight this far.
        weights[:, 12 - later] = flat[later][here - shift]
    return weights


def _boxes(unknown: NDArray[np.bool_]) -> Iterator[tuple[slice, slice]]:
    """Yield strips of window centres around the unknown pixels."""
    touching = scipy.ndimage.maximum_filter(unknown, size=3)[1:-1, 1:-1]
    for top in range(0, len(touching), _STRIP):
        columns = np.flatnonzero(touching[top : top + _STRIP].any(axis=0))
        if columns.size:
            bottom = min(top + _STRIP, len(touching))
            yield slice(top + 1, bottom + 1), slice(int(columns[0]) + 1, int(columns[-1]) + 2)


def _add_windows(
    half: NDArray[np.floating[Any]], planes: NDArray[np.float64], rows: slice, columns: slice
) -> None:
    """Add the weights of all windows with their centres in a box."""
    shifted = [
        (slice(rows.start + dy, rows.stop + dy), slice(columns.start + dx, columns.stop + dx))
        for dy, dx in _WINDOW
    ]
    colours = np.stack([planes[:, *box] for box in shifted], axis=1)
    apart = colours - colours.mean(axis=1, keepdims=True)
    whitened = _whitened(apart).astype(half.dtype) / 3
    products = np.empty_like(whitened[:, 0])
    for i, j in _PAIRS:
        np.multiply(whitened[:, i], whitened[:, j], out=products)
        (iy, ix), (jy, jx) = _WINDOW[i], _WINDOW[j]
        own = half[(jy - iy) * 5 + jx - ix][shifted[i]]
        for product in products:
            own -= product
        own -= half.dtype.type(1 / 9)
    for box in shifted:
        half[0][box] += 1


def _whitened(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``L^-1`` times the colours, ``3 x 9 x rows x columns``, of windows."""
    red, green, blue = apart
    spread = {(k, n): (apart[k] * apart[n]).mean(axis=0) for k in range(3) for n in range(k + 1)}
    for k in range(3):
        spread[k, k] += _EPSILON / 9
    first = np.sqrt(spread[0, 0])
    low, lower = spread[1, 0] / first, spread[2, 0] / first
    second = np.sqrt(spread[1, 1] - low**2)
    between = (spread[2, 1] - lower * low) / second
    third = np.sqrt(spread[2, 2] - lower**2 - between**2)
    one = red / first
    two = (green - low * one) / second
    three = (blue - lower * one - between * two) / third
    return np.stack([one, two, three])


class BoxMeans:
    """Means of windows of ``2 * radius + 1`` pixels, for images of one size.

    They hardly change from pixel to pixel: sums of blocks are averaged, and interpolated between
    the blocks' centres. Windows that reach over the image's side are filled with its border.
    """

    def __init__(self, size: tuple[int, int], radius: int) -> None:
        self._size = size
        self._block = max(radius // _BLOCKS, 1)
        self._reach = round(radius / self._block)

    def coarse(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the means around the blocks' centres, of ``H x W x channels``."""
        block = self._block
        if block > 1:
            over = [(0, -side % block) for side in self._size]
            padded = np.pad(values, (*over, (0, 0)), mode="edge")
            height, width = (side // block for side in padded.shape[:2])
            blocks = padded.reshape(height, block, width, block, -1)
            values = blocks.sum(axis=3).sum(axis=1) / np.float32(block**2)
        side = 2 * self._reach + 1
        return np.asarray(scipy.ndimage.uniform_filter(values, (side, side, 1), mode="nearest"))

    def fine(self, coarse: NDArray[np.float32]) -> NDArray[np.float32]:
        """Interpolate between the blocks' centres, for every pixel."""
        if self._block == 1:
            return coarse
        for axis, side in enumerate(self._size):
            coarse = _interpolated(coarse, side, self._block, axis)
        return coarse


def _interpolated(
    values: NDArray[np.float32], length: int, block: int, axis: int
) -> NDArray[np.float32]:
    position = np.clip((np.arange(length) + 0.5) / block - 0.5, 0, values.shape[axis] - 1)
    before = position.astype(np.int64)
    after = np.minimum(before + 1, values.shape[axis] - 1)
    share = (position - before).astype(np.float32).reshape((-1, *[1] * (2 - axis)))
    one, other = values.take(before, axis), values.take(after, axis)
    other -= one
    other *= share
    other += one
    return np.asarray(other)


# In a window of 3 x 3 pixels, alpha is taken to be a linear function of the colour. The squared
# error of the best such functions, summed over all windows, is a quadratic form of alpha: the
# matting Laplacian. Alpha is given outside the doubtful pixels, and least squares finds the rest.
#
# Where both sides are full of detail, colours alone mislead. A prior of alpha, that of a mask's
# contour for instance, has a small weight everywhere; where colours are clear they win.


def closed_form_alpha(
    rgb: NDArray[_Real],
    alpha: NDArray[_Real],
    unknown: NDArray[np.bool_],
    trust: float = _GUESS_WEIGHT,
) -> NDArray[_Real]:
    """Return ``alpha`` with the unknown pixels solved for, all within 0 and 1.

    Parameters
    ----------
    rgb
        ``H x W x 3`` from 0 to 1, at least 3 x 3 pixels.
    alpha
        ``H x W``: given, and a prior at unknown pixels.
    unknown
        ``H x W``.
    trust
        Weight of the prior, above 0.
    """
    if not unknown.any():
        return alpha
    here = np.flatnonzero(unknown)
    few = here.size <= _FEW
    rows = matting_laplacian(rgb, unknown, np.float64 if few else np.float32)
    # A neighbour outside of the image has the weight 0, whichever pixel it is taken for.
    columns = here[:, np.newaxis] + neighbour_offsets(unknown.shape[1])
    columns = np.clip(columns, 0, unknown.size - 1).astype(np.int32)
    starts = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    weights = scipy.sparse.csr_array(
        (rows.ravel(), columns.ravel(), starts), shape=(here.size, unknown.size)
    )
    # The prior contradicts nothing but the Laplacian: it fulfils its own term exactly.
    residual = -(weights @ alpha.ravel().astype(rows.dtype))
    change = (_solve_directly if few else _solve_by_steps)(weights, here, residual, trust)
    filled = alpha.copy()
    filled[unknown] = np.clip(alpha[unknown] + change, 0.0, 1.0)
    return filled


def _solve_directly(
    weights: scipy.sparse.csr_array,
    here: NDArray[np.int64],
    residual: NDArray[_Real],
    trust: float,
) -> NDArray[_Real]:
    square = weights.tocsc()[:, here]
    square.setdiag(square.diagonal() + trust)
    options = {"SymmetricMode": True}
    factors = scipy.sparse.linalg.splu(square, permc_spec="MMD_AT_PLUS_A", options=options)
    solved: NDArray[_Real] = factors.solve(residual)
    return solved


def _solve_by_steps(
    weights: scipy.sparse.csr_array,
    here: NDArray[np.int64],
    residual: NDArray[_Real],
    trust: float,
) -> NDArray[_Real]:
    """Solve by conjugate gradients, each pixel scaled by its own weight."""
    diagonal = weights.data[12::25] + residual.dtype.type(trust)
    change = np.zeros_like(residual)
    image = np.zeros(weights.shape[1], residual.dtype)  # the direction, 0 at given pixels
    scaled = residual / diagonal
    direction, length = scaled, residual @ scaled
    for _ in range(_MAX_STEPS):
        if np.abs(scaled).max() <= _PRECISION:
            break
        image[here] = direction
        product = weights @ image
        product += trust * direction
        step = length / (direction @ product)
        change += step * direction
        residual = residual - step * product
        scaled = residual / diagonal
        before, length = length, residual @ scaled
        direction = scaled + (length / before) * direction
    return change


# A mask mostly ends where hair begins. A pixel beyond it whose colour lies between those of the
# object and of the background nearby is a mixture; its position between them is the share of the
# object. That is trusted as far as the two colours are farther apart than either varies.


@dataclass(frozen=True, slots=True, eq=False)
class _Colours:
    """Mean and variance of the certain colours around blocks, where known."""

    mean: NDArray[np.float32]
    variance: NDArray[np.float32]
    known: NDArray[np.bool_]

    @classmethod
    def around(
        cls, rgb: NDArray[np.float32], certain: NDArray[np.bool_], means: BoxMeans
    ) -> _Colours:
        weight = certain[:, :, np.newaxis].astype(np.float32)
        picked = rgb * weight
        averages = means.coarse(np.concatenate([weight, picked, picked * rgb], axis=2))
        share = averages[:, :, :1]
        total = np.maximum(share, np.float32(1e-6))
        mean = np.asarray(averages[:, :, 1:4] / total, np.float32)
        return cls(mean, np.maximum(averages[:, :, 4:] / total - mean**2, 0), share > _MIN_SHARE)


def colour_prior(
    rgb: NDArray[np.float32],
    alpha: NDArray[np.float32],
    depth: NDArray[np.float32],
    width: float,
    *,
    hair: NDArray[np.bool_] | None = None,
    reach: float | None = None,
) -> NDArray[np.float32]:
    """Return a prior of alpha that takes colours outside of the mask into account.

    ``depth`` is above 0 inside the mask; farther than ``width`` from the contour it is certain,
    but for pixels of ``hair``, where colours count on both sides. They are compared within two
    ``reach``, by default as far as the band is wide.
    """
    means = BoxMeans(depth.shape, int(np.ceil(_PRIOR_REACH * (width if reach is None else reach))))
    free = np.zeros(depth.shape, bool) if hair is None else hair
    front = _Colours.around(rgb, (depth > width) & ~free, means)
    back = _Colours.around(rgb, (depth < -width) & ~free, means)
    way = front.mean - back.mean
    contrast = (way**2).sum(axis=2, keepdims=True)
    # The variance of the colours along the line from the one to the other.
    varied = ((front.variance + back.variance) * way**2).sum(axis=2, keepdims=True)
    varied /= np.maximum(contrast, np.float32(1e-6))
    trust = contrast / (contrast + _VARIANCE_WEIGHT * varied + _MIN_CONTRAST)
    trust[~(front.known & back.known)] = 0
    way /= np.maximum(contrast, np.float32(1e-6))
    fine = means.fine(np.concatenate([way, back.mean, trust], axis=2).astype(np.float32))
    share = ((rgb - fine[:, :, 3:6]) * fine[:, :, :3]).sum(axis=2)
    trusted = np.where((depth >= 0) & ~free, 0, fine[:, :, 6])
    return np.asarray(alpha + trusted * (np.clip(share, 0, 1) - alpha))


# Blur fusion (Forte, 2021): colours of either side, averaged around a pixel with alpha as the
# weight, and then moved just so far that the mixture is the observed colour. Far, then near.


def foreground_colours(
    rgb: NDArray[np.float32], alpha: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the object's own colours, from 0 to 1; all arrays are ``H x W``."""
    front, back = rgb, rgb
    weight = alpha[:, :, np.newaxis]
    for radius in _COLOUR_RADII:
        means = BoxMeans(alpha.shape, radius)
        near_front = _averaged(front, weight, means)
        near_back = _averaged(back, 1 - weight, means)
        missing = rgb - near_back
        missing -= weight * (near_front - near_back)
        front = np.clip(near_front + weight * missing, 0, 1)
        back = np.clip(near_back + (1 - weight) * missing, 0, 1)
    return front


def _averaged(
    colours: NDArray[np.float32], weight: NDArray[np.float32], means: BoxMeans
) -> NDArray[np.float32]:
    weighted = np.concatenate([colours * weight, weight], axis=2)
    sums = means.fine(means.coarse(weighted))
    return np.asarray(sums[:, :, :3] / np.maximum(sums[:, :, 3:], np.float32(1e-5)))


@dataclass(frozen=True, slots=True, eq=False)
class Matte:
    """Alpha and foreground colours of an image, read-only once they are here.

    Parameters
    ----------
    alpha
        uint8: 255 where a pixel is the object alone, 0 where nothing of it is there.
    rgb
        uint8: the object's colours; the image's where alpha is 255, black where it is 0.
    """

    alpha: NDArray[np.uint8]
    rgb: NDArray[np.uint8]

    def __post_init__(self) -> None:
        for array in (self.alpha, self.rgb):
            array.flags.writeable = False


def default_band_width(size: tuple[int, int]) -> float:
    """Return the width of a band that holds the hair of a portrait of this size.

    >>> default_band_width((480, 640)), default_band_width((3000, 4000))
    (5.0, 30.0)
    """
    return float(np.clip(round(0.006 * np.hypot(*size)), 5, 40))


def soft_edge(
    rgb: NDArray[np.uint8],
    mask: NDArray[np.bool_],
    width: float,
    hair: NDArray[np.bool_] | None = None,
) -> Generator[float, None, Matte]:
    """Soften a mask within ``width`` pixels of its contour; yield the progress.

    Farther from the contour nothing changes, except in pixels of ``hair``, and a mask without a
    contour is its own matte. Tiles overlap by more than a band's width, so that there is no
    visible seam.
    """
    if not HARD_EDGE <= width <= MAX_EDGE_WIDTH:
        raise ValueError(f"width: wanted 0 to {MAX_EDGE_WIDTH:.0f} pixels, got {width}")
    free = np.zeros(mask.shape, bool) if hair is None else hair
    alpha = mask.astype(np.uint8) * np.uint8(255)
    front = np.where(mask[:, :, np.newaxis], rgb, np.uint8(0))
    reach = max(width, _extent(mask, free))
    farthest = _COLOUR_REACH + int(np.ceil(_PRIOR_REACH * reach))
    whole = slice(0, mask.shape[0]), slice(0, mask.shape[1])
    tiles: list[Box] = []
    if width > HARD_EDGE and min(mask.shape) >= 3:
        tiles = [tile for _, tile in tiles_of(whole, _TILE)]
    for done, core in enumerate(tiles):
        yield done / len(tiles)
        # The prior reaches as far as the first, and colours as the second.
        outer, middle = (grow(core, by, mask.shape) for by in (farthest, _COLOUR_REACH))
        depth = _depth(mask[outer])
        open_pixels = (np.abs(depth) <= width) | (free[outer] & np.isfinite(depth))
        mixed = open_pixels[relative(core, outer)]
        if not mixed.any():
            continue
        colours = rgb[outer] * np.float32(1 / 255)
        ramp = np.clip(0.5 + depth / np.float32(_RAMP), 0, 1)
        inner = relative(middle, outer)
        band = open_pixels[inner]
        prior = colour_prior(colours, ramp, depth, width, hair=free[outer], reach=reach)[inner]
        soft = closed_form_alpha(colours[inner], np.where(band, prior, ramp[inner]), band)
        pure = foreground_colours(colours[inner], soft)
        inmost = relative(core, middle)
        alpha[core][mixed] = np.rint(255 * soft[inmost][mixed]).astype(np.uint8)
        front[core][mixed] = np.rint(255 * pure[inmost][mixed]).astype(np.uint8)
    front[alpha == 0] = 0
    solid = alpha == 255
    front[solid] = rgb[solid]
    return Matte(alpha, front)


def _extent(mask: NDArray[np.bool_], hair: NDArray[np.bool_]) -> float:
    """Return how far from the contour pixels of hair lie, up to the widest edge."""
    if not hair.any():
        return 0.0
    depth = np.abs(_depth(mask)[hair])
    return float(min(depth.max(), MAX_EDGE_WIDTH)) if np.isfinite(depth).all() else 0.0


def _depth(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return each pixel's distance to the contour: above 0 inside, below outside."""
    if mask.all() or not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    inside = np.asarray(scipy.ndimage.distance_transform_edt(mask))
    outside = np.asarray(scipy.ndimage.distance_transform_edt(~mask))
    return np.where(mask, inside - 0.5, 0.5 - outside).astype(np.float32)
