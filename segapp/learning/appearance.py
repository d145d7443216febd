"""What the classes look like by one thing that pixels have: a colour, or a kind by a network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import Histogram, StrokeColours
from segapp.outline.drawing import Look

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from segapp.learning.colour_likelihood import ColourLikelihood
    from segapp.picture.kinds import Kinds

_OF_KINDS = 1.0
"""How much kinds count; colours by `Settings.colour_likelihood`. On the harder half of the tuning
images 0.75 to 1.2 are alike, 0.4 gains half as much."""
_UNSEEN = 0.3
"""Density of a kind that was never seen, against that of all kinds if they were as many."""


@dataclass(frozen=True, slots=True, eq=False)
class Appearance:
    """How likely each colour, or kind, is in each class, and what it costs.

    Parameters
    ----------
    bins
        That of each pixel at the size at which is learnt.
    patches
        How many pixels of each bin a patch has.
    likelihood
        By all that is known before the outline is drawn.
    weight
        How much it counts.
    strokes
        What the strokes alone show, for the outline's own to join; ``None`` where none shall.
    """

    bins: NDArray[np.int32]
    patches: csr_array
    likelihood: ColourLikelihood
    weight: float
    strokes: StrokeColours | None = None

    def look(self) -> Look:
        """Return what outlines are drawn by."""
        return Look(self.bins, self.patches, np.float32(self.weight) * self.likelihood.costs)

    def with_answer(self, positions: NDArray[np.uint8]) -> Appearance:
        """Let what an answer shows join, given the class position of each patch."""
        if self.strokes is None:
            return self
        known = self.strokes.and_of_answer(self.patches, positions)
        return replace(self, likelihood=known.likelihood())

    def as_it_is(self) -> Appearance:
        """Return the same, for nothing more to join."""
        return replace(self, strokes=None)


def of_kinds(
    kinds: Kinds, marked: NDArray[np.int16], classes: NDArray[np.intp], background: int
) -> Appearance:
    """Count the kinds under the strokes, as `StrokeColours` does with colours."""
    n_kinds = len(kinds.alike)
    histogram = Histogram(n_kinds, partial(np.matmul, kinds.alike), _UNSEEN / n_kinds)
    strokes = StrokeColours.of(kinds.of_pixels, marked, classes, background, histogram)
    return Appearance(kinds.of_pixels, kinds.of_patches, strokes.likelihood(), _OF_KINDS, strokes)
