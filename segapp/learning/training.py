"""From strokes to an answer: ``(picture, document, settings)`` gives a stream of updates.

The answer is a function of picture, settings and the strokes in their order: each state of the
document (`Document.states`) is answered with the answer of the one before it as a prior
(`segapp.learning.locality`). What the trainer remembers makes this fast and changes nothing:
all that depends on the picture alone, and how much of each region each class had in earlier
answers.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import ColourLikelihood, beliefs
from segapp.learning.fitting import estimator_of, first_passes
from segapp.learning.geodesics import Geodesics
from segapp.learning.laps import Laps
from segapp.learning.learnt_model import LearntModel
from segapp.learning.locality import RegionShares, prior_costs
from segapp.learning.stroke_features import all_grams, stroke_features
from segapp.learning.supervision import Supervision
from segapp.learning.to_pixels import PixelTask, marks_of_levels
from segapp.learning.verdict import Verdict
from segapp.picture.kernels import kernel_names
from segapp.picture.prepared import PreparedPicture
from segapp.values.rasterize import rasterize
from segapp.values.updates import Answer, Insight, Report, answer_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.settings import Settings
    from segapp.values.updates import Update
    from shlcore import SHL

_SECONDS_BETWEEN_PREVIEWS = 0.15
"""Drawing a preview costs some ten milliseconds; more than six a second would slow learning."""
_REMEMBERED = 4096
"""Earlier answers, of a few kilobytes each: more than anybody undoes."""


class NotEnoughStrokes(ValueError):  # noqa: N818 - a state of the user's work, not an error
    """Fewer than two classes are marked; the message says which still lack strokes."""


def segment(rgb: NDArray[np.uint8], document: Document, settings: Settings) -> Labelling:
    """Return the final labelling of a picture."""
    return answer_of(Trainer(rgb).updates(document, settings)).labelling


@dataclass(frozen=True, slots=True, eq=False)
class _Before:
    """The state before the one that is answered: its marks, and what its answer gave regions."""

    marked: NDArray[np.int16]
    shares: RegionShares


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
        self._picture = PreparedPicture(rgb)
        self._shares: OrderedDict[object, RegionShares] = OrderedDict()

    def prepare(self, settings: Settings) -> None:
        """Make now what depends on the picture alone; without this, the first update does."""
        self._picture.graph(settings)
        self._picture.grams(settings)

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Yield reports, with a preview now and then, and the answer at the end.

        Whoever stops iterating stops the work. Raises `NotEnoughStrokes` when fewer than two
        classes have marked pixels.
        """
        marked = _marked_pixels(document, self._picture.rgb.shape)
        _want_two_classes(document, marked)
        return self._answer(document, marked, settings)

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn what can be applied to other pictures: without position and nearness."""
        marked = _marked_pixels(document, self._picture.rgb.shape)
        _want_two_classes(document, marked)
        marks = marks_of_levels(self._picture, marked)[-1]
        return LearntModel.of_strokes(self._picture.levels[-1], marks, document.classes, settings)

    def _answer(
        self, document: Document, marked: NDArray[np.int16], settings: Settings
    ) -> Iterator[Update]:
        laps = Laps()
        yield Report("Finding regions", 0.0)
        self._picture.graph(settings)
        laps.end("regions")
        yield Report("Comparing regions", 0.1)
        self._picture.grams(settings)
        laps.end("kernels")
        before: _Before | None = None
        if settings.locality > 0 and settings.refine:
            before = yield from self._before(document, settings)
            laps.end("earlier strokes")
        update = _StateUpdate(self._picture, document, marked, settings, before)
        yield from update.learn(laps)
        coarse = yield from update.task.coarse_labels(update.verdict)
        self._remember(document, settings, update.shares(coarse))
        labelling = yield from update.task.full_size(coarse, update.verdict, laps)
        yield Answer(labelling, update.insight(laps))

    def _before(
        self, document: Document, settings: Settings
    ) -> Generator[Report, None, _Before | None]:
        """Answer the earlier states that are not remembered, and return the last of them."""
        states = document.states[:-1]
        before: _Before | None = None
        todo = []
        for state in reversed(states):
            shares = self._shares.get(_key(state, settings))
            if shares is not None:
                before = _Before(_marked_pixels(state, self._picture.rgb.shape), shares)
                break
            todo.append(state)
        for number, state in enumerate(reversed(todo)):
            yield Report(f"Stroke {number + 1} of {len(todo)}", 0.1)
            marked = _marked_pixels(state, self._picture.rgb.shape)
            if len(np.unique(marked[marked >= 0])) < 2:
                before = None
                continue
            update = _StateUpdate(self._picture, state, marked, settings, before)
            for _ in update.learn(Laps()):
                yield Report(f"Stroke {number + 1} of {len(todo)}", 0.1)
            coarse = yield from update.task.coarse_labels(update.verdict)
            shares = update.shares(coarse)
            self._remember(state, settings, shares)
            before = _Before(marked, shares)
        return before

    def _remember(self, document: Document, settings: Settings, shares: RegionShares) -> None:
        self._shares[_key(document, settings)] = shares
        while len(self._shares) > _REMEMBERED:
            self._shares.popitem(last=False)


def _key(document: Document, settings: Settings) -> object:
    return document.strokes, document.background, settings


def _marked_pixels(document: Document, shape: tuple[int, ...]) -> NDArray[np.int16]:
    return rasterize(document, (shape[0], shape[1]))


def _want_two_classes(document: Document, marked: NDArray[np.int16]) -> None:
    present = np.unique(marked[marked >= 0])
    if len(present) < 2:
        lacking = [c.name for i, c in enumerate(document.classes) if i not in present]
        raise NotEnoughStrokes(
            f"Strokes of at least two classes are needed; still without: {', '.join(lacking)}."
        )


class _StateUpdate:
    """One state of a document on its way to an answer."""

    def __init__(
        self,
        picture: PreparedPicture,
        document: Document,
        marked: NDArray[np.int16],
        settings: Settings,
        before: _Before | None,
    ) -> None:
        self._picture, self._settings, self._before = picture, settings, before
        graph, prototypes = picture.graph(settings), picture.table(settings).prototypes
        marks = marks_of_levels(picture, marked)
        self._supervision = Supervision.of(prototypes, marks[-1], settings)
        classes = self._supervision.classes
        likelihood = ColourLikelihood.of_strokes(graph.bins, marks[-1], classes)
        self.task = PixelTask(picture, marks, document, classes, likelihood, settings)
        self._objective: list[float] = []

    def learn(self, laps: Laps) -> Iterator[Report]:
        """Report each block of the fit; afterwards there is a verdict."""
        picture, settings, supervision = self._picture, self._settings, self._supervision
        graph, prototypes = picture.graph(settings), picture.table(settings).prototypes
        colour_costs = self.task.likelihood.mean_costs(graph.bins, prototypes)
        geodesics = Geodesics.of(graph.edges, graph.lengths, beliefs(colour_costs))
        features = stroke_features(colour_costs, geodesics, supervision)
        laps.end("colours")
        grams = all_grams(picture.grams(settings), features, settings).among(supervision.rows)
        steps = estimator_of(settings, "precomputed").iter_fit(
            grams, supervision.labels, supervision.weights
        )
        shown = time.perf_counter()
        for step in first_passes(steps, settings):
            self._objective.append(step.objective)
            preview = None
            if step.pass_ended and time.perf_counter() - shown > _SECONDS_BETWEEN_PREVIEWS:
                preview = self.task.preview(Verdict.of(step, grams, supervision))
                shown = time.perf_counter()
            done = min(step.iteration / settings.passes, 1)
            yield Report("Learning", 0.15 + 0.45 * done, preview)
        self._model: SHL = step.snapshot()
        self.verdict = Verdict.of(step, grams, supervision)
        if self._before is not None:
            self.verdict = replace(
                self.verdict,
                costs=self.verdict.costs + settings.locality * self._prior(geodesics),
            )
        laps.end("learning")

    def _prior(self, geodesics: Geodesics) -> NDArray[np.float64]:
        before = self._before
        prototypes = self._picture.table(self._settings).prototypes
        old, now = before.marked, self.task.marks[0]
        old_small = marks_of_levels(self._picture, old)[-1]
        changed = marks_of_levels(self._picture, np.where(old != now, 0, -1).astype(np.int16))[-1]
        newest = np.flatnonzero(prototypes.count(changed >= 0))
        earlier = np.flatnonzero(prototypes.count((old_small >= 0) & (changed < 0)))
        shares = before.shares.of_classes(self.task.classes)
        return prior_costs(geodesics, newest, earlier, shares)

    def shares(self, coarse: NDArray[np.uint8]) -> RegionShares:
        """Return what the next stroke is told of this answer."""
        prototypes = self._picture.table(self._settings).prototypes
        n_classes = len(self.task.document.classes)
        return RegionShares.of(prototypes, self.task.tidied_coarse(coarse), n_classes)

    def insight(self, laps: Laps) -> Insight:
        """Return what was learnt."""
        n_classes = len(self.task.document.classes)
        codewords = np.zeros((n_classes, *self._model.codewords_.shape[1:]), dtype=np.int8)
        codewords[self.task.classes] = self._model.codewords_
        return Insight(
            kernels=kernel_names(self._settings),
            kernel_weights=self._model.kernel_weights_,
            codewords=codewords,
            objective=tuple(self._objective),
            seconds=laps.seconds,
        )
