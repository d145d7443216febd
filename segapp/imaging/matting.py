"""Closed-form alpha matting of object edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray


# In a window of 3 x 3 pixels with colours `c` of mean `m` and covariance `S`, two pixels `i` and
# `j` are tied by ``[i = j] - (1 + (c_i - m)' (S + epsilon/9)^-1 (c_j - m)) / 9``. The Laplacian
# is the sum over all windows. With ``S + epsilon/9 = L L'`` and ``g_i = L^-1 (c_i - m)`` the
# product is ``g_i' g_j``, so that all pixels' ties are found by a few operations on whole rows.

_EPSILON = 1e-7
"""How steep alpha may be over colour: the value of the authors' code, for colours from 0 to 1."""

_STRIP = 16
"""Rows of windows at a time: what is computed of them stays near the processor."""

_WINDOW = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
_PAIRS = [(i, j) for i in range(9) for j in range(i, 9)]
_N_HALF = 13
"""Ties go both ways: a pixel itself, and those of its neighbours that come later in reading."""


def neighbour_offsets(width: int) -> NDArray[np.int64]:
    """Return how far the pixels of 5 x 5 are from the middle one, in a picture so wide."""
    return np.array([dy * width + dx for dy in range(-2, 3) for dx in range(-2, 3)])


def matting_laplacian(
    rgb: NDArray[np.floating[Any]], unknown: NDArray[np.bool_], kind: type[np.floating[Any]]
) -> NDArray[np.floating[Any]]:
    """Return the Laplacian's rows of the unknown pixels: 25 columns, their `neighbour_offsets`.

    Those outside of the picture are tied by 0. ``kind`` is float32 or float64.
    """
    half = np.zeros((_N_HALF, *unknown.shape), kind)
    planes = np.ascontiguousarray(rgb.transpose(2, 0, 1), np.float64)
    for rows, columns in _boxes(unknown):
        _add_windows(half, planes, rows, columns)
    flat, here = half.reshape(_N_HALF, -1), np.flatnonzero(unknown)
    found = np.empty((here.size, 25), kind)
    for later, shift in enumerate(neighbour_offsets(unknown.shape[1])[12:]):
        found[:, 12 + later] = flat[later][here]
        # Going back may lead over the picture's side, to a pixel that has no tie this far.
        found[:, 12 - later] = flat[later][here - shift]
    return found


def _boxes(unknown: NDArray[np.bool_]) -> Iterator[tuple[slice, slice]]:
    """Yield strips of windows' middles, as wide as there are unknown pixels in the windows."""
    touching = scipy.ndimage.maximum_filter(unknown, size=3)[1:-1, 1:-1]
    for top in range(0, len(touching), _STRIP):
        columns = np.flatnonzero(touching[top : top + _STRIP].any(axis=0))
        if columns.size:
            bottom = min(top + _STRIP, len(touching))
            yield slice(top + 1, bottom + 1), slice(int(columns[0]) + 1, int(columns[-1]) + 2)


def _add_windows(
    half: NDArray[np.floating[Any]], planes: NDArray[np.float64], rows: slice, columns: slice
) -> None:
    """Add the ties of all windows with their middles in a box."""
    places = [
        (slice(rows.start + dy, rows.stop + dy), slice(columns.start + dx, columns.stop + dx))
        for dy, dx in _WINDOW
    ]
    colours = np.stack([planes[:, *place] for place in places], axis=1)
    apart = colours - colours.mean(axis=1, keepdims=True)
    whitened = _whitened(apart).astype(half.dtype) / 3
    products = np.empty_like(whitened[:, 0])
    for i, j in _PAIRS:
        np.multiply(whitened[:, i], whitened[:, j], out=products)
        (iy, ix), (jy, jx) = _WINDOW[i], _WINDOW[j]
        own = half[(jy - iy) * 5 + jx - ix][places[i]]
        for product in products:
            own -= product
        own -= half.dtype.type(1 / 9)
    for place in places:
        half[0][place] += 1


