"""Answers for pages of a stack from other pages, matched by their surroundings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.engine.features import DESCRIPTOR_WEIGHT
from segapp.engine.kernels import gram_matrices, stroke_features
from segapp.engine.likelihood import AppearanceModel, ClassDensities, class_probabilities
from segapp.engine.prior import border_mask
from segapp.engine.refinement import PixelRefiner, StepTimer
from segapp.engine.region_belief import RegionBelief
from segapp.engine.region_classifier import (
    UNLABELLED,
    RegionScores,
    Supervision,
    first_passes,
    make_estimator,
)
from segapp.engine.region_graph import FlowWarmStart, Geodesics
from segapp.engine.state_update import region_scores
from segapp.engine.superpixels import colour_bins
from segapp.imaging.seeds import SeedMap
from segapp.model.answer import Report
from segapp.model.settings import FeatureGroup, Samples, with_encoder

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from numpy.typing import NDArray

    from segapp.engine.features import ColourImage
    from segapp.engine.preparation import PreparedPicture
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.settings import Settings


_CELLS = 6400
"""Cells of a page, about: the work grows with their number and not with the size of a page."""
_REACH = 8
"""Cells in each direction within which a place is searched: 7 % of the width of a film's page."""
_PATCH = 3
"""Cells along a side of the square that is compared."""
_TOLERANCE = 0.08
"""Difference of colours, in units of CIE Lab / 100, at which a match counts exp(-1)."""
_BEST = 10
"""Matches of a cell that count: many bad ones would outvote a few good ones."""
_MUTUALITY = 0.5
"""Weight of a place's own best match against that of the place that it is compared with."""
_EDGES = 2.0
"""Weight of local contrast against colour."""
_FAR = np.float32(1e3)
"""The difference from a place beyond the image's border."""


@dataclass(frozen=True, slots=True, eq=False)
class PageCells:
    """Mean colour and local contrast of the square cells of a page.

    Parameters
    ----------
    values
        Rows x columns x features, float32.
    side
        Pixels of the working resolution along a side of a cell.
    """

    values: NDArray[np.float32]
    side: int

    @classmethod
    def of(cls, colours: ColourImage) -> PageCells:
        """Describe a page; pages of the same size have the same cells."""
        lab = colours.lab
        side = max(1, round(math.sqrt(lab.shape[0] * lab.shape[1] / _CELLS)))
        lightness = lab[..., 0]
        edges = [
            np.abs(ndimage.gaussian_filter(lightness, 1, order=order))
            for order in ((0, 1), (1, 0))
        ]
        means = cell_means(np.concatenate((lab, np.stack(edges, axis=-1)), axis=-1), side)
        squares = cell_means(np.square(lightness)[..., np.newaxis], side)
        spread = np.sqrt(np.maximum(squares - np.square(means[..., :1]), 0))
        values = np.concatenate(
            (means[..., :3], _EDGES * spread, _EDGES * means[..., 3:]), axis=-1
        )
        return cls(values.astype(np.float32), side)


def cell_means(pixels: NDArray[np.floating], side: int) -> NDArray[np.float32]:
    """Average square cells of ``H x W x channels``; the last ones may be smaller."""
    sums = np.add.reduceat(pixels, np.arange(0, pixels.shape[0], side), axis=0)
    sums = np.add.reduceat(sums, np.arange(0, pixels.shape[1], side), axis=1)
    heights, widths = (
        np.diff(np.append(np.arange(0, length, side), length)) for length in pixels.shape[:2]
    )
    return np.asarray(sums / (heights[:, None] * widths)[..., None], dtype=np.float32)


