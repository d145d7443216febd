"""From what was learnt about regions to the outline at full size, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
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

_HALF_WIDTH = 7
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


def _cut_patches(scene: Scene, costs: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Draw the outline along the patches of the last level."""
    terrain, marks = scene.terrain, scene.marks[-1]
    patches, index_map = terrain.patches, scene.prototypes.index_map
    positions = range(costs.shape[1])
    patch_costs = np.empty((len(patches), costs.shape[1]))
    for position in positions:
        pixels = costs[:, position][index_map] + scene.colour_costs[:, position][terrain.cells]
        patch_costs[:, position] = np.bincount(patches.index_map.ravel(), pixels.ravel())
    counts = np.stack([patches.count(marks == position) for position in positions], axis=1)
    held = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    smoothness = scene.smoothness * scale_of(scene.levels[-1])
    regions = cut_regions(patch_costs, terrain.patch_edges, smoothness, held)
    return np.asarray(regions.astype(np.uint8)[patches.index_map])


def draw_outline(
    scene: Scene, costs: NDArray[np.float64]
) -> Generator[float, None, NDArray[np.uint8]]:
    """Yield the share that is done, return the class position of each pixel at full size.

    ``costs`` is prototypes x classes.
    """
    labels = _cut_patches(scene, costs)
    yield 0.2
    small_costs = costs.astype(np.float32)
    n_levels = len(scene.levels)
    for steps_up, depth in enumerate(reversed(range(n_levels))):
        rgb, marks = scene.levels[depth], scene.marks[depth]
        labels = repeated(labels, (rgb.shape[0], rgb.shape[1]), 2 if steps_up else 1)
        labels = np.where(marks >= 0, marks, labels).astype(np.uint8)
        canvas = Canvas(
            marked=marks,
            costs_of=partial(_costs_of, scene, small_costs, steps_up),
            bonds_of=partial(_bonds_of, scene, steps_up),
            smoothness=scene.smoothness * scale_of(rgb),
        )
        for _ in cut_band(canvas, labels, _HALF_WIDTH_ABOVE if steps_up else _HALF_WIDTH):
            yield 0.2 + 0.8 * (steps_up + 0.5) / n_levels
    return labels


def _costs_of(
    scene: Scene, costs: NDArray[np.float32], steps_up: int, box: Box
) -> NDArray[np.float32]:
    """Return what the classes cost in a box of the level so many steps above the last."""
    if steps_up:
        cells = colour_cells(scene.levels[-1 - steps_up][box])
    else:
        cells = scene.terrain.cells[box]
    rows, columns = (np.arange(side.start, side.stop) >> steps_up for side in box)
    prototypes = scene.prototypes.index_map[rows[:, None], columns]
    return np.asarray(costs[prototypes] + scene.colour_costs[cells])


def _bonds_of(
    scene: Scene, steps_up: int, box: Box
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the bonds in a box of the level so many steps above the last."""
    if steps_up:
        return scene.terrain.contrast.bonds(scene.levels[-1 - steps_up][box])
    across, down = scene.terrain.bonds
    rows, columns = box
    return (
        across[rows, columns.start : columns.stop - 1],
        down[rows.start : rows.stop - 1, columns],
    )
