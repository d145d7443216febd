"""Likelihood of colours and feature clusters under each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.prior import border_of
from segapp.engine.refinement import Look
from segapp.engine.superpixels import BIN_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from segapp.engine.encoder_features import Kinds


# What holds for colours holds for any other kinds of pixels that are counted: `Histogram`.

_SMOOTHING = 1.5
"""Of a histogram, in bins: a stroke shows few of the colours that are meant."""
_FLOOR = 1e-5
"""Density of a colour that was never seen: a third of an even histogram's 1 / 32768."""
_BLUR = ndimage.gaussian_filter1d(
    np.eye(BIN_LEVELS, dtype=np.float32), _SMOOTHING, 0, truncate=3.0
)
"""What a Gaussian filter does along an axis, as a matrix: a product is ten times faster."""
LARGEST_COST = 4.0
_BORDER_PIXELS = 0.003
"""What the border counts for as background, in marked pixels, as a part of all pixels: three dabs
of a brush of 8 pixels at 450 x 450. From one dab for each class, on the tuning images, the mean
IoU over the first five strokes rises from 0.794 to 0.836; with longer strokes nothing changes."""
_OF_ANSWER = 0.5
"""How much the colours of an answer count against those of the strokes when it is drawn again.
On the tuning images the start gains 1.6 points with 0.3, 1.7 with 0.6."""
_FEWEST = 50
"""Pixels of a class below which its part of an answer says nothing about its colours."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How counted bins become a density.

    Parameters
    ----------
    smooth
        Lets what is seen in one bin count for like ones; returns float32.
    floor
        The density of a bin that was never seen.
    """

    n_bins: int
    smooth: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    floor: float

    def density(self, counts: NDArray[np.number]) -> NDArray[np.float32]:
        """Return how likely each bin is, given how often each was seen."""
        smooth = self.smooth(counts.astype(np.float32))
        return np.asarray(smooth / smooth.sum())

    def of_bins(self, bins: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the density of some pixels, given their bins."""
        return self.density(np.bincount(bins, minlength=self.n_bins))


def _blurred(counts: NDArray[np.float32]) -> NDArray[np.float32]:
    cube = counts.reshape(BIN_LEVELS, -1)
    for _ in range(3):  # along the first axis, which becomes the last
        cube = (cube.T @ _BLUR.T).reshape(BIN_LEVELS, -1)
    return cube.ravel()


COLOURS = Histogram(BIN_LEVELS**3, _blurred, _FLOOR)


@dataclass(frozen=True, slots=True, eq=False)
class ColourLikelihood:
    """Costs of the classes in each histogram bin, ``bins x classes``.

    The likeliest class costs nothing, another the logarithm of how much likelier the best
    one is, at the most `LARGEST_COST`: strokes never show all the colours of a class.
    """

    costs: NDArray[np.float32]

    def mean_costs(self, colours: csr_array, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the average costs of the classes in each prototype.

        ``colours`` has its pixels of each bin, ``sizes`` all of them.
        """
        return np.asarray((colours @ self.costs) / sizes[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class StrokeColours:
    """How the colours of each class are distributed, as far as the strokes show it.

    Parameters
    ----------
    densities
        Classes x bins, each row sums to 1.
    classes
        The class of each row.
    histogram
        Of colours, or of other kinds that pixels have.
    """

    densities: NDArray[np.float32]
    classes: NDArray[np.intp]
    histogram: Histogram = COLOURS

    @classmethod
    def of(
        cls,
        bins: NDArray[np.int32],
        marked: NDArray[np.int16],
        classes: NDArray[np.intp],
        background: int,
        histogram: Histogram = COLOURS,
    ) -> StrokeColours:
        """Count the colours under the strokes of the classes, each of which must have some.

        The picture's unmarked border counts a little as background: with few strokes, most of
        what surrounds an object has never been touched.
        """
        places = np.flatnonzero(marked >= 0)
        under = bins.take(places), marked.take(places)
        densities = [histogram.of_bins(under[0][under[1] == label]) for label in classes]
        around = np.flatnonzero(border_of(bins.shape))
        border = bins.take(around[marked.take(around) < 0])
        if background in classes and border.size:
            row = int(np.flatnonzero(classes == background)[0])
            seen = np.count_nonzero(under[1] == background)
            share = _BORDER_PIXELS * bins.size / (_BORDER_PIXELS * bins.size + seen)
            densities[row] += np.float32(share) * (histogram.of_bins(border) - densities[row])
        return cls(np.stack(densities), classes, histogram)

    def and_of_answer(self, colours: csr_array, positions: NDArray[np.uint8]) -> StrokeColours:
        """Add the colours of all the pixels that an answer gives each class.

        ``colours`` has the pixels of each bin in each patch, ``positions`` the patch's class as
        a place among ``classes``.
        """
        densities = self.densities.copy()
        counts = colours.T @ (positions[:, None] == np.arange(len(self.classes))).astype(float)
        for row, found in enumerate(counts.T):
            if found.sum() >= _FEWEST:
                densities[row] += _OF_ANSWER * (self.histogram.density(found) - densities[row])
        return StrokeColours(densities, self.classes, self.histogram)

    def likelihood(self) -> ColourLikelihood:
        """Return what each class costs in each bin."""
        logarithms = np.log(self.densities + np.float32(self.histogram.floor))
        best = logarithms.max(axis=0)
        costs = np.empty((len(best), len(logarithms)), dtype=np.float32)  # read bin by bin
        for of_class, row in zip(costs.T, logarithms, strict=True):
            np.subtract(best, row, out=of_class)
        return ColourLikelihood(np.minimum(costs, np.float32(LARGEST_COST), out=costs))


def beliefs(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn costs of classes into how likely they are; each row sums to 1."""
    likely = np.exp(costs.min(axis=1, keepdims=True) - costs)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


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
