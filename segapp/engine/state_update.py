"""One update of the labelling after a stroke."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.answer_codec import PastAnswer
from segapp.engine.features import descriptor_weight
from segapp.engine.kernels import gram_matrices, kernel_names, stroke_features
from segapp.engine.likelihood import (
    AppearanceModel,
    ClassDensities,
    class_probabilities,
    cluster_appearance,
)
from segapp.engine.prior import RegionShares, border_mask, temporal_prior, with_border
from segapp.engine.refinement import PixelRefiner
from segapp.engine.region_belief import RegionBelief
from segapp.engine.region_classifier import (
    RegionScores,
    Supervision,
    first_passes,
    make_estimator,
)
from segapp.engine.region_graph import Geodesics
from segapp.imaging.rasterise import UNMARKED
from segapp.model.answer import Report
from segapp.model.labelling import Insight
from segapp.model.settings import FeatureGroup, dense_group

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.refinement import CutLabels, StepTimer, WorkingAnswer
    from segapp.engine.region_graph import FlowWarmStart
    from segapp.imaging.seeds import SeedMap
    from segapp.model.answer import Preview
    from segapp.model.document import Document
    from segapp.model.settings import Settings
    from shlcore import SHL, Grams
    from shlcore.estimator import FitStep


_PREVIEW_INTERVAL = 0.15
"""Seconds: a preview costs some ten milliseconds; more than six a second would slow learning."""


@dataclass(frozen=True, slots=True, eq=False)
class PreviousState:
    """The state before, its marked pixels and its answer."""

    document: Document
    marked: SeedMap
    answer: PastAnswer

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes with marks, and the one that the border stands for."""
        marked = tuple(self.marked.classes())
        return (*marked, self.document.background) if self.assumes_background else marked

    @property
    def assumes_background(self) -> bool:
        """Whether the image's border stood for the background."""
        return self.document.border_is_background(self.marked.classes())


@dataclass(frozen=True, slots=True, eq=False)
class RegionFit:
    """The result of a fit.

    Parameters
    ----------
    scores
        With the temporal prior in their costs.
    objective
        Eq. (6) after each block.
    grams
        The kernel matrices of the training rows.
    geodesics
        Between regions, by this state's likelihood.
    belief
        By dense features, if there are any.
    prior
        The temporal prior as it is in the scores, regions x classes; ``None`` without one.
    """

    model: SHL
    scores: RegionScores
    objective: tuple[float, ...]
    grams: Grams
    geodesics: Geodesics
    belief: RegionBelief | None
    prior: NDArray[np.float64] | None


