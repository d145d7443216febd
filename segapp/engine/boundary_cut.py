"""Graph cuts of regions and of a narrow band of pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.graph_cut import Pixels, Ties, cut_arcs, smallest_energy
from segapp.engine.region_graph import ACROSS, DOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from segapp.engine.region_graph import Box, Edges


if TYPE_CHECKING:
    Places = tuple[NDArray[np.intp], NDArray[np.intp]]
    """Rows and columns of some pixels."""

_MOST_AT_ONCE = 6000
"""Pixels that are cut at once: SciPy holds the interpreter meanwhile, and the window waits."""
_ALONE = 1000
"""Pixels of a part that is cut alone although it might be cut with others."""


@dataclass(frozen=True, slots=True)
class Seam:
    """Where two pieces meet: before which row (axis 0) or column, and how far it goes."""

    axis: int
    at: int
    start: int
    stop: int


def pieces(places: Places, share: float, seams: list[Seam]) -> Iterator[Places]:
    """Divide pixels that are too many, across the longer side; ``seams`` tells where."""
    count = len(places[0])
    if count <= _MOST_AT_ONCE:
        if count:
            yield places
        return
    seam, halves = divided(places, share)
    seams.append(seam)
    for half in halves:
        yield from pieces(half, share, seams)


def divided(places: Places, share: float) -> tuple[Seam, tuple[Places, Places]]:
    """Divide pixels across the longer side, so that such a share of them goes into the first."""
    axis = int(np.ptp(places[1]) > np.ptp(places[0]))
    along, other = places[axis], places[1 - axis]
    first = int(share * len(along))
    at = max(int(np.partition(along, first)[first]), along.min() + 1)
    before, rows, columns = along < at, *places
    halves = (rows[before], columns[before]), (rows[~before], columns[~before])
    return Seam(axis, at, int(other.min()), int(other.max())), halves


def at_seam(seams: list[Seam], places: Places) -> NDArray[np.bool_]:
    """Tell which of some places are on either side of a seam."""
    at = np.zeros(len(places[0]), dtype=bool)
    for seam in seams:
        along, other = places[seam.axis], places[1 - seam.axis]
        beside = (along == seam.at) | (along == seam.at - 1)
        at |= beside & (other >= seam.start - 1) & (other <= seam.stop + 1)
    return at


def parts(places: Places) -> Iterator[Places]:
    """Divide pixels into large parts that do not touch, and the rest: each has its own answer.

    The solver goes over all of its network as often as the longest of its paths has nodes. So it
    takes less time for each part alone, unless its preparation takes more than it saves.
    """
    if len(places[0]) < 2 * _ALONE:
        yield places
        return
    rows, columns = (side - side.min() for side in places)
    window = np.zeros((rows.max() + 1, columns.max() + 1), dtype=bool)
    window[rows, columns] = True
    part = ndimage.label(window, np.ones((3, 3)))[0][rows, columns]
    large = np.bincount(part) >= _ALONE
    for number in np.flatnonzero(large):
        own = part == number
        yield places[0][own], places[1][own]
    rest = ~large.take(part)
    if rest.any():
        yield places[0][rest], places[1][rest]


# The energy is the usual one of a graph cut: what each pixel's class costs, plus, for each pair
# of neighbours of different classes, more where the picture is even than where it has an edge.
# It is lowered first over whole superpixels, which finds the objects, and then over single
# pixels in a narrow band around the boundary, which finds the outline. Larger pictures are
# gone up level by level, with a band at each. The band is cut piece by piece, each with what is
# around it held fixed: no call to the solver takes long, and the energy never rises. Where the
# boundary has run into what was held, the edge of the band or of a piece, it is cut again with
# room on both sides: neither edge shall be seen in the answer.

if TYPE_CHECKING:
    CostsOf = Callable[[NDArray[np.intp]], NDArray[np.float32]]
    """Costs of the classes for some pixels, counted row by row, ``pixels x classes``."""

_MOST_FROM_NOTHING = 4500
"""Pixels that are cut at once when no flow is known to begin with, which takes longer."""
_SHARES = 1 / 2, 1 / 3
"""How much of too large a piece goes into the first of its two: the one, and the other the next
time, so that the seams are elsewhere."""
_ROOM = 2
"""How far around such a place the boundary is free again, in half widths of the band."""
_PROHIBITIVE = 1e4
"""More than a small region can gain by another class, and little enough for exact flows."""


def cut_regions(
    costs: NDArray[np.float64],
    edges: Edges,
    smoothness: float,
    held: NDArray[np.intp],
    flow: NDArray[np.float32] | None = None,
) -> NDArray[np.intp]:
    """Label regions; ``held`` has the class of those under strokes and -1 elsewhere.

    ``flow`` is that of an earlier cut of these regions: see `segapp.engine.graph_cut.min_cut`.
    """
    weighted = replace(edges, weight=smoothness * edges.weight)
    fixed = np.flatnonzero(held >= 0)
    costs = costs.copy()
    costs[fixed] = _PROHIBITIVE
    costs[fixed, held[fixed]] = 0.0
    return smallest_energy(costs, weighted, flow)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One level of the picture with all that a cut needs to know about its pixels.

    ``bonds`` are told `region_graph.pixel_by_pixel`. ``flows``, shaped alike, are those
    of earlier cuts, and become those of the latest.
    """

    marked: NDArray[np.int16]
    costs_of: CostsOf
    bonds: NDArray[np.float32]
    flows: NDArray[np.float32]
    smoothness: float


