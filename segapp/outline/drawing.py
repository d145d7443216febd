"""From what was learnt about regions to the outline at full size, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from segapp.outline.cuts import Level, cut_band, cut_regions
from segapp.picture.colour_bins import colour_bins
from segapp.picture.pyramid import repeated

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.picture.contrast import Bonds
    from segapp.picture.neighbours import Box
    from segapp.picture.prototypes import Prototypes
    from segapp.picture.region_graph import RegionGraph

_HALF_WIDTH = 7
"""Of the band that is cut pixel by pixel, to each side: a patch's border may be off by that much.
Rows "band" of the trials in SEGMENTATION.md: narrower needs more strokes, wider not fewer."""
_AGAIN = 6
"""How often the boundary may go on where it has come to the band's edge."""
_HALF_WIDTH_ABOVE = 2
"""A level doubles the last one's outline, which is then off by a pixel or so."""
_USUAL_SIDE = 450.0


def scale_of(rgb: NDArray[np.uint8]) -> float:
    """Return how large a picture is against the usual one.

    Pixels of a region grow with the square of the size, those of its boundary with the size:
    boundaries have to cost by the size, for a picture to be cut alike at all sizes.
    """
    return math.sqrt(rgb.shape[0] * rgb.shape[1]) / _USUAL_SIDE


@dataclass(frozen=True, slots=True, eq=False)
class OutlineProblem:
    """A picture with its strokes, as refinement sees them.

    Parameters
    ----------
    levels
        The picture and its halvings.
    marks
        For each level the class of each marked pixel, -1 elsewhere, as position among the
        classes that take part.
    prototypes, graph
        Of the last level.
    colour_costs
        Histogram bins x classes, as weighted as they shall count.
    smoothness
        Cost of a boundary for each pixel of its length in a picture of `_USUAL_SIDE` squared.
    """

    levels: Sequence[NDArray[np.uint8]]
    marks: Sequence[NDArray[np.int16]]
    prototypes: Prototypes
    graph: RegionGraph
    colour_costs: NDArray[np.float32]
    smoothness: float


def cut_patches(problem: OutlineProblem, costs: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Draw the outline along the patches of the last level: class positions of its pixels.

    ``costs`` is prototypes x classes.
    """
    graph, marks = problem.graph, problem.marks[-1]
    patches, index_map = graph.patches, problem.prototypes.index_map
    positions = range(costs.shape[1])
    patch_costs = np.empty((len(patches), costs.shape[1]))
    for position in positions:
        pixels = costs[:, position][index_map] + problem.colour_costs[:, position][graph.bins]
        patch_costs[:, position] = np.bincount(patches.index_map.ravel(), pixels.ravel())
    counts = np.stack([patches.count(marks == position) for position in positions], axis=1)
    held = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    smoothness = problem.smoothness * scale_of(problem.levels[-1])
    regions = cut_regions(patch_costs, graph.patch_edges, smoothness, held)
    return np.asarray(regions.astype(np.uint8)[patches.index_map])


def enlarge_outline(
    problem: OutlineProblem, costs: NDArray[np.float64], labels: NDArray[np.uint8]
) -> Generator[float, None, NDArray[np.uint8]]:
    """Carry the last level's outline up to the full size; yield the share that is done."""
    above = len(problem.levels) - 1
    for steps_up in range(1, above + 1):
        rgb = problem.levels[-1 - steps_up]
        labels = repeated(labels, (rgb.shape[0], rgb.shape[1]))
        for _ in follow_edges(problem, costs, labels, steps_up):
            yield (steps_up - 0.5) / above
    return labels


def follow_edges(
    problem: OutlineProblem,
    costs: NDArray[np.float64],
    labels: NDArray[np.uint8],
    steps_up: int = 0,
) -> Iterator[None]:
    """Let the outline follow the edges of the level so many steps above the last, in place."""
    rgb, marks = problem.levels[-1 - steps_up], problem.marks[-1 - steps_up]
    np.copyto(labels, marks.astype(np.uint8), where=marks >= 0)
    level = Level(
        marked=marks,
        costs_of=partial(_costs_of, problem, costs.astype(np.float32), steps_up),
        bonds_of=partial(_bonds_of, problem, steps_up),
        smoothness=problem.smoothness * scale_of(rgb),
    )
    if steps_up:
        yield from cut_band(level, labels, _HALF_WIDTH_ABOVE)
    else:
        yield from cut_band(level, labels, _HALF_WIDTH, _AGAIN)


def _costs_of(
    problem: OutlineProblem, costs: NDArray[np.float32], steps_up: int, box: Box
) -> NDArray[np.float32]:
    """Return what the classes cost in a box of the level so many steps above the last."""
    bins = colour_bins(problem.levels[-1 - steps_up][box]) if steps_up else problem.graph.bins[box]
    rows, columns = (np.arange(side.start, side.stop) >> steps_up for side in box)
    prototypes = problem.prototypes.index_map[rows[:, None], columns]
    return np.asarray(costs[prototypes] + problem.colour_costs[bins])


def _bonds_of(problem: OutlineProblem, steps_up: int, box: Box) -> Bonds:
    """Return the bonds in a box of the level so many steps above the last."""
    if steps_up:
        return problem.graph.contrast.bonds(problem.levels[-1 - steps_up][box])
    rows, columns = box
    height, width = problem.levels[-1].shape[:2]
    # A kind of pair that leaves out the last row or column of the picture does so in a box.
    return tuple(
        bond[
            rows.start : rows.stop - (height - bond.shape[0]),
            columns.start : columns.stop - (width - bond.shape[1]),
        ]
        for bond in problem.graph.bonds
    )