def _whitened(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``L^-1`` times the colours of windows, which are ``3 x 9 x rows x columns``."""
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


# They hardly change from pixel to pixel: sums of blocks are averaged, and the pixels between the
# blocks' middles get what lies between.

_BLOCKS = 8
"""How many blocks a square reaches to each side, if it is that wide."""


class BoxMeans:
    """The means of squares of ``2 * radius + 1`` pixels, for pictures of one size.

    Squares that reach over the picture's side are filled with its border.
    """

    def __init__(self, size: tuple[int, int], radius: int) -> None:
        self._size = size
        self._block = max(radius // _BLOCKS, 1)
        self._reach = round(radius / self._block)

    def coarse(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the means around the blocks' middles, of ``H x W x channels``."""
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
        """Return what lies between the blocks' middles, for every pixel."""
        if self._block == 1:
            return coarse
        for axis, side in enumerate(self._size):
            coarse = _between(coarse, side, self._block, axis)
        return coarse


def _between(
    values: NDArray[np.float32], length: int, block: int, axis: int
) -> NDArray[np.float32]:
    place = np.clip((np.arange(length) + 0.5) / block - 0.5, 0, values.shape[axis] - 1)
    before = place.astype(np.int64)
    after = np.minimum(before + 1, values.shape[axis] - 1)
    share = (place - before).astype(np.float32).reshape((-1, *[1] * (2 - axis)))
    one, other = values.take(before, axis), values.take(after, axis)
    other -= one
    other *= share
    other += one
    return np.asarray(other)


# In a window of 3 x 3 pixels, alpha is taken to be a linear function of the colour. The squared
# error of the best such functions, summed over all windows, is a quadratic form of alpha: the
# matting Laplacian. Alpha is given outside the doubtful pixels, and least squares finds the rest.
#
# Where both sides are full of detail, colours alone mislead. A guess at alpha, that of a mask's
# outline for instance, is listened to a little everywhere; where colours speak clearly they win.

if TYPE_CHECKING:
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
    rows = matting_laplacian(rgb, unknown, np.float64 if few else np.float32)
    # A neighbour outside of the picture has the weight 0, whichever pixel it is taken for.
    columns = here[:, np.newaxis] + neighbour_offsets(unknown.shape[1])
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


# A mask mostly ends where hair begins. A pixel beyond it whose colour lies between those of the
# object and of the background nearby is a mixture; how far on the way it lies says how much of the
# object is in it. That is believed as far as the two colours are farther apart than either varies.

_DOUBT = 32.0
"""Weight of colours that vary. Lower ones show more hair where a mask has cut it off, higher ones
less of what only looks like the object: tests/benchmarks/MATTING.md."""
_LEAST = 0.02
"""Squared distance of two colours, from 0 to 1 each channel, that says half of what it can."""
_FEWEST = 1e-4
"""Part of the pixels around that have to be sure for their colours to count."""
REACH = 2.0
"""Widths of the band around a pixel in which colours are sure enough to be compared with."""


@dataclass(frozen=True, slots=True, eq=False)
class _Colours:
    """Mean and variance of the sure colours around blocks of pixels, and whether there are any."""

    mean: NDArray[np.float32]
    variance: NDArray[np.float32]
    known: NDArray[np.bool_]

    @classmethod
    def around(
        cls, rgb: NDArray[np.float32], sure: NDArray[np.bool_], means: BoxMeans
    ) -> _Colours:
        weight = sure[:, :, np.newaxis].astype(np.float32)
        picked = rgb * weight
        found = means.coarse(np.concatenate([weight, picked, picked * rgb], axis=2))
        share = found[:, :, :1]
        total = np.maximum(share, np.float32(1e-6))
        mean = np.asarray(found[:, :, 1:4] / total, np.float32)
        return cls(mean, np.maximum(found[:, :, 4:] / total - mean**2, 0), share > _FEWEST)


def colour_prior(
    rgb: NDArray[np.float32],
    guess: NDArray[np.float32],
    depth: NDArray[np.float32],
    width: float,
) -> NDArray[np.float32]:
    """Return a guess at alpha in which pixels outside of the mask are judged by colour, too.

    ``depth`` is above 0 inside the mask; farther than ``width`` from the outline it is sure.
    """
    means = BoxMeans(depth.shape, int(np.ceil(REACH * width)))
    front = _Colours.around(rgb, depth > width, means)
    back = _Colours.around(rgb, depth < -width, means)
    way = front.mean - back.mean
    apart = (way**2).sum(axis=2, keepdims=True)
    # How much the colours vary along the way from the one to the other.
    varied = ((front.variance + back.variance) * way**2).sum(axis=2, keepdims=True)
    varied /= np.maximum(apart, np.float32(1e-6))
    trust = apart / (apart + _DOUBT * varied + _LEAST)
    trust[~(front.known & back.known)] = 0
    way /= np.maximum(apart, np.float32(1e-6))
    there = means.fine(np.concatenate([way, back.mean, trust], axis=2).astype(np.float32))
    share = ((rgb - there[:, :, 3:6]) * there[:, :, :3]).sum(axis=2)
    believed = np.where(depth >= 0, 0, there[:, :, 6])
    return np.asarray(guess + believed * (np.clip(share, 0, 1) - guess))


# Blur fusion (Forte, 2021): colours of either side, averaged around a pixel with alpha as the
# weight, and then moved just so far that the mixture is the colour seen. Far and near in turn.

_REACHES = (45, 3)
"""Pixels around a pixel that its colours come from, first and then again."""

COLOUR_REACH = sum(_REACHES)
"""How far away a pixel can lie that has a say."""


def foreground_colours(
    rgb: NDArray[np.float32], alpha: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the colours, from 0 to 1, that the object alone would have; all arrays ``H x W``."""
    front, back = rgb, rgb
    weight = alpha[:, :, np.newaxis]
    for reach in _REACHES:
        means = BoxMeans(alpha.shape, reach)
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
    found = means.fine(means.coarse(weighted))
    return np.asarray(found[:, :, :3] / np.maximum(found[:, :, 3:], np.float32(1e-5)))


HARD_EDGE, MAX_EDGE_WIDTH = 0.0, 200.0
"""Widths of an edge that is not softened, and of the widest."""

_RAMP = 2.0
"""Pixels over which a guess goes from 0 to 1: wider ones lose the hairs' own places."""

_TILE = 512
"""Pixels of a tile's side: what is solved at once takes some hundred megabytes at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Matte:
    """Arrays of the picture's size, read-only once they are here.

    Parameters
    ----------
    alpha
        uint8: 255 where a pixel is the object alone, 0 where nothing of it is there.
    rgb
        uint8: the object's colours; as in the picture where alpha is 255, black where it is 0.
    """

    alpha: NDArray[np.uint8]
    rgb: NDArray[np.uint8]

    def __post_init__(self) -> None:
        for array in (self.alpha, self.rgb):
            array.flags.writeable = False


def default_band_width(size: tuple[int, int]) -> float:
    """Return a band that holds the hair of a portrait of this height and width, in pixels.

    >>> default_band_width((480, 640)), default_band_width((3000, 4000))
    (5.0, 30.0)
    """
    return float(np.clip(round(0.006 * np.hypot(*size)), 5, 40))


def soft_edge(
    rgb: NDArray[np.uint8], mask: NDArray[np.bool_], width: float
) -> Generator[float, None, Matte]:
    """Soften a mask within ``width`` pixels of its outline; yields how much is done.

    Farther from the outline than that nothing changes, and a mask without an outline is its
    own matte. Tiles overlap by more than a band's width, so that no seam is seen.
    """
    if not HARD_EDGE <= width <= MAX_EDGE_WIDTH:
        raise ValueError(f"width: wanted 0 to {MAX_EDGE_WIDTH:.0f} pixels, got {width}")
    alpha = mask.astype(np.uint8) * np.uint8(255)
    colours = np.where(mask[:, :, np.newaxis], rgb, np.uint8(0))
    farthest = COLOUR_REACH + int(np.ceil(REACH * width))
    tiles = list(_tiles(mask.shape)) if width > HARD_EDGE and min(mask.shape) >= 3 else []
    for done, core in enumerate(tiles):
        yield done / len(tiles)
        # Guesses look around as far as the first, and colours as the second.
        outer, middle = (_grown(core, by, mask.shape) for by in (farthest, COLOUR_REACH))
        depth = _depth(mask[outer])
        mixed = np.abs(depth[_within(core, outer)]) <= width
        if not mixed.any():
            continue
        seen = rgb[outer] * np.float32(1 / 255)
        ramp = np.clip(0.5 + depth / np.float32(_RAMP), 0, 1)
        inner = _within(middle, outer)
        band = np.abs(depth[inner]) <= width
        guess = colour_prior(seen, ramp, depth, width)[inner]
        soft = closed_form_alpha(seen[inner], np.where(band, guess, ramp[inner]), band)
        pure = foreground_colours(seen[inner], soft)
        inmost = _within(core, middle)
        alpha[core][mixed] = np.rint(255 * soft[inmost][mixed]).astype(np.uint8)
        colours[core][mixed] = np.rint(255 * pure[inmost][mixed]).astype(np.uint8)
    colours[alpha == 0] = 0
    whole = alpha == 255
    colours[whole] = rgb[whole]
    return Matte(alpha, colours)


_Box = tuple[slice, slice]


def _tiles(shape: tuple[int, ...]) -> Iterator[_Box]:
    for top in range(0, shape[0], _TILE):
        for left in range(0, shape[1], _TILE):
            yield slice(top, min(top + _TILE, shape[0])), slice(left, min(left + _TILE, shape[1]))


def _grown(box: _Box, by: int, shape: tuple[int, ...]) -> _Box:
    """Return a box with its surroundings, as far as the picture goes."""
    rows, columns = (
        slice(max(side.start - by, 0), min(side.stop + by, end))
        for side, end in zip(box, shape, strict=True)
    )
    return rows, columns


def _within(inner: _Box, outer: _Box) -> _Box:
    """Return where a box lies in a larger one."""
    rows, columns = (
        slice(one.start - other.start, one.stop - other.start)
        for one, other in zip(inner, outer, strict=True)
    )
    return rows, columns


def _depth(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return each pixel's distance to the outline: above 0 inside, below outside."""
    if mask.all() or not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    inside = np.asarray(scipy.ndimage.distance_transform_edt(mask))
    outside = np.asarray(scipy.ndimage.distance_transform_edt(~mask))
    return np.where(mask, inside - 0.5, 0.5 - outside).astype(np.float32)
