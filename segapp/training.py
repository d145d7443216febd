"""From strokes to labels: ``(picture, document, settings)`` gives a stream of answers.

Everything that depends on the picture alone is kept between calls; the answer itself is a
function of picture, document and settings, whatever was asked before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from segapp.cleanup import clean_up, pinned
from segapp.colour_likelihood import LARGEST_COST, ColourLikelihood, beliefs
from segapp.groundwork import Groundwork, kernel_names
from segapp.labelling import Labelling
from segapp.learnt import LearntModel
from segapp.lesson import Answer, Lesson, learner
from segapp.nearness import nearness
from segapp.outline import Scene, draw_outline
from segapp.pyramid import halved_marks, repeated
from segapp.rasterize import rasterize
from segapp.settings import FeatureGroup, Settings
from segapp.updates import Insight, Update

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    from numpy.typing import NDArray

    from segapp.document import Document
    from shlcore import SHL

_SECONDS_BETWEEN_PICTURES = 0.15


class NotEnoughStrokes(ValueError):  # noqa: N818 - a state of the user's work, not an error
    """Fewer than two classes are marked; the message says which still lack strokes."""


def segment(rgb: NDArray[np.uint8], document: Document, settings: Settings) -> Labelling:
    """Return the final labelling of a picture."""
    return Trainer(rgb).labelling(document, settings)


class Trainer:
    """Segments one picture again and again, as its strokes grow.

    Parameters
    ----------
    rgb
        ``H x W x 3``, uint8; it must not change afterwards.
    """

    def __init__(self, rgb: NDArray[np.uint8]) -> None:
        if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or not rgb.size:
            raise ValueError(f"rgb: wanted H x W x 3 of uint8, got {rgb.shape} of {rgb.dtype}")
        self._groundwork = Groundwork(rgb)

    def prepare(self, settings: Settings) -> None:
        """Make now what depends on the picture alone; without this, the first update does."""
        self._groundwork.rows(settings)
        self._groundwork.terrain(settings)
        self._groundwork.prepare_grams(settings)

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Yield progress and answers so far; the last update is final.

        Whoever stops iterating stops the work. Raises `NotEnoughStrokes` when fewer than two
        classes have marked pixels.
        """
        marked = _marks_of(document, self._groundwork.rgb.shape)
        return _Job(self._groundwork, marked, document, settings).run()

    def labelling(self, document: Document, settings: Settings) -> Labelling:
        """Return the final labelling alone."""
        *_, last = self.updates(document, settings)
        if last.labelling is None:
            raise RuntimeError("training ended without an answer")
        return last.labelling

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn what can be applied to other pictures: without position and nearness."""
        ground = self._groundwork
        marked = _marks_of(document, ground.rgb.shape)
        for _ in ground.levels[1:]:
            marked = halved_marks(marked)
        return LearntModel.of_strokes(ground.levels[-1], marked, document.classes, settings)


def _marks_of(document: Document, shape: tuple[int, ...]) -> NDArray[np.int16]:
    marked = rasterize(document, (shape[0], shape[1]))
    present = np.unique(marked[marked >= 0])
    if len(present) < 2:
        lacking = [c.name for i, c in enumerate(document.classes) if i not in present]
        raise NotEnoughStrokes(
            f"Strokes of at least two classes are needed; still without: {', '.join(lacking)}."
        )
    return marked


class _Job:
    """One way from strokes to a labelling."""

    def __init__(
        self,
        groundwork: Groundwork,
        marked: NDArray[np.int16],
        document: Document,
        settings: Settings,
    ) -> None:
        self._ground = groundwork
        self._marks = [marked]
        for _ in groundwork.levels[1:]:
            self._marks.append(halved_marks(self._marks[-1]))
        self._n_classes = len(document.classes)
        self._background = document.background
        self._settings = settings
        self._objective: list[float] = []
        self._seconds: dict[str, float] = {}
        self._clock = time.perf_counter()

    def run(self) -> Iterator[Update]:
        """Prepare, learn, refine, tidy."""
        settings, ground = self._settings, self._ground
        yield Update("Finding regions", 0.0)
        prototypes = ground.rows(settings).prototypes
        terrain = ground.terrain(settings)
        self._lap("regions")
        yield Update("Comparing regions", 0.1)
        ground.prepare_grams(settings)
        self._lap("kernels")
        lesson = Lesson.of(prototypes, self._marks[-1], settings)
        likelihood = ColourLikelihood.of_strokes(terrain.cells, self._marks[-1], lesson.classes)
        self._lap("colours")
        model, answer = yield from self._learn(lesson, likelihood)
        self._lap("learning")
        labels = self._painted(answer, lesson)
        if settings.refine:
            labels = yield from self._outlined(lesson, likelihood, answer)
            self._lap("outline")
        yield Update("Tidying", 0.9)
        labels = clean_up(labels, self._marks[0], settings.clean_up, self._background)
        self._lap("tidying")
        labelling = self._labelling(labels, answer, lesson)
        self._lap("painting")
        yield Update("Done", 1.0, labelling, self._insight(model, lesson), final=True)

    def _learn(
        self, lesson: Lesson, likelihood: ColourLikelihood
    ) -> Generator[Update, None, tuple[SHL, Answer]]:
        settings = self._settings
        features = self._stroke_features(lesson, likelihood)
        stack = lesson.of_rows(self._ground.grams(settings, self, features))
        # One pass more than is made: the limit is ours, and no reason for a warning.
        shl = learner(settings, kernels="precomputed", max_iter=settings.passes + 1)
        steps = shl.iter_fit(stack, lesson.labels, lesson.weights)
        shown = time.perf_counter()
        for step in steps:
            self._objective.append(step.objective)
            picture = None
            if step.pass_ended and time.perf_counter() - shown > _SECONDS_BETWEEN_PICTURES:
                answer = Answer.of(step, stack, lesson)
                picture = self._labelling(self._painted(answer, lesson), answer, lesson)
                shown = time.perf_counter()
            yield Update(
                "Learning", 0.15 + 0.45 * min(step.iteration / settings.passes, 1), picture
            )
            self._ground.grams(settings, self, features)
            if step.pass_ended and step.iteration >= settings.passes:
                break
        return step.snapshot(), Answer.of(step, stack, lesson)

    def _stroke_features(
        self, lesson: Lesson, likelihood: ColourLikelihood
    ) -> dict[FeatureGroup, NDArray[np.float64]]:
        terrain = self._ground.terrain(self._settings)
        prototypes = self._ground.rows(self._settings).prototypes
        costs = likelihood.mean_costs(terrain.cells, prototypes)
        near = nearness(terrain.edges, terrain.lengths, beliefs(costs), lesson.sources())
        centred = (costs - costs.mean(axis=1, keepdims=True)) / LARGEST_COST
        return {FeatureGroup.LIKELIHOOD: centred, FeatureGroup.NEARNESS: near}

    def _outlined(
        self, lesson: Lesson, likelihood: ColourLikelihood, answer: Answer
    ) -> Generator[Update, None, NDArray[np.uint8]]:
        settings, ground = self._settings, self._ground
        positions = np.full(self._n_classes + 1, -1, dtype=np.int16)
        positions[lesson.classes] = np.arange(len(lesson.classes))
        scene = Scene(
            levels=ground.levels,
            marks=[positions[marks] for marks in self._marks],
            prototypes=ground.rows(settings).prototypes,
            terrain=ground.terrain(settings),
            colour_costs=settings.colour_likelihood * likelihood.costs,
            smoothness=settings.smoothness,
        )
        drawing = draw_outline(scene, answer.costs)
        while True:
            try:
                yield Update("Drawing the outline", 0.6 + 0.3 * next(drawing))
            except StopIteration as end:
                return np.asarray(lesson.classes.astype(np.uint8)[end.value])

    def _painted(self, answer: Answer, lesson: Lesson) -> NDArray[np.uint8]:
        """Paint the prototypes' classes, without refinement."""
        labels = self._spread(lesson.classes.astype(np.uint8)[answer.labels])
        return pinned(labels, self._marks[0])

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Give each pixel of the whole picture its prototype's value."""
        index_map = self._ground.rows(self._settings).prototypes.index_map
        height, width = self._marks[0].shape
        return repeated(values[index_map], (height, width), 1 << (len(self._marks) - 1))

    def _labelling(self, labels: NDArray[np.uint8], answer: Answer, lesson: Lesson) -> Labelling:
        learnt = self._spread(lesson.classes.astype(np.uint8)[answer.labels])
        margin = np.where(labels == learnt, self._spread(answer.margin), np.float32(0.0))
        margin[self._marks[0] >= 0] = max(float(answer.margin.max()), 1.0)
        codes = np.ascontiguousarray(self._spread(answer.codes))
        return Labelling(labels, margin, codes, self._n_classes, self._settings.bits)

    def _insight(self, model: SHL, lesson: Lesson) -> Insight:
        codewords = np.zeros((self._n_classes, *model.codewords_.shape[1:]), dtype=np.int8)
        codewords[lesson.classes] = model.codewords_
        return Insight(
            kernels=kernel_names(self._settings),
            kernel_weights=model.kernel_weights_,
            codewords=codewords,
            objective=tuple(self._objective),
            seconds=self._seconds,
        )

    def _lap(self, name: str) -> None:
        now = time.perf_counter()
        self._seconds[name] = now - self._clock
        self._clock = now
