"""Graph cuts of regions and of a narrow band of pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.graph_cut import PixelGraph, minimise_energy
from segapp.engine.region_graph import ACROSS, DOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from segapp.engine.region_graph import Edges
    from segapp.model.labelling import Box

    PixelSet = tuple[NDArray[np.intp], NDArray[np.intp]]
    """Rows and columns of some pixels, in the order of rows."""
    CostsOf = Callable[[NDArray[np.intp]], NDArray[np.float32]]
    """Costs of the classes for some pixels, counted row by row, ``pixels x classes``."""


# The energy is the usual one of a graph cut: the costs of the pixels' classes, plus, for each pair
# of neighbours of different classes, a cost that is larger where the image is even than where it
# has an edge. It is lowered first over whole superpixels, which finds the objects, and then over
# single pixels in a narrow band around the boundary. The band is cut piece by piece, each with its
# neighbourhood fixed: no call to the solver takes long, and the energy never rises. Where the
# boundary has run into fixed pixels, the edge of the band or of a piece, it is cut again with
# room on both sides, so that neither edge shows in the answer.

_LARGEST_PIECE = 6000
"""Pixels that are cut at once: SciPy holds the interpreter meanwhile, and the window waits."""
_LARGEST_COLD_PIECE = 4500
"""The same without a flow to start from, which takes longer."""
_SEPARATE = 1000
"""Pixels of a component that is cut alone."""
_SHARES = 1 / 2, 1 / 3
"""The share of the first half of a piece that is too large, in turns: so the seams move."""
_ROOM = 2
"""Reach around such a stuck boundary pixel that is cut again, in half widths of the band."""
_PROHIBITIVE = 1e4
"""More than a small region can gain by another class, and little enough for exact flows."""


@dataclass(frozen=True, slots=True)
class Seam:
    """The line between two pieces, before row (axis 0) or column ``at``."""

    axis: int
    at: int
    start: int
    stop: int


def split_pieces(pixels: PixelSet, share: float, seams: list[Seam]) -> list[PixelSet]:
    """Split pixels into pieces of a size to be cut, and append the seams between them."""
    count = len(pixels[0])
    if count <= _LARGEST_PIECE:
        return [pixels] if count else []
    seam, halves = split_in_two(pixels, share)
    seams.append(seam)
    return [piece for half in halves for piece in split_pieces(half, share, seams)]


def split_in_two(pixels: PixelSet, share: float) -> tuple[Seam, tuple[PixelSet, PixelSet]]:
    """Split pixels across the longer side; ``share`` goes into the first half."""
    axis = int(np.ptp(pixels[1]) > np.ptp(pixels[0]))
    along, other = pixels[axis], pixels[1 - axis]
    first = int(share * len(along))
    at = max(int(np.partition(along, first)[first]), along.min() + 1)
    before, rows, columns = along < at, *pixels
    halves = (rows[before], columns[before]), (rows[~before], columns[~before])
    return Seam(axis, at, int(other.min()), int(other.max())), halves


def at_seam(seams: list[Seam], pixels: PixelSet) -> NDArray[np.bool_]:
    """Return which of some pixels are on either side of a seam."""
    at = np.zeros(len(pixels[0]), dtype=bool)
    for seam in seams:
        along, other = pixels[seam.axis], pixels[1 - seam.axis]
        beside = (along == seam.at) | (along == seam.at - 1)
        at |= beside & (other >= seam.start - 1) & (other <= seam.stop + 1)
    return at


def split_components(pixels: PixelSet) -> list[PixelSet]:
    """Split pixels into large connected components and the rest.

    The solver runs over its whole network as often as the longest of its paths has nodes. So each
    component alone takes less time, unless preparing it takes more than it saves.
    """
    if len(pixels[0]) < 2 * _SEPARATE:
        return [pixels]
    rows, columns = pixels[0] - pixels[0].min(), pixels[1] - pixels[1].min()
    window = np.zeros((rows.max() + 1, columns.max() + 1), dtype=bool)
    window[rows, columns] = True
    component = ndimage.label(window, np.ones((3, 3)))[0][rows, columns]
    large = np.bincount(component) >= _SEPARATE
    masks = [component == number for number in np.flatnonzero(large)]
    rest = ~large.take(component)
    if rest.any():
        masks.append(rest)
    return [(pixels[0][mask], pixels[1][mask]) for mask in masks]


def cut_regions(
    costs: NDArray[np.float64],
    edges: Edges,
    smoothness: float,
    seeds: NDArray[np.intp],
    flow: NDArray[np.float32] | None = None,
) -> NDArray[np.intp]:
    """Label regions; ``seeds`` has the class of those under strokes and -1 elsewhere.

    ``flow`` is the warm start: see `segapp.engine.graph_cut.min_cut`.
    """
    weighted = replace(edges, weight=smoothness * edges.weight)
    seeded = np.flatnonzero(seeds >= 0)
    costs = costs.copy()
    costs[seeded] = _PROHIBITIVE
    costs[seeded, seeds[seeded]] = 0.0
    return minimise_energy(costs, weighted, flow)


@dataclass(frozen=True, slots=True, eq=False)
class PixelProblem:
    """The cut energy of an image's pixels.

    ``marked`` has the class of each marked pixel and -1 elsewhere, ``pixel_weights`` are those of
    `segapp.engine.region_graph.weights_by_pixel`.
    """

    marked: NDArray[np.int16]
    costs_of: CostsOf
    pixel_weights: NDArray[np.float32]
    smoothness: float


def cut_band(
    problem: PixelProblem,
    labels: NDArray[np.uint8],
    flows: NDArray[np.float32],
    half_width: int,
    again: int = 0,
    where: NDArray[np.bool_] | None = None,
) -> Iterator[None]:
    """Lower the energy within a band around the boundary, in place.

    ``flows``, shaped like the weights, are the warm start and are overwritten. Where the boundary
    has run into fixed pixels, it is cut at most ``again`` times more. ``where`` is the part of the
    image in which it may have to move, if that is not all of it.
    """
    for left in range(again, -1, -1):
        # Labels outside the box stay: all that matters lies in it.
        box = _box(where, labels.shape, half_width + 1)
        before, unmarked = labels[box].copy(), problem.marked[box] < 0
        band, seams = _dilate(_boundary(before), half_width - 1), list[Seam]()
        free = band & unmarked if where is None else band & unmarked & where[box]
        for piece in split_pieces(_pixels(free, box), _SHARES[left % 2], seams):
            _cut_piece(problem, labels, flows, piece)
            yield
        if not left:
            return
        boundary = _boundary(labels[box]) & unmarked
        pixels = _pixels(boundary, box)
        stuck = at_seam(seams, pixels)
        if where is not None:
            # The start was an earlier cut: only pixels that have moved are of interest.
            stuck |= _at_rim(where, pixels)
            stuck &= (labels[box] != before)[boundary]
        stuck |= _at_rim(band, _pixels(boundary))
        if not stuck.any():
            return
        where = np.zeros(labels.shape, dtype=bool)
        reach = _ROOM * half_width
        for row, column in zip(pixels[0][stuck].tolist(), pixels[1][stuck].tolist(), strict=True):
            rows = slice(max(row - reach, 0), row + reach + 1)
            where[rows, max(column - reach, 0) : column + reach + 1] = True


def _box(where: NDArray[np.bool_] | None, shape: tuple[int, ...], margin: int) -> Box:
    """Return rows and columns of a part of an image, with a margin around it."""
    if where is None:
        return slice(0, shape[0]), slice(0, shape[1])
    rows, columns = np.flatnonzero(where.any(axis=1)), np.flatnonzero(where.any(axis=0))
    if not len(rows):
        return slice(0, 0), slice(0, 0)
    return (
        slice(max(rows[0] - margin, 0), rows[-1] + margin + 1),
        slice(max(columns[0] - margin, 0), columns[-1] + margin + 1),
    )


def _pixels(mask: NDArray[np.bool_], box: Box | None = None) -> PixelSet:
    """Return the pixels of a mask, in an image of which it is a box."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return (rows, columns) if box is None else (rows + box[0].start, columns + box[1].start)


