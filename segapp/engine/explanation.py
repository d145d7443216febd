"""PixelExplanation of a pixel's class by strokes, kernels and codewords.

Region scores, belief, prior and likelihood are costs that are added, and the first two are linear
in the rows that were trained on. So the lead of a class over the next one is a sum over training
rows, and over the strokes on them. Features that depend on the strokes are attributed to the
strokes that gave them their value: nearness to the nearest ones, likelihood to those with the
pixel's colour.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.kernels import fixed_groups, kernel_names, kernels_of, stroke_groups
from segapp.engine.likelihood import BORDER_PIXELS, COLOURS
from segapp.engine.prior import border_mask
from segapp.imaging.rasterise import mark_patch
from segapp.model.answer import Answer, NotEnoughStrokes, Report
from segapp.model.explanation import (
    Code,
    Contribution,
    Effect,
    PixelExplanation,
    Source,
)
from segapp.model.settings import FeatureGroup, dense_group
from segapp.model.validation import SegappError
from shlcore.hinge import hinge_distances

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from segapp.engine.likelihood import AppearanceModel
    from segapp.engine.refinement import PixelRefiner, WorkingAnswer
    from segapp.engine.region_classifier import RegionScores, Supervision
    from segapp.engine.state_update import RegionFit
    from segapp.engine.superpixels import Prototypes
    from segapp.model.answer import Update
    from segapp.model.document import Mark
    from segapp.model.labelling import Labelling

    Key = tuple[int, FeatureGroup | None]
    """A column of the sources (see `Explainer`), and the ground."""

_BORDER, _UNMARKED, _ANSWER, _OUTLINE, _CONSTANT = -5, -4, -3, -2, -1
"""Columns of the sources after those of the strokes, counted from the end."""
_OTHERS = {
    _BORDER: Source.BORDER,
    _UNMARKED: Source.UNMARKED,
    _ANSWER: Source.ANSWER,
    _OUTLINE: Source.OUTLINE,
    _CONSTANT: Source.CONSTANT,
}


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums of contributions by source and ground."""

    values: dict[Key, float]
    n_sources: int

    def add(self, source: int, ground: FeatureGroup | None, value: float) -> None:
        """Add to one source."""
        self.values[source, ground] += value

    def distribute(self, total: float, weights: NDArray[np.float64], ground: FeatureGroup) -> None:
        """Share a total among sources; without weights it is the answer's own."""
        whole = float(weights.sum())
        if whole <= 0:
            self.add(_ANSWER, ground, total)
            return
        for source in np.flatnonzero(weights).tolist():
            self.add(self._counted(source), ground, total * float(weights[source]) / whole)

    def collect(self, each: NDArray[np.float64], ground: FeatureGroup | None) -> None:
        """Add a value for each source."""
        for source in np.flatnonzero(each).tolist():
            self.add(self._counted(source), ground, float(each[source]))

    def _counted(self, source: int) -> int:
        from_end = source - self.n_sources
        return from_end if from_end in _OTHERS else source


class CheckedExplainer:
    """Explanations whose strokes are left out on trial.

    Parameters
    ----------
    explainer
        Of the answer to all strokes.
    updates_without
        Answers all strokes but some.
    """

    def __init__(
        self, explainer: Explainer, updates_without: Callable[[tuple[int, ...]], Iterator[Update]]
    ) -> None:
        self._explainer, self._updates_without = explainer, updates_without
        self._answers: dict[tuple[int, ...], Answer | None] = {}

    def __call__(self, x: float, y: float) -> Iterator[PixelExplanation | Report]:
        """Yield the explanation of a pixel, and again with each stroke that is left out.

        Those with the largest shares are left out. The work stops with the iteration.
        """
        explanation = self._explainer.explain(x, y)
        yield explanation
        candidates = explanation.candidates()
        if explanation.code is None:
            return
        trials = [(index,) for index in candidates]
        for strokes in trials:
            effect = yield from self._effect(explanation, strokes)
            explanation = replace(explanation, effects=(*explanation.effects, effect))
            yield explanation
        if len(candidates) > 1 and not explanation.decisive():
            effect = yield from self._effect(explanation, candidates)
            yield replace(explanation, effects=(*explanation.effects, effect))

    def _effect(
        self, explanation: PixelExplanation, strokes: tuple[int, ...]
    ) -> Generator[Report, None, Effect]:
        if strokes not in self._answers:
            self._answers[strokes] = yield from self._answer_without(strokes)
        answer = self._answers[strokes]
        if answer is None or answer.explain is None:
            return Effect(strokes, None, 1.0)
        without = next(answer.explain(explanation.x, explanation.y))
        if isinstance(without, Report):
            raise TypeError("explain: wanted an explanation first, got a report")
        if without.label != explanation.label:
            return Effect(strokes, without.label, 1.0)
        fall = (explanation.net - without.net) / max(explanation.support, 1e-9)
        return Effect(strokes, without.label, min(fall, 1.0))

    def _answer_without(self, strokes: tuple[int, ...]) -> Generator[Report, None, Answer | None]:
        try:
            for update in self._updates_without(strokes):
                if isinstance(update, Answer):
                    return update
                yield update
        except NotEnoughStrokes:
            pass
        return None


