"""One update of the labelling after a stroke."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.encoder_belief import EncoderBelief
from segapp.engine.kernels import Geodesics, all_grams, kernel_names, stroke_features
from segapp.engine.likelihood import Appearance, StrokeColours, beliefs, of_kinds
from segapp.engine.prior import (
    KeptAnswer,
    RegionShares,
    border_of,
    prior_costs,
    strength,
    with_border,
)
from segapp.engine.refinement import PixelTask
from segapp.engine.supervision import Supervision, estimator_of, first_passes
from segapp.imaging.rasterise import UNMARKED
from segapp.model.answer import Insight, Report
from segapp.model.settings import FeatureGroup
from shlcore.hinge import hinge_distances

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.refinement import CoarseAnswer, Outline
    from segapp.engine.supervision import Laps
    from segapp.imaging.seeds import SeedMap
    from segapp.model.answer import Preview
    from segapp.model.document import Document
    from segapp.model.settings import Settings
    from shlcore import SHL, Grams
    from shlcore.estimator import FitStep


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What was learnt about each prototype: the learner's side of an answer.

    Parameters
    ----------
    labels
        Position of its class in the supervision's ``classes``.
    costs
        Prototypes x classes: how far f, cut to [-1, 1], is from the nearest codeword of the
        class, as a share of the bits, from 0 to 1.
    margin
        Second-best minus best class in hinge distance.
    codes
        The hash code, first bit lowest.
    """

    labels: NDArray[np.intp]
    costs: NDArray[np.float64]
    margin: NDArray[np.float32]
    codes: NDArray[np.uint32]

    def leaning(self, background: int, threshold: float) -> Verdict:
        """Return the verdict with one class dearer by ``threshold``, so that others gain."""
        costs = self.costs.copy()
        costs[:, background] += threshold
        return replace(self, costs=costs, labels=costs.argmin(axis=1))

    @classmethod
    def of(cls, step: FitStep, model: SHL, grams: Grams, supervision: Supervision) -> Verdict:
        """Judge the prototypes that are learnt from by a step and what it has come to."""
        n = supervision.n_prototypes
        projections = step.projections[:n]
        if np.isnan(projections).any():  # rows that took no part in the fit
            projections = model.project(grams)[:n]
        return cls.judged(model, projections, model.transduction_[:n])

    @classmethod
    def judged(
        cls, model: SHL, projections: NDArray[np.float64], labels: NDArray[np.intp]
    ) -> Verdict:
        """Judge prototypes by f, given the classes they were assigned to."""
        n_bits = projections.shape[1]
        clipped = np.clip(projections, -1.0, 1.0)
        costs = hinge_distances(clipped, model.codewords_).min(axis=2) / (2.0 * n_bits)
        distances = np.sort(hinge_distances(projections, model.codewords_).min(axis=2), axis=1)
        margin = (distances[:, 1] - distances[:, 0]).astype(np.float32)
        powers = np.uint32(1) << np.arange(n_bits, dtype=np.uint32)
        codes = ((projections >= 0) * powers).sum(axis=1, dtype=np.uint32)
        return cls(labels, costs, margin, codes)


_SECONDS_BETWEEN_PREVIEWS = 0.15
"""Drawing a preview costs some ten milliseconds; more than six a second would slow learning."""


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The state before: its document, its marked pixels, and what is kept of its answer."""

    document: Document
    marked: SeedMap
    kept: KeptAnswer


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What a fit has come to.

    Parameters
    ----------
    verdict
        With the prior of the answer before in its costs.
    objective
        Eq. (6) after each block.
    """

    model: SHL
    verdict: Verdict
    objective: tuple[float, ...]


