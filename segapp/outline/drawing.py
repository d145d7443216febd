"""From what was learnt about regions to the outline at the size at which is learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import ndimage

from segapp.outline.cuts import Level, cut_band, cut_regions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from segapp.picture.prototypes import Prototypes
    from segapp.picture.region_graph import RegionGraph

_HALF_WIDTH = 7
"""Of the band that is cut pixel by pixel, to each side: a patch's border may be off by that much.
Rows "band" of the trials in SEGMENTATION.md: narrower needs more strokes, wider not fewer."""
_AGAIN = 6
"""How often the boundary may go on where it has come to the band's edge."""
_BLOCK = 16
_BLOCKS_AROUND = 2
"""An outline goes on where something has changed: in blocks of so many pixels, and so many around
them. That is farther than a boundary moves at once, which is half of the band's width."""
_USUAL_SIDE = 450.0


def scale_of(rgb: NDArray[np.uint8]) -> float:
    """Return how large a picture is against the usual one.

    Pixels of a region grow with the square of the size, those of its boundary with the size:
    boundaries have to cost by the size, for a picture to be cut alike at all sizes.
    """
    return math.sqrt(rgb.shape[0] * rgb.shape[1]) / _USUAL_SIDE


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What classes cost by one thing that pixels have: their colours, say.

    Parameters
    ----------
    bins
        Which of them each pixel has.
    patches
        How many pixels of each bin a patch has.
    costs
        Bins x classes, as weighted as they shall count.
    """

    bins: NDArray[np.int32]
    patches: csr_array
    costs: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class OutlineProblem:
    """A picture with its strokes, as refinement sees them.

    Parameters
    ----------
    rgb
        At the size at which is learnt, like all that follows.
    marks
        The class of each marked pixel, -1 elsewhere, as position among the classes that take
        part.
    looks
        What classes cost by what pixels look like.
    smoothness
        Cost of a boundary for each pixel of its length in a picture of `_USUAL_SIDE` squared.
    """

    rgb: NDArray[np.uint8]
    marks: NDArray[np.int16]
    prototypes: Prototypes
    graph: RegionGraph
    looks: tuple[Look, ...]
    smoothness: float


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """An outline at the size at which is learnt, from which that of the next stroke goes on.

    Parameters
    ----------
    patches
        The class of each patch when the outline was drawn along them.
    labels
        The class of each pixel, after it has followed the edges.
    """

    patches: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def renumbered(self, numbers: NDArray[np.uint8]) -> Outline:
        """Return the same outline with ``numbers[c]`` in place of each class c."""
        most = max(int(self.patches.max()), int(self.labels.max()))
        if (numbers[: most + 1] == np.arange(most + 1)).all():
            return self  # as with two classes nearly always
        return Outline(numbers.take(self.patches), numbers.take(self.labels))

    def among(self, classes: NDArray[np.intp]) -> Outline | None:
        """Return it in places among some classes; ``None`` if it has one that is not there."""
        nowhere = 255  # more than there are places
        places = np.full(256, nowhere, dtype=np.uint8)
        places[classes] = np.arange(len(classes))
        found = self.renumbered(places)
        return None if max(found.labels.max(), found.patches.max()) == nowhere else found


@dataclass(frozen=True, slots=True, eq=False)
class PatchCut:
    """An outline along the patches, to be drawn for some looks of the classes or others.

    Parameters
    ----------
    costs
        Patches x classes, without those of looks.
    held
        The class of each patch under a stroke, -1 elsewhere.
    """

    problem: OutlineProblem
    costs: NDArray[np.float64]
    held: NDArray[np.intp]

    @classmethod
    def of(cls, problem: OutlineProblem, costs: NDArray[np.float64]) -> Self:
        """Sum up the costs of the prototypes, ``prototypes x classes``."""
        graph, marks = problem.graph, problem.marks
        places = np.flatnonzero(marks >= 0)
        shape = len(graph.patches), costs.shape[1]
        numbers = graph.patches.index_map.take(places) * shape[1] + marks.take(places)
        counts = np.bincount(numbers, minlength=shape[0] * shape[1]).reshape(shape)
        held = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
        return cls(problem, graph.patch_prototypes @ costs, held)

    def patches(self, looks: tuple[Look, ...]) -> NDArray[np.uint8]:
        """Return the class position of each patch."""
        graph, costs = self.problem.graph, self.costs
        for look in looks:
            costs = costs + look.patches @ look.costs
        smoothness = self.problem.smoothness * scale_of(self.problem.rgb)
        cut = cut_regions(costs, graph.patch_edges, smoothness, self.held, graph.flows.patches)
        return cut.astype(np.uint8)


def begun(
    problem: OutlineProblem,
    patches: NDArray[np.uint8],
    before: Outline | None = None,
    marked_anew: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Return the class of each pixel to begin with, and where the boundary has to be looked at.

    With the outline of the answer before, it goes on from there: where patches have another class
    now, and where something was ``marked_anew``. Elsewhere it stays. ``None`` is everywhere.
    """
    index_map = problem.graph.patches.index_map
    if before is None:
        return patches.take(index_map), None
    changed = (patches != before.patches).take(index_map)
    labels = before.labels.copy()
    labels[changed] = patches.take(index_map[changed])
    return labels, _near(changed if marked_anew is None else changed | marked_anew)


def follow_edges(
    problem: OutlineProblem,
    costs: NDArray[np.float64],
    labels: NDArray[np.uint8],
    where: NDArray[np.bool_] | None = None,
) -> Iterator[None]:
    """Let the outline follow the edges of the picture, pixel by pixel, in place.

    ``where`` is the part of the picture in which it may have to move, if that is not all of it.
    """
    np.copyto(labels, problem.marks.astype(np.uint8), where=problem.marks >= 0)
    level = Level(
        marked=problem.marks,
        costs_of=partial(_costs_of, problem, costs.astype(np.float32)),
        bonds=problem.graph.bonds,
        flows=problem.graph.flows.pixels,
        smoothness=problem.smoothness * scale_of(problem.rgb),
    )
    yield from cut_band(level, labels, _HALF_WIDTH, _AGAIN, where)


def _near(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask what lies near some pixels, block by block."""
    height, width = changed.shape
    rows, columns = np.divmod(np.flatnonzero(changed), width)
    blocks = np.zeros((-(-height // _BLOCK), -(-width // _BLOCK)), dtype=bool)
    blocks[rows // _BLOCK, columns // _BLOCK] = True
    square = np.ones((2 * _BLOCKS_AROUND + 1,) * 2)
    blocks = np.asarray(ndimage.binary_dilation(blocks, square))
    return np.repeat(np.repeat(blocks, _BLOCK, axis=0), _BLOCK, axis=1)[:height, :width]


def _costs_of(
    problem: OutlineProblem, costs: NDArray[np.float32], pixels: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return what the classes cost at some pixels."""
    total = costs.take(problem.prototypes.index_map.take(pixels), axis=0)
    for look in problem.looks:
        total += look.costs.take(look.bins.take(pixels), axis=0)
    return total