def cut_band(
    level: Level,
    labels: NDArray[np.uint8],
    half_width: int,
    again: int = 0,
    where: NDArray[np.bool_] | None = None,
) -> Iterator[None]:
    """Lower the energy within a band around the boundary, in place; yields after each piece.

    Where the boundary has run into what was held, it is cut ``again`` so often at the most.
    ``where`` is the part of the picture in which it may have to move, if that is not all of it.
    """
    for left in range(again, -1, -1):
        # Nothing moves elsewhere: all that matters lies in the box.
        box = _box(where, labels.shape, half_width + 1)
        before, unmarked = labels[box].copy(), level.marked[box] < 0
        band, seams = _band(before, half_width), list[Seam]()
        free = band & unmarked if where is None else band & unmarked & where[box]
        for piece in pieces(_places(free, box), _SHARES[left % 2], seams):
            _cut_piece(level, labels, piece)
            yield
        if not left:
            return
        boundary = _boundary(labels[box]) & unmarked
        places = _places(boundary, box)
        stuck = at_seam(seams, places)
        if where is not None:
            # Begun with the answer before, or cut once already: only what moves is of interest.
            stuck |= _at_rim(where, places)
            stuck &= (labels[box] != before)[boundary]
        stuck |= _at_rim(band, _places(boundary))
        if not stuck.any():
            return
        rows, columns = places
        where = _around(labels.shape, (rows[stuck], columns[stuck]), _ROOM * half_width)