def spread_cells(
    cells: NDArray[np.float32], side: int, shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Interpolate values of cells, ``rows x columns x channels``, to all pixels."""
    for axis, length in enumerate(shape):
        place = np.clip((np.arange(length) + 0.5) / side - 0.5, 0, cells.shape[axis] - 1)
        low = np.minimum(place.astype(np.intp), max(cells.shape[axis] - 2, 0))
        high = np.minimum(low + 1, cells.shape[axis] - 1)
        share = (place - low).astype(np.float32).reshape((-1,) + (1,) * (2 - axis))
        first, second = cells.take(low, axis=axis), cells.take(high, axis=axis)
        cells = first + share * (second - first)
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class MatchedShares:
    """The share of each class at the cells of a page, by its matches on other pages.

    Parameters
    ----------
    shares
        Rows x columns x classes; they sum to 1.
    moves
        Rows x columns x 2: from each cell to its best match on the first of the other pages, in
        cells down and to the right.
    """

    shares: NDArray[np.float32]
    moves: NDArray[np.intp]


def match_pages(
    page: PageCells, others: Sequence[tuple[PageCells, NDArray[np.float32]]]
) -> MatchedShares:
    """Carry shares of classes from other pages to a page.

    Each cell takes the shares of those cells nearby whose surroundings look like its own, the
    more they do the more. Of two cells with the same best match, the one that fits better counts
    more, so that a background that comes into view is not taken for the object that has hidden
    it.

    Parameters
    ----------
    others
        Cells and shares, ``rows x columns x classes``, of pages of the same size.
    """
    rows, columns, n_classes = others[0][1].shape
    found = [_best_matches(page.values, other.values) for other, _ in others]
    moves = found[0][0][0].reshape(rows, columns)
    costs = np.concatenate([each for _, each in found])
    costs -= costs.min(axis=0)
    enough = np.partition(costs, _BEST - 1, axis=0)[_BEST - 1]
    weights = np.where(costs <= enough, np.exp(np.float32(-1 / _TOLERANCE**2) * costs), 0)
    shares = np.zeros((rows * columns, n_classes), np.float32)
    for (_, known), (best, _), own in zip(
        others, found, np.split(weights, len(others)), strict=True
    ):
        down, right = np.divmod(best, 2 * _REACH + 1)
        down += (np.arange(rows) - _REACH).repeat(columns)
        right += np.tile(np.arange(columns) - _REACH, rows)
        there = down.clip(0, rows - 1) * columns + right.clip(0, columns - 1)
        shares += np.einsum("ki,kic->ic", own, known.reshape(-1, n_classes)[there])
    shares /= shares.sum(axis=1, keepdims=True)
    return MatchedShares(
        shares.reshape(rows, columns, n_classes),
        np.stack(np.divmod(moves, 2 * _REACH + 1), axis=-1) - _REACH,
    )


def _best_matches(
    page: NDArray[np.float32], other: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Return the moves to the best matches of each cell, and their costs."""
    costs = _differences(page, other)
    costs = costs.reshape(len(costs), -1).T
    best = np.argpartition(costs, _BEST, axis=1)[:, :_BEST]
    values = np.take_along_axis(costs, best, axis=1)
    order = values.argsort(axis=1)
    return np.take_along_axis(best, order, axis=1).T, np.take_along_axis(values, order, axis=1).T


def _windows(values: NDArray[np.float32], fill: float | None) -> NDArray[np.float32]:
    """View the values around each cell, ``rows x columns x ... x down x right``."""
    padding = [(_REACH, _REACH)] * 2 + [(0, 0)] * (values.ndim - 2)
    if fill is None:
        padded = np.pad(values, padding, mode="edge")
    else:
        padded = np.pad(values, padding, constant_values=fill)
    size = 2 * _REACH + 1
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(0, 1))