@dataclass(frozen=True, eq=False)
class Explainer:
    """Explanations of the pixels of one answer.

    Parameters
    ----------
    refiner
        Of the state that was answered, with its document and picture.
    supervision, fit, scores
        Of that state; the scores with the threshold.
    answer, labelling
        At the working resolution and at full size.
    n_initial
        Number of marks in front of the user's that stand for initial labels.
    """

    refiner: PixelRefiner
    supervision: Supervision
    fit: RegionFit
    scores: RegionScores
    answer: WorkingAnswer
    labelling: Labelling
    n_initial: int = 0

    def explain(self, x: float, y: float) -> PixelExplanation:
        """Explain the pixel at a point, given in pixels of the image."""
        height, width = self.labelling.labels.shape
        if not (0 <= x < width and 0 <= y < height):
            raise SegappError(
                "point: wanted one in the image of {} x {} pixels, got {:g}, {:g}",
                width,
                height,
                x,
                y,
            )
        label = int(self.labelling.labels[int(y), int(x)])
        cell = int(y) // self.refiner.picture.times, int(x) // self.refiner.picture.times
        region = int(self._prototypes.index_map[cell])
        position = int(np.searchsorted(self.refiner.classes, label))
        costs = self.scores.costs[region].copy()
        terms = (
            [
                (model, model.unary_term().costs[model.bins[cell]].astype(float))
                for model in self.answer.appearances
            ]
            if self.refiner.settings.refine
            else []
        )
        for _, of_bin in terms:
            costs += of_bin
        others = costs.copy()
        others[position] = np.inf
        other = int(others.argmin())
        rival = int(self.refiner.classes[other])
        marking = self._mark_at(int(x), int(y))
        if marking is not None:
            part = self._contribution(marking, None, 1.0)
            return PixelExplanation(x, y, label, rival, (part,), 1.0)
        sums = _Sums(defaultdict(float), self._n_sources)
        kernels, code = self._learner(region, position, other, sums)
        self._belief(region, position, other, sums)
        if self.fit.prior is not None:
            prior = self.fit.prior[region]
            sums.add(_ANSWER, None, float(prior[other] - prior[position]))
        moved = self.scores.costs[region] - self.fit.scores.costs[region]  # by the threshold
        sums.add(_CONSTANT, None, float(moved[other] - moved[position]))
        for model, of_bin in terms:
            total = float(of_bin[other] - of_bin[position])
            is_colour = model is self.answer.appearances[0]
            ground = FeatureGroup.LIKELIHOOD if is_colour else FeatureGroup.ENCODER
            counts = np.zeros(model.patches.shape[1])
            counts[model.bins[cell]] = 1.0
            weights = self._by_values(model, position if total > 0 else other, counts)
            sums.distribute(total, weights, ground)
        lead = float(costs[other] - costs[position])
        if lead < 0:
            sums.add(_OUTLINE, None, -lead)
        parts = [self._contribution(*key, value) for key, value in sums.values.items() if value]
        parts.sort(key=lambda part: -abs(part.value))
        return PixelExplanation(x, y, label, rival, tuple(parts), max(lead, 0.0), kernels, code)

    # Parts ------------------------------------------------------------------------------

    def _learner(
        self, region: int, position: int, other: int, sums: _Sums
    ) -> tuple[tuple[tuple[str, float], ...], Code]:
        """Add the terms of the hash functions: dual coefficients times kernels."""
        settings, picture = self.refiner.settings, self.refiner.picture
        model = self.fit.model
        rows = self.fit.grams.kernel_rows(np.array([region], dtype=np.intp))
        support, terms, intercepts = model.terms(rows.astype(np.float64))
        values = terms[0].sum(axis=(1, 2)) + intercepts
        clipped = np.clip(values, -1.0, 1.0)
        nearest = hinge_distances(clipped[None], model.codewords_)[0].argmin(axis=1)
        word, next_word = (
            model.codewords_[place, nearest[place]].astype(float) for place in (position, other)
        )
        # A clipped value keeps the proportions of its terms.
        factors = np.divide(clipped, values, out=np.ones_like(values), where=values != 0)
        factors *= (word - next_word) / (2.0 * len(values))
        weighted = np.einsum("b,bmk->mk", factors, terms[0])
        sums.add(_CONSTANT, None, float(factors @ intercepts))
        sources = self._sources[support]
        names = kernel_names(settings)
        groups = (*fixed_groups(settings), *stroke_groups(settings))
        first = 0
        for group in groups:
            last = first + len(kernels_of((group,), settings))
            each = weighted[first:last].sum(axis=0)
            first = last
            total = float(each.sum())
            place = position if total > 0 else other
            if group is FeatureGroup.NEARNESS:
                sums.distribute(total, self._by_nearness(region, place), group)
            elif group is FeatureGroup.LIKELIHOOD:
                colours, graph = self.answer.appearances[0], picture.graph(settings)
                counts = graph.prototype_colours[[region]].toarray()[0]
                sums.distribute(total, self._by_values(colours, place, counts), group)
            elif group is dense_group(settings) and self.fit.belief is not None:
                votes = self._votes(region, position, other)
                sums.distribute(total, np.maximum(np.sign(total) * votes, 0.0), group)
            else:
                sums.collect(each @ sources, group)
        kernels = tuple(zip(names, weighted.sum(axis=1).tolist(), strict=True))
        code = Code(
            tuple(values.tolist()),
            tuple(int(bit) for bit in word),
            tuple(int(bit) for bit in next_word),
        )
        return kernels, code

    def _belief(self, region: int, position: int, other: int, sums: _Sums) -> None:
        """Add the costs by dense features, region by region."""
        belief = self.fit.belief
        if belief is None:
            return
        costs = belief.costs()[region]
        total = float(costs[other] - costs[position])
        difference = float(belief.fit[region, position] - belief.fit[region, other])
        if total and difference:
            votes = self._votes(region, position, other)
            sums.collect(votes * (total / difference), dense_group(self.refiner.settings))

    def _votes(self, region: int, position: int, other: int) -> NDArray[np.float64]:
        """Return by how much each source raises one class's score above another's."""
        settings, picture = self.refiner.settings, self.refiner.picture
        belief, kernel = self.fit.belief, picture.dense_kernel(settings)
        votes = np.zeros(self._n_sources)
        if belief is None or belief.ridge is None or kernel is None:
            return votes
        ridge = belief.ridge
        each = (kernel[region, ridge.rows] + 1.0) * (
            ridge.dual[:, position] - ridge.dual[:, other]
        )
        marked = np.flatnonzero(self.supervision.labels >= 0)
        votes += each[: ridge.n_marked] @ self._sources[marked]
        votes[_BORDER] += float(each[ridge.n_marked :].sum())
        return votes

    def _by_nearness(self, region: int, position: int) -> NDArray[np.float64]:
        """Weight the sources of a class by their squared geodesic nearness."""
        from scipy.sparse.csgraph import dijkstra

        distances = np.asarray(dijkstra(self.fit.geodesics.steps, indices=region))
        weights = np.zeros(self._n_sources)
        rows = np.flatnonzero(self.supervision.labels == position)
        near = distances[self.supervision.rows[rows]]
        for source in np.flatnonzero(self._sources[rows].any(axis=0)).tolist():
            nearest = near[self._sources[rows, source] > 0].min()
            weights[source] = 1.0 / max(float(nearest), 1e-6) ** 2
        return weights

    def _by_values(
        self, model: AppearanceModel, position: int, counts: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Weight the sources of a class by how often they have some pixel values.

        ``counts`` has a number for each bin. Smoothing these instead of each source's histogram
        comes to the same.
        """
        estimator = COLOURS if model.strokes is None else model.strokes.estimator
        wanted = estimator.smooth(counts.astype(np.float32)).astype(np.float64)
        weights = np.zeros(self._n_sources)
        label = int(self.refiner.classes[position])
        pixels = np.flatnonzero(self._owners >= 0)
        owners = self._owners.take(pixels)
        own = self._classes_of_sources[owners] == label
        weights += np.bincount(
            owners[own], wanted[model.bins.take(pixels[own])], minlength=self._n_sources
        )
        document, shape = self.refiner.document, model.bins.shape
        around = np.flatnonzero(border_mask(shape) & (self._owners < 0))
        if label == document.background and around.size:
            share = BORDER_PIXELS * model.bins.size / around.size
            weights[_BORDER] += share * float(wanted[model.bins.take(around)].sum())
        return weights

    # Sources ----------------------------------------------------------------------------

    @property
    def _prototypes(self) -> Prototypes:
        return self.refiner.picture.table(self.refiner.settings).prototypes

    @cached_property
    def _marks(self) -> tuple[Mark, ...]:
        return tuple(self.refiner.document.strokes)

    @property
    def _n_sources(self) -> int:
        return len(self._marks) + len(_OTHERS)

    def _mark_at(self, x: int, y: int) -> int | None:
        """Return the newest mark on a pixel, unless it erases."""
        size = self.labelling.labels.shape
        for index in range(len(self._marks) - 1, -1, -1):
            patch = mark_patch(self._marks[index], (size[0], size[1]))
            if patch is None:
                continue
            row, column = y - patch.top, x - patch.left
            inside = 0 <= row < patch.height and 0 <= column < patch.width
            if inside and patch.mask()[row, column]:
                return None if patch.label is None else index
        return None

    @cached_property
    def _owners(self) -> NDArray[np.int32]:
        """The newest mark on each marked pixel of the working resolution."""
        coarse = self.refiner.marked.coarse
        owners = np.full(coarse.shape, -1, np.int32)
        size = self.labelling.labels.shape
        for index, mark in enumerate(self._marks):
            patch = mark_patch(mark, (size[0], size[1]))
            if patch is not None:
                rows, columns = np.nonzero(patch.mask())
                rows, columns = rows + patch.top, columns + patch.left
                inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
                times = self.refiner.picture.times
                owners[rows[inside] // times, columns[inside] // times] = index
        owners[coarse < 0] = -1
        if self.refiner.document.border_is_background(self.refiner.marked.classes()):
            owners[border_mask(coarse.shape) & (coarse < 0)] = self._n_sources + _BORDER
        return owners

    @cached_property
    def _classes_of_sources(self) -> NDArray[np.intp]:
        """The class that each source marks, -1 where it marks none."""
        classes = np.full(self._n_sources, -1, np.intp)
        for index, mark in enumerate(self._marks):
            classes[index] = -1 if mark.label is None else mark.label
        classes[_BORDER] = self.refiner.document.background
        return classes

    @cached_property
    def _sources(self) -> NDArray[np.float64]:
        """The share of each source in each training row; rows sum to 1."""
        supervision, n_sources = self.supervision, self._n_sources
        pixels = np.flatnonzero(self._owners >= 0)
        keys = self._prototypes.index_map.take(pixels) * np.intp(n_sources)
        keys += self._owners.take(pixels)
        counts = np.bincount(keys, minlength=len(self._prototypes) * n_sources)
        shares = counts.reshape(-1, n_sources)[supervision.rows].astype(np.float64)
        labels = np.where(supervision.labels >= 0, self.refiner.classes[supervision.labels], -2)
        shares *= self._classes_of_sources == labels[:, None]
        total = shares.sum(axis=1)
        shares[:, _UNMARKED] = total == 0
        return np.asarray(shares / np.maximum(total, 1.0)[:, None])

    def _contribution(
        self, source: int, ground: FeatureGroup | None, value: float
    ) -> Contribution:
        if source < 0:
            return Contribution(_OTHERS[source], None, ground, value)
        if source < self.n_initial:
            return Contribution(Source.INITIAL, None, ground, value)
        return Contribution(Source.STROKE, source - self.n_initial, ground, value)