def _box(where: NDArray[np.bool_] | None, shape: tuple[int, ...], margin: int) -> Box:
    """Return rows and columns of a part of an image, and so many around it."""
    if where is None:
        return slice(0, shape[0]), slice(0, shape[1])
    rows, columns = (np.flatnonzero(where.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return slice(0, 0), slice(0, 0)
    return (
        slice(max(rows[0] - margin, 0), rows[-1] + margin + 1),
        slice(max(columns[0] - margin, 0), columns[-1] + margin + 1),
    )


def _places(mask: NDArray[np.bool_], box: Box | None = None) -> Places:
    """Return the places of a mask, in an image of which it is a box."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return (rows, columns) if box is None else (rows + box[0].start, columns + box[1].start)


def _boundary(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask the pixels on either side of a boundary."""
    edge = np.zeros(labels.shape, dtype=bool)
    for here, there in (ACROSS, DOWN):
        differs = labels[here] != labels[there]
        edge[here] |= differs
        edge[there] |= differs
    return edge


def _band(labels: NDArray[np.uint8], half_width: int) -> NDArray[np.bool_]:
    """Mask so many pixels to each side of a boundary."""
    return _grown(_boundary(labels), half_width - 1)


def _grown(mask: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Let a mask grow by a pixel to each side, so often: ten times as fast as ndimage does.

    What has grown by some steps, moved by as many or fewer to each side, has grown by these more;
    so six steps are four. Around the image is room for what comes back into it.
    """
    if not steps:
        return mask
    inside = slice(steps, -steps), slice(steps, -steps)
    grown = np.zeros((mask.shape[0] + 2 * steps, mask.shape[1] + 2 * steps), dtype=bool)
    grown[inside] = mask
    done = 0
    while done < steps:
        more = min(max(done, 1), steps - done)
        before = grown.copy()
        grown[more:] |= before[:-more]
        grown[:-more] |= before[more:]
        grown[:, more:] |= before[:, :-more]
        grown[:, :-more] |= before[:, more:]
        done += more
    return grown[inside]


def _at_rim(band: NDArray[np.bool_], places: Places) -> NDArray[np.bool_]:
    """Tell which of some places have a neighbour beyond the band, of the eight that tie them."""
    rows, columns = places
    height, width = band.shape
    inside = np.ones(len(rows), dtype=bool)
    beside = [np.maximum(columns - 1, 0), columns, np.minimum(columns + 1, width - 1)]
    for other in (np.maximum(rows - 1, 0), rows, np.minimum(rows + 1, height - 1)):
        first = other * width
        for column in beside:
            inside &= band.take(first + column)
    return ~inside


def _around(shape: tuple[int, ...], places: Places, reach: int) -> NDArray[np.bool_]:
    """Mask the square around each of a few places."""
    mask = np.zeros(shape, dtype=bool)
    for row, column in zip(*(side.tolist() for side in places), strict=True):
        mask[
            max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1
        ] = 1
    return mask


def _cut_piece(level: Level, labels: NDArray[np.uint8], places: Places) -> None:
    """Cut some of the band's pixels, in the order of rows, in place."""
    rows, columns = places
    around = labels[
        max(rows[0] - 1, 0) : rows[-1] + 2, max(columns.min() - 1, 0) : columns.max() + 2
    ]
    least, most = int(around.min()), int(around.max())
    if least == most:
        return
    between = (c for c in range(least + 1, most) if (around == c).any())
    classes = [least, *between, most]
    found = np.array(classes, dtype=np.uint8)
    if len(classes) > 2:
        _cut_pixels(level, labels, Pixels(*places, labels.shape), found)
        return
    for part in parts(places):
        pixels = Pixels(*part, labels.shape)
        if len(part[0]) > _MOST_FROM_NOTHING:
            _begin(level, labels, pixels, found)
        _cut_pixels(level, labels, pixels, found)


def _begin(
    level: Level, labels: NDArray[np.uint8], pixels: Pixels, classes: NDArray[np.uint8]
) -> None:
    """Where no flow is known, cut both halves of the pixels, for one that all can begin with.

    That changes no answer and takes some milliseconds. But the longest of the three calls holds
    the interpreter for two thirds of the time that the one would.
    """
    if level.flows.take(pixels.numbers, axis=0).any():
        return
    trial = labels.copy()
    for half in divided((pixels.rows, pixels.columns), _SHARES[0])[1]:
        _cut_pixels(level, trial, Pixels(*half, labels.shape), classes)


def _cut_pixels(
    level: Level, labels: NDArray[np.uint8], pixels: Pixels, classes: NDArray[np.uint8]
) -> None:
    """Give some pixels the best of some classes, in place."""
    ties = Ties.of(pixels, level.bonds, level.smoothness)
    numbers = ties.numbers
    position = np.zeros(classes[-1] + 1, dtype=np.intp)
    position[classes] = np.arange(len(classes))
    costs = level.costs_of(numbers)[:, classes].astype(np.float64)
    here, near, weight = ties.held
    # A neighbour that stays makes its own class cheaper.
    cheaper = here * len(classes) + position[labels.take(near)]
    costs -= np.bincount(cheaper, weight, costs.size).reshape(costs.shape)
    if len(classes) == 2:
        flow = ties.flow(level.flows)
        preference = costs[:, 0] - costs[:, 1]
        found = cut_arcs(preference, ties.arcs(), ties.costs(), flow).astype(np.intp)
        ties.keep(flow, level.flows)
    else:
        found = smallest_energy(costs, ties.edges())
    np.put(labels, numbers, classes[found])