def _boundary(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the mask of the pixels on either side of a boundary."""
    edge = np.zeros(labels.shape, dtype=bool)
    for here, there in (ACROSS, DOWN):
        differs = labels[here] != labels[there]
        edge[here] |= differs
        edge[there] |= differs
    return edge


def _dilate(mask: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Dilate a mask by a square: ten times as fast as ndimage.

    A mask dilated by some steps, shifted by as many or fewer to each side, is dilated by these
    more; so six steps take four passes. A frame around the image holds what comes back into it.
    """
    if not steps:
        return mask
    inside = slice(steps, -steps), slice(steps, -steps)
    dilated = np.zeros((mask.shape[0] + 2 * steps, mask.shape[1] + 2 * steps), dtype=bool)
    dilated[inside] = mask
    done = 0
    while done < steps:
        more = min(max(done, 1), steps - done)
        before = dilated.copy()
        dilated[more:] |= before[:-more]
        dilated[:-more] |= before[more:]
        dilated[:, more:] |= before[:, :-more]
        dilated[:, :-more] |= before[:, more:]
        done += more
    return dilated[inside]


def _at_rim(band: NDArray[np.bool_], pixels: PixelSet) -> NDArray[np.bool_]:
    """Return which of some pixels have one of their eight neighbours beyond the band."""
    rows, columns = pixels
    height, width = band.shape
    inside = np.ones(len(rows), dtype=bool)
    beside = [np.maximum(columns - 1, 0), columns, np.minimum(columns + 1, width - 1)]
    for other in (np.maximum(rows - 1, 0), rows, np.minimum(rows + 1, height - 1)):
        first = other * width
        for column in beside:
            inside &= band.take(first + column)
    return ~inside


def _cut_piece(
    problem: PixelProblem,
    labels: NDArray[np.uint8],
    flows: NDArray[np.float32],
    pixels: PixelSet,
) -> None:
    """Cut some of the band's pixels between the classes around them, in place."""
    rows, columns = pixels
    around = labels[
        max(rows[0] - 1, 0) : rows[-1] + 2, max(columns.min() - 1, 0) : columns.max() + 2
    ]
    least, most = int(around.min()), int(around.max())
    if least == most:
        return
    between = [c for c in range(least + 1, most) if (around == c).any()]
    classes = np.array([least, *between, most], dtype=np.uint8)
    if between:
        _cut_pixels(problem, labels, flows, pixels, classes)
        return
    for component in split_components(pixels):
        indices = component[0] * labels.shape[1] + component[1]
        if len(indices) > _LARGEST_COLD_PIECE and not flows.take(indices, axis=0).any():
            # Without a flow to start from, cut both halves of the pixels on trial, for one. That
            # changes no answer and takes some milliseconds. But the longest of the three calls
            # holds the interpreter for two thirds of the time that the one would.
            trial = labels.copy()
            for half in split_in_two(component, _SHARES[0])[1]:
                _cut_pixels(problem, trial, flows, half, classes)
        _cut_pixels(problem, labels, flows, component, classes)


def _cut_pixels(
    problem: PixelProblem,
    labels: NDArray[np.uint8],
    flows: NDArray[np.float32],
    pixels: PixelSet,
    classes: NDArray[np.uint8],
) -> None:
    """Give some pixels the best of some classes, in place."""
    shape = labels.shape[0], labels.shape[1]
    graph = PixelGraph.of(*pixels, shape, problem.pixel_weights, problem.smoothness)
    position = np.zeros(classes[-1] + 1, dtype=np.intp)
    position[classes] = np.arange(len(classes))
    costs = problem.costs_of(graph.indices)[:, classes].astype(np.float64)
    here, near, weight = graph.fixed
    # A fixed neighbour makes its own class cheaper.
    cheaper = here * len(classes) + position[labels.take(near)]
    costs -= np.bincount(cheaper, weight, costs.size).reshape(costs.shape)
    if len(classes) == 2:
        best = graph.cut(costs[:, 0] - costs[:, 1], flows).astype(np.intp)
    else:
        best = minimise_energy(costs, graph.edges())
    np.put(labels, graph.indices, classes[best])