class StateUpdate:
    """Learns from the marked pixels of one state.

    Parameters
    ----------
    marked
        The class of each marked pixel; of one class alone, which is not the background, the
        picture's border is learnt from as well.
    before
        The answered state before this one, or ``None`` for the first.
    """

    def __init__(
        self,
        picture: PreparedPicture,
        document: Document,
        marked: SeedMap,
        settings: Settings,
        before: Before | None,
    ) -> None:
        self._picture, self._settings, self._before = picture, settings, before
        self._graph = picture.graph(settings)
        self._prototypes = picture.table(settings).prototypes
        learnt_from = marked.coarse
        if len(marked.classes()) == 1:
            learnt_from = with_border(learnt_from, document.background)
        self._supervision = Supervision.of(self._prototypes, learnt_from, settings)
        classes = self._supervision.classes
        self._outline = self._outline_before(classes)
        self._marked_anew = marked.differs_from(before.marked) if before is not None else None
        looks = self._appearances(learnt_from, document.background)
        if self._outline is not None:
            # Few strokes show little: what the answer before looks like is learnt with as well.
            looks = tuple(each.with_answer(self._outline.patches) for each in looks)
        self.task = PixelTask(picture, marked, document, classes, looks, settings)

    def _appearances(self, marked: NDArray[np.int16], background: int) -> tuple[Appearance, ...]:
        """Return what the strokes show: colours first, then kinds where a network tells such."""
        graph, classes = self._graph, self._supervision.classes
        colours = StrokeColours.of(graph.bins, marked, classes, background)
        weight = self._settings.colour_likelihood
        by_colour = Appearance(
            graph.bins, graph.patch_colours, colours.likelihood(), weight, colours
        )
        kinds = self._picture.kinds(self._settings)
        if kinds is None:
            return (by_colour,)
        return by_colour, of_kinds(kinds, marked, classes, background)

    def _outline_before(self, classes: NDArray[np.intp]) -> Outline | None:
        """Return the outline of the state before in places among the classes of this one."""
        if self._before is None:
            return None
        patches = self._graph.patches
        outline = self._before.kept.outline(len(patches), patches.index_map.shape)
        return outline.among(classes) if outline is not None else None

    def learn(self, laps: Laps, *, with_previews: bool = True) -> Generator[Report, None, Learnt]:
        """Report each block of the fit and return what was learnt."""
        settings, supervision, graph = self._settings, self._supervision, self._graph
        by_colour = self.task.appearances[0].likelihood
        colour_costs = by_colour.mean_costs(graph.prototype_colours, self._prototypes.sizes)
        believed, seen = beliefs(colour_costs), self._seen()
        if seen is not None:
            believed = seen.mixed_with(believed)
        apart = self._picture.apart(settings)
        geodesics = Geodesics.of(graph.edges, graph.lengths, believed, apart)
        features = stroke_features(colour_costs, geodesics, supervision)
        if seen is not None:
            features[FeatureGroup.ENCODER] = seen.columns()
        laps.end("colours")
        kept = self._picture.grams(settings)
        grams = all_grams(kept, features, settings).submatrices(supervision.rows)
        steps = estimator_of(settings, "precomputed").iter_fit(
            grams, supervision.labels, supervision.weights
        )
        objective: list[float] = []
        shown = time.perf_counter()
        for step in first_passes(steps, settings):
            objective.append(step.objective)
            preview = None
            due = with_previews and time.perf_counter() - shown > _SECONDS_BETWEEN_PREVIEWS
            if step.pass_ended and due:
                model = step.snapshot()
                preview = self.task.preview(Verdict.of(step, model, grams, supervision))
                preview = replace(preview, codewords=self._codewords(model))
                shown = time.perf_counter()
            done = min(step.iteration / settings.passes, 1)
            yield Report("Learning", 0.15 + 0.45 * done, preview)
        model = step.snapshot()
        verdict = Verdict.of(step, model, grams, supervision)
        if seen is not None:
            verdict = replace(verdict, costs=verdict.costs + seen.costs())
        if self._before is not None and self._marked_anew is not None:
            prior = settings.locality * self._prior(self._before, self._marked_anew, geodesics)
            verdict = replace(verdict, costs=verdict.costs + prior)
        laps.end("learning")
        return Learnt(model, verdict, tuple(objective))

    def _seen(self) -> EncoderBelief | None:
        """Return what the encoder makes of the marks, if it is asked."""
        kernel = self._picture.encoded_kernel(self._settings)
        if kernel is None:
            return None
        border = self._prototypes.count(border_of(self._prototypes.index_map.shape))
        background = self.task.document.background
        return EncoderBelief.of(kernel, self._supervision, border, background)

    def _prior(
        self, before: Before, newest: NDArray[np.bool_], geodesics: Geodesics
    ) -> NDArray[np.float64]:
        painted = np.where(newest, self.task.marked.coarse, UNMARKED)
        old = before.marked.coarse >= 0
        confirmed = before.kept.shares.confirmed_by(self._prototypes, painted)
        shares = before.kept.shares.of_classes(self.task.classes)
        # A class that nobody had marked could not be the answer: nothing is held against it.
        shares[:, ~np.isin(self.task.classes, list(before.marked.classes()))] = 1.0
        return strength(confirmed) * prior_costs(
            geodesics,
            np.flatnonzero(self._prototypes.count(newest)),
            np.flatnonzero(self._prototypes.count(old & ~newest)),
            shares,
        )

    def coarse_answer(
        self, verdict: Verdict, laps: Laps, *, with_preview: bool = False
    ) -> Generator[Report, None, CoarseAnswer]:
        """Draw the outline at the level at which is learnt, on from that of the state before."""
        drawing = self.task.coarse_answer(
            verdict, laps, self._outline, self._marked_anew, with_preview=with_preview
        )
        return (yield from drawing)

    def leaning(self, verdict: Verdict) -> Verdict:
        """Return the verdict as the threshold wants it; that is for an object and a background."""
        background = np.flatnonzero(self.task.classes == self.task.document.background)
        if not self._settings.threshold or len(self.task.classes) != 2 or not background.size:
            return verdict
        return verdict.leaning(int(background[0]), self._settings.threshold)

    def leant_answer(
        self, verdict: Verdict, coarse: CoarseAnswer, laps: Laps
    ) -> Generator[Report, None, CoarseAnswer]:
        """Draw the outline of a verdict that leans, on from that of the one that does not.

        Looks stay those of the latter, so that nothing but the leaning makes a difference.
        """
        outline = coarse.outline.among(self.task.classes) if coarse.outline is not None else None
        looks = tuple(each.as_it_is() for each in coarse.appearances)
        task = replace(self.task, appearances=looks)
        return (yield from task.coarse_answer(verdict, laps, outline))

    def kept(self, coarse: CoarseAnswer) -> KeptAnswer:
        """Return what the next stroke is told of this answer."""
        n_classes = len(self.task.document.classes)
        shares = RegionShares.of(self._prototypes, coarse.tidied, n_classes)
        return KeptAnswer.of(shares, coarse.outline)

    def glimpse(self, learnt: Learnt) -> Preview:
        """Return a quick look at what was learnt."""
        look = self.task.glimpse(learnt.verdict)
        return replace(look, codewords=self._codewords(learnt.model))

    def _codewords(self, model: SHL) -> NDArray[np.int8]:
        """Return the codewords of all classes, zeros for those that were not learnt."""
        n_classes = len(self.task.document.classes)
        codewords = np.zeros((n_classes, *model.codewords_.shape[1:]), dtype=np.int8)
        codewords[self.task.classes] = model.codewords_
        return codewords

    def insight(self, learnt: Learnt, laps: Laps) -> Insight:
        """Return what was learnt, for those who look inside."""
        return Insight(
            kernels=kernel_names(self._settings),
            kernel_weights=learnt.model.kernel_weights_,
            codewords=self._codewords(learnt.model),
            objective=learnt.objective,
            seconds=laps.seconds,
        )