class StateUpdate:
    """The fit and the refinement of one state of a document.

    Parameters
    ----------
    marked
        The class of each marked pixel; while the background has no marks, the image's border is
        trained on as well.
    before
        The answered state before this one, or ``None`` for the first.
    """

    def __init__(
        self,
        picture: PreparedPicture,
        document: Document,
        marked: SeedMap,
        settings: Settings,
        before: PreviousState | None,
    ) -> None:
        self._picture, self._settings, self._before = picture, settings, before
        self._graph = picture.graph(settings)
        self._prototypes = picture.table(settings).prototypes
        marks = marked.coarse
        if document.border_is_background(marked.classes()):
            marks = with_border(marks, document.background)
        self.supervision = Supervision.of(self._prototypes, marks, settings)
        classes = self.supervision.classes
        self.newly_marked = marked.differs_from(before.marked) if before is not None else None
        self.cut_before: CutLabels | None = None
        if before is not None:
            patches = self._graph.patches
            cut = before.answer.cut(len(patches), patches.index_map.shape)
            self.cut_before = cut.among(classes) if cut is not None else None
        appearances = self._appearances(marks, document.background)
        if self.cut_before is not None:
            # Few strokes show little: the appearance of the previous answer counts as well.
            seen = self.cut_before.patches
            appearances = tuple(model.with_answer(seen) for model in appearances)
        self.refiner = PixelRefiner(picture, marked, document, classes, appearances, settings)

    def _appearances(
        self, marks: NDArray[np.int16], background: int
    ) -> tuple[AppearanceModel, ...]:
        """Estimate appearances from strokes: colours, and feature clusters if any."""
        graph, classes = self._graph, self.supervision.classes
        strokes = ClassDensities.of(graph.bins, marks, classes, background)
        weight = self._settings.colour_likelihood
        colours = AppearanceModel(
            graph.bins, graph.patch_colours, strokes.costs(), weight, strokes
        )
        fine = self._picture.fine_features(self._settings)
        if fine is None:
            return (colours,)
        return colours, cluster_appearance(fine.clusters, marks, classes, background)

    def learn(
        self, timer: StepTimer, *, with_previews: bool = True
    ) -> Generator[Report, None, RegionFit]:
        """Fit the regions; report each block of the fit."""
        settings, supervision, graph = self._settings, self.supervision, self._graph
        by_colour = self.refiner.appearances[0].likelihood
        colour_costs = by_colour.mean_costs(graph.prototype_colours, self._prototypes.sizes)
        group, belief = dense_group(settings), self._region_belief()
        probabilities = class_probabilities(colour_costs)
        if belief is not None:
            probabilities = belief.mixed_with(probabilities)
        fine = self._picture.fine_features(settings)
        distances = None if fine is None else fine.edge_distances
        geodesics = Geodesics.of(graph.edges, graph.steps, probabilities, distances)
        features = stroke_features(colour_costs, geodesics, supervision)
        if belief is not None and group is not None:
            features[group] = belief.columns()
        timer.end("colours")
        grams = gram_matrices(self._picture.grams(settings), features, settings)
        grams = grams.submatrices(supervision.rows)
        n = supervision.n_prototypes
        steps = make_estimator(settings, "precomputed").iter_fit(
            grams, supervision.labels, supervision.weights
        )
        objective: list[float] = []
        shown = time.perf_counter()
        for step in first_passes(steps, settings):
            objective.append(step.objective)
            preview = None
            due = with_previews and time.perf_counter() - shown > _PREVIEW_INTERVAL
            if step.pass_ended and due:
                model = step.snapshot()
                preview = self.refiner.preview(region_scores(step, model, grams, n))
                preview = replace(preview, codewords=self._codewords(model))
                shown = time.perf_counter()
            done = min(step.iteration / settings.passes, 1)
            yield Report("Learning", 0.15 + 0.45 * done, preview)
        model = step.snapshot()
        scores = region_scores(step, model, grams, n)
        if belief is not None:
            scores = scores.plus(belief.costs())
        prior = None
        if self._before is not None and self.newly_marked is not None:
            prior = settings.locality * self._temporal_prior(
                self._before, self.newly_marked, geodesics
            )
            scores = scores.plus(prior)
        timer.end("learning")
        return RegionFit(model, scores, tuple(objective), grams, geodesics, belief, prior)

    def _region_belief(self) -> RegionBelief | None:
        """Fit the dense features, if there are any."""
        kernel = self._picture.dense_kernel(self._settings)
        if kernel is None:
            return None
        border = self._prototypes.count(border_mask(self._prototypes.index_map.shape))
        background = self.refiner.document.background
        factor = self._picture.dense_factor(self._settings)
        belief = RegionBelief.of(kernel, self.supervision, border, background, factor)
        if dense_group(self._settings) is FeatureGroup.DESCRIPTORS:
            return replace(belief, weight=descriptor_weight(self.supervision.strokes))
        return belief

    def _temporal_prior(
        self, before: PreviousState, newest: NDArray[np.bool_], geodesics: Geodesics
    ) -> NDArray[np.float64]:
        refiner = self.refiner
        painted = np.where(newest, refiner.marked.coarse, UNMARKED)
        old = before.marked.coarse >= 0
        shares = before.answer.shares.of_classes(refiner.classes)
        # A class that took no part could not be the answer: all regions may become it.
        shares[:, ~np.isin(refiner.classes, before.classes)] = 1.0
        kept = None
        if before.assumes_background:
            kept = self._kept(painted[newest])
        return temporal_prior(
            geodesics,
            np.flatnonzero(self._prototypes.count(newest)),
            np.flatnonzero(self._prototypes.count(old & ~newest)),
            shares,
            before.answer.shares.confirmed_by(self._prototypes, painted),
            kept=kept,
        )

    def _kept(self, painted: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Return which changes the newest stroke is no reason for, regions x classes.

        A stroke changes regions to its own class, an erased one to any. The border is as free as
        it was: that it is background was no answer.
        """
        changes = np.isin(self.refiner.classes, painted) | (painted == UNMARKED).any()
        border = self._prototypes.count(border_mask(self._prototypes.index_map.shape)) > 0
        return np.asarray(~changes & ~border[:, None])

    def apply_threshold(self, scores: RegionScores, threshold: float) -> RegionScores:
        """Apply a threshold, which is for an object and a background."""
        classes, document = self.refiner.classes, self.refiner.document
        background = np.flatnonzero(classes == document.background)
        if not threshold or len(classes) != 2 or not background.size:
            return scores
        return scores.apply_threshold(int(background[0]), threshold)

    def thresholded_answer(
        self, scores: RegionScores, answer: WorkingAnswer, flows: FlowWarmStart, timer: StepTimer
    ) -> Generator[Report, None, WorkingAnswer]:
        """Cut with thresholded scores, from the cut of the answer without a threshold.

        Appearances stay those of the latter, so that the threshold alone makes a difference.
        """
        cut = answer.cut.among(self.refiner.classes) if answer.cut is not None else None
        final = tuple(replace(model, strokes=None) for model in answer.appearances)
        refiner = replace(self.refiner, appearances=final)
        return refiner.working_answer(scores, flows, timer, cut)

    def past_answer(self, answer: WorkingAnswer) -> PastAnswer:
        """Return what the next state needs of an answer."""
        n_classes = len(self.refiner.document.classes)
        shares = RegionShares.of(self._prototypes, answer.labels, n_classes)
        return PastAnswer.of(shares, answer.cut)

    def quick_preview(self, fit: RegionFit, flows: FlowWarmStart) -> Preview:
        """Return a quick preview of a fit."""
        preview = self.refiner.quick_preview(fit.scores, flows)
        return replace(preview, codewords=self._codewords(fit.model))

    def _codewords(self, model: SHL) -> NDArray[np.int8]:
        """Return the codewords of all classes, zeros for those that were not learnt."""
        n_classes = len(self.refiner.document.classes)
        codewords = np.zeros((n_classes, *model.codewords_.shape[1:]), dtype=np.int8)
        codewords[self.refiner.classes] = model.codewords_
        return codewords

    def insight(self, fit: RegionFit, timer: StepTimer) -> Insight:
        """Return kernel weights, codewords and other details of a fit."""
        return Insight(
            kernels=kernel_names(self._settings),
            kernel_weights=fit.model.kernel_weights_,
            codewords=self._codewords(fit.model),
            objective=fit.objective,
            seconds=timer.seconds,
        )


def region_scores(step: FitStep, model: SHL, grams: Grams, n_prototypes: int) -> RegionScores:
    """Score the prototypes by the model of a step."""
    projections = step.projections[:n_prototypes]
    if np.isnan(projections).any():  # rows that took no part in the fit
        projections = model.project(grams)[:n_prototypes]
    return RegionScores.of(model, projections, model.transduction_[:n_prototypes])
