"""From what was learnt about regions to the outline at full size, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.colour_likelihood import colour_cells
from segapp.pyramid import repeated
from segapp.refine import Canvas, cut_band, cut_regions

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


def draw_outline(
    scene: Scene, costs: NDArray[np.float64], held: NDArray[np.intp]
) -> Generator[float, None, NDArray[np.uint8]]:
    """Yield the share that is done, return the class position of each pixel at full size.

    Parameters
    ----------
    costs
        Prototypes x classes.
    held
        The class of each prototype that is under a stroke, -1 elsewhere.
    """
    index_map, sizes = scene.prototypes.index_map, scene.prototypes.sizes
    region_costs = costs * sizes[:, None]
    for position in range(costs.shape[1]):
        pixels = scene.colour_costs[:, position][scene.terrain.cells]
        region_costs[:, position] += np.bincount(index_map.ravel(), pixels.ravel())
    smoothness = scene.smoothness * scale_of(scene.levels[-1])
    regions = cut_regions(region_costs, scene.terrain.edges, smoothness, held)
    yield 0.2
    labels = regions.astype(np.uint8)[index_map]
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