def _differences(page: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compare each cell with those around it, ``moves x rows x columns``."""
    rows, columns = page.shape[:2]
    size = 2 * _REACH + 1
    around = _windows(other, None)
    inside = _windows(np.ones((rows, columns), np.float32), 0.0)
    best = np.full((rows + size - 1, columns + size - 1), _FAR, np.float32)
    costs = np.empty((size, size, rows, columns), np.float32)
    for down in range(size):
        moved = around[..., down, :]  # rows x columns x features x right
        squares = np.zeros((size, rows, columns), np.float32)
        for feature in range(page.shape[2]):
            change = np.moveaxis(moved[:, :, feature], -1, 0) - page[:, :, feature]
            squares += np.square(change, out=change)
        ndimage.uniform_filter(squares, (0, _PATCH, _PATCH), output=costs[down])
        costs[down][np.moveaxis(inside[..., down, :], -1, 0) == 0] = _FAR
        for right in range(size):
            there = best[down : down + rows, right : right + columns]
            np.minimum(there, costs[down, right], out=there)
    for down in range(size):
        for right in range(size):
            own = costs[down, right]
            there = best[down : down + rows, right : right + columns]
            own += np.float32(_MUTUALITY) * (own - there)
    return costs.reshape(size * size, rows, columns)


_SURE = 0.9
"""Share of a class from which on a region is a labelled row, and a pixel shows its colours."""
_PRIOR = 6.0
"""Cost of leaving the class that all matches of a region have; that of the learner's opposite
code is 1, and of descriptors that tell all marked regions apart 2."""
_CARRIED = 0.6
"""Weight of the marked pages' colours against those that a page's own matches show."""
_UNSURE_WEIGHT = 0.3
"""Weight of a region that no class is sure of, against a labelled one of its size."""
_TRUST = 0.5
"""Weight of a page's answer against its matches where it is matched with the pages after it. An
answer that follows from the matches alone would never correct them, and one that replaces them
hands on each mistake of a cut."""


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredPage:
    """The part of an answered page that other pages are answered by.

    Parameters
    ----------
    shares
        Rows x columns x classes of the document, at the cells; 255 is all of a cell. Coarse, so
        that a stored one gives the same answers.
    densities
        Of the colours of the classes, where the page has marks.
    """

    cells: PageCells
    shares: NDArray[np.uint8]
    densities: ClassDensities | None = None

    @classmethod
    def of_labels(
        cls, picture: PreparedPicture, labels: NDArray[np.uint8], document: Document
    ) -> AnsweredPage:
        """Take the answer to marks, at full size."""
        times, n_classes = picture.times, len(document.classes)
        coarse = np.ascontiguousarray(labels[::times, ::times])
        classes = np.flatnonzero(np.bincount(coarse.ravel(), minlength=n_classes))
        bins = colour_bins(picture.levels[-1])
        densities = ClassDensities.of(bins, coarse.astype(np.int16), classes, document.background)
        cells = PageCells.of(picture.colours)
        shares = _cell_shares(coarse, cells.side, n_classes)
        return cls(cells, _quantised(shares), densities)


def _cell_shares(labels: NDArray[np.uint8], side: int, n_classes: int) -> NDArray[np.float32]:
    """Return the share of each class in each cell, ``rows x columns x classes``."""
    return cell_means((labels[..., np.newaxis] == np.arange(n_classes)).astype(np.float32), side)


def _quantised(shares: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.rint(255 * shares).astype(np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class PropagatedPage:
    """The answer of a page without marks.

    Parameters
    ----------
    moves
        Rows x columns x 2: from each cell to its match on the page before, in cells.
    confidence
        The IoU of the objects to be expected, from 0 to 1.
    """

    labelling: Labelling
    page: AnsweredPage
    moves: NDArray[np.intp]
    confidence: float


def propagate(
    picture: PreparedPicture,
    document: Document,
    others: Sequence[AnsweredPage],
    settings: Settings,
) -> Generator[Report, None, PropagatedPage]:
    """Answer a page without marks by other pages.

    ``others`` begin with its neighbour. The matches of the page with them are the prior of its
    answer, and label the regions that they are sure of; the learner labels the rest, and may
    overrule the prior where its own evidence is stronger.
    """
    settings = page_settings(settings)
    yield Report("Comparing pages", 0.0)
    cells = PageCells.of(picture.colours)
    matched = match_pages(
        cells, [(other.cells, np.divide(other.shares, 255, dtype=np.float32)) for other in others]
    )
    yield Report("Finding regions", 0.2)
    update = _PageUpdate(picture, document, others, matched, settings)
    yield Report("Learning", 0.4)
    scores = update.scores()
    timer = StepTimer()
    answer = yield from update.refiner.working_answer(scores, FlowWarmStart(update.graph), timer)
    labelling, _ = yield from update.refiner.full_size(answer, scores, timer)
    own = _cell_shares(answer.labels, cells.side, len(document.classes))
    shares = _TRUST * own + (1 - _TRUST) * matched.shares
    confidence = expected_iou(update.prior, answer.labels, document.background)
    yield Report("Cleaning up", 1.0)
    return PropagatedPage(
        labelling, AnsweredPage(cells, _quantised(shares)), matched.moves, confidence
    )


def page_settings(settings: Settings) -> Settings:
    """Return settings for pages without marks.

    No component is dropped for want of a mark, boundaries are drawn over superpixels, and no
    encoder takes part: it would have to read each page.
    """
    clean_up = replace(settings.clean_up, keep_touching=False)
    settings = with_encoder(settings, "")
    return replace(settings, clean_up=clean_up, refine=True, samples=Samples.SUPERPIXELS)


def expected_iou(shares: NDArray[np.float32], labels: NDArray[np.uint8], background: int) -> float:
    """Return the expected overlap of the objects with the truth.

    If each pixel is an object's with the probability ``1 - share of the background``, this is the
    expected intersection over the expected union of labels and truth.
    """
    likely = 1.0 - shares[..., background]
    inside = labels != background
    union = float(np.count_nonzero(inside) + likely[~inside].sum())
    return float(likely[inside].sum()) / union if union else 1.0


class _PageUpdate:
    """The fit of one page to its prior."""

    def __init__(
        self,
        picture: PreparedPicture,
        document: Document,
        others: Sequence[AnsweredPage],
        matched: MatchedShares,
        settings: Settings,
    ) -> None:
        self._picture, self._settings = picture, settings
        self.graph = picture.graph(settings)
        self._prototypes = prototypes = picture.table(settings).prototypes
        shape = prototypes.index_map.shape
        self.prior = spread_cells(matched.shares, others[0].cells.side, (shape[0], shape[1]))
        n_classes = self.prior.shape[2]
        regions = np.stack(
            [
                np.bincount(prototypes.index_map.ravel(), self.prior[..., label].ravel())
                for label in range(n_classes)
            ],
            axis=1,
        )
        shares = regions / prototypes.sizes[:, np.newaxis]
        present: NDArray[np.bool_] = np.any(shares > _SURE, axis=0)
        present[document.background] = True
        self._classes = classes = np.flatnonzero(present)
        among = shares[:, classes]
        self._shares = among / np.maximum(among.sum(axis=1, keepdims=True), 1e-9)
        sure = np.where(self.prior.max(axis=2) > _SURE, self.prior.argmax(axis=2), -1)
        marks = np.where(np.isin(sure, classes), sure, -1).astype(np.int16)
        self._colours = self._appearance(marks, others, document.background)
        seeds = SeedMap.empty(picture.rgb.shape[:2], picture.times)
        self.refiner = PixelRefiner(picture, seeds, document, classes, (self._colours,), settings)

    def _appearance(
        self, marks: NDArray[np.int16], others: Sequence[AnsweredPage], background: int
    ) -> AppearanceModel:
        """Mix the colours of sure pixels with those of marked pages."""
        graph, classes = self.graph, self._classes
        own = ClassDensities.of(graph.bins, marks, classes, background)
        densities = own.densities.copy()
        carried = [other.densities for other in others if other.densities is not None]
        for row, label in enumerate(classes):
            known = [each.densities[each.classes == label] for each in carried]
            known = [each[0] for each in known if len(each)]
            if known:
                densities[row] += np.float32(_CARRIED) * (np.mean(known, axis=0) - densities[row])
        costs = replace(own, densities=densities).costs()
        weight = self._settings.colour_likelihood
        return AppearanceModel(graph.bins, graph.patch_colours, costs, weight)

    def scores(self) -> RegionScores:
        """Score the regions by the learner and by the prior."""
        prior = _PRIOR * (1.0 - self._shares)
        if len(self._classes) < 2 or not self._is_learnable():
            margin = np.zeros(len(prior), np.float32)
            codes = np.zeros(len(prior), np.uint32)
            return RegionScores(prior.argmin(axis=1), prior, margin, codes)
        settings, supervision = self._settings, self._supervision()
        graph, prototypes = self.graph, self._prototypes
        colours = self._colours.likelihood.mean_costs(graph.prototype_colours, prototypes.sizes)
        geodesics = Geodesics.of(graph.edges, graph.steps, class_probabilities(colours))
        features = stroke_features(colours, geodesics, supervision)
        belief = self._belief(supervision)
        if belief is not None:
            features[FeatureGroup.DESCRIPTORS] = belief.columns()
        grams = gram_matrices(self._picture.grams(settings), features, settings)
        estimator = make_estimator(settings, "precomputed")
        *_, step = first_passes(
            estimator.iter_fit(grams, supervision.labels, supervision.weights), settings
        )
        scores = region_scores(step, step.snapshot(), grams, len(prototypes))
        if belief is not None:
            scores = scores.plus(belief.costs())
        return scores.plus(prior)

    def _is_learnable(self) -> bool:
        """Return whether there are regions of each class to learn from."""
        return bool((self._shares > _SURE).any(axis=0).all())

    def _supervision(self) -> Supervision:
        """Label the regions that the prior is sure of, by how sure it is."""
        sizes = self._prototypes.sizes / self._prototypes.sizes.mean()
        surest = self._shares.max(axis=1)
        labels = np.where(surest > _SURE, self._shares.argmax(axis=1), UNLABELLED)
        weights = sizes * np.where(surest > _SURE, 2 * surest - 1, _UNSURE_WEIGHT)
        return Supervision(np.arange(len(labels)), labels, weights, self._classes)

    def _belief(self, supervision: Supervision) -> RegionBelief | None:
        """Fit the descriptors of the page."""
        kernel = self._picture.dense_kernel(self._settings)
        if kernel is None:
            return None
        border = self._prototypes.count(border_mask(self._prototypes.index_map.shape))
        background = self.refiner.document.background
        belief = RegionBelief.of(kernel, supervision, border, background)
        return replace(belief, weight=DESCRIPTOR_WEIGHT)
