"""From what was learnt about regions to the outline at full size, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.colour_likelihood import colour_cells
from segapp.graph_cut import Edges, smallest_energy
from segapp.pyramid import repeated
from segapp.refine import Canvas, cut_band

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from numpy.typing import NDArray

    from segapp.groundwork import Terrain
    from segapp.neighbours import Box
    from segapp.prototypes import Prototypes

_HALF_WIDTH = 4
_HALF_WIDTH_ABOVE = 2
"""A level doubles the last one's outline, which is then off by a pixel or so."""
_USUAL_SIDE = 450.0
_STROKE_COST = 8.0
"""Of a pixel under a stroke of another class: more than learner and colours can outweigh."""


def scale_of(rgb: NDArray[np.uint8]) -> float:
    """Return how large a picture is against the usual one.

    Pixels of a region grow with the square of the size, those of its boundary with the size:
    boundaries have to cost by the size, for a picture to be cut alike at all sizes.
    """
    return math.sqrt(rgb.shape[0] * rgb.shape[1]) / _USUAL_SIDE


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A picture with its strokes, as refinement sees them.

    Parameters
    ----------
    levels
        The picture and its halvings.
    marks
        For each level the class of each marked pixel, -1 elsewhere, as position among the
        classes that take part.
    prototypes, terrain
        Of the last level.
    colour_costs
        Histogram cells x classes, as weighted as they shall count.
    smoothness
        Cost of a boundary for each pixel of its length in a picture of `_USUAL_SIDE` squared.
    """

    levels: Sequence[NDArray[np.uint8]]
    marks: Sequence[NDArray[np.int16]]
    prototypes: Prototypes
    terrain: Terrain
    colour_costs: NDArray[np.float32]
    smoothness: float


def _cut_patches(scene: Scene, costs: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Draw the outline along the patches of the last level."""
    terrain, marks = scene.terrain, scene.marks[-1]
    patches, index_map = terrain.patches, scene.prototypes.index_map
    positions = range(costs.shape[1])
    patch_costs = np.empty((len(patches), costs.shape[1]))
    for position in positions:
        pixels = costs[:, position][index_map] + scene.colour_costs[:, position][terrain.cells]
        patch_costs[:, position] = np.bincount(patches.index_map.ravel(), pixels.ravel())
    # A stroke weighs by the pixels it covers: holding a patch that it only grazes would push
    # the outline off by that patch.
    for position in positions:
        grazed = _STROKE_COST * patches.count(marks == position)
        patch_costs += grazed[:, None]
        patch_costs[:, position] -= grazed
    smoothness = scene.smoothness * scale_of(scene.levels[-1])
    edges = terrain.patch_edges
    weighted = Edges(edges.u, edges.v, smoothness * edges.weight)
    regions = smallest_energy(patch_costs, weighted)
    return np.asarray(regions.astype(np.uint8)[patches.index_map])


def draw_outline(
    scene: Scene, costs: NDArray[np.float64]
) -> Generator[float, None, NDArray[np.uint8]]:
    """Yield the share that is done, return the class position of each pixel at full size.

    ``costs`` is prototypes x classes.
    """
    index_map = scene.prototypes.index_map
    labels = _cut_patches(scene, costs)
    yield 0.2
    small_costs = costs.astype(np.float32)
    n_levels = len(scene.levels)
    for steps_up, depth in enumerate(reversed(range(n_levels))):
        rgb, marks = scene.levels[depth], scene.marks[depth]
        labels = repeated(labels, (rgb.shape[0], rgb.shape[1]), 2 if steps_up else 1)
        labels = np.where(marks >= 0, marks, labels).astype(np.uint8)

        def costs_of(
            box: Box, rgb: NDArray[np.uint8] = rgb, steps_up: int = steps_up
        ) -> NDArray[np.float32]:
            rows, columns = (np.arange(side.start, side.stop) >> steps_up for side in box)
            learnt = small_costs[index_map[rows[:, None], columns]]
            return np.asarray(learnt + scene.colour_costs[colour_cells(rgb[box])])

        smoothness = scene.smoothness * scale_of(rgb)
        canvas = Canvas(rgb, scene.terrain.contrast, marks, costs_of, smoothness)
        for _ in cut_band(canvas, labels, _HALF_WIDTH_ABOVE if steps_up else _HALF_WIDTH):
            yield 0.2 + 0.8 * (steps_up + 0.5) / n_levels
    return labels
