"""From strokes to an answer: ``(picture, document, settings)`` gives a stream of updates.

Everything that depends on the picture alone is kept between calls; the answer itself is a
function of picture, document and settings, whatever was asked before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import ColourLikelihood
from segapp.learning.fitting import estimator_of, first_passes
from segapp.learning.laps import Laps
from segapp.learning.learnt_model import LearntModel
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


class NotEnoughStrokes(ValueError):  # noqa: N818 - a state of the user's work, not an error
    """Fewer than two classes are marked; the message says which still lack strokes."""


def segment(rgb: NDArray[np.uint8], document: Document, settings: Settings) -> Labelling:
    """Return the final labelling of a picture."""
    return answer_of(Trainer(rgb).updates(document, settings)).labelling


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
        return _train(self._picture, marked, document, settings)

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn what can be applied to other pictures: without position and nearness."""
        marked = _marked_pixels(document, self._picture.rgb.shape)
        marks = marks_of_levels(self._picture, marked)[-1]
        return LearntModel.of_strokes(self._picture.levels[-1], marks, document.classes, settings)


def _marked_pixels(document: Document, shape: tuple[int, ...]) -> NDArray[np.int16]:
    marked = rasterize(document, (shape[0], shape[1]))
    present = np.unique(marked[marked >= 0])
    if len(present) < 2:
        raise NotEnoughStrokes(_want_two_classes(document, [int(label) for label in present]))
    return marked


def _want_two_classes(document: Document, present: list[int]) -> str:
    """Say what is there and what is still needed: any two classes suffice."""
    if not present:
        return "Nothing is marked yet: paint over two classes, an object and what surrounds it."
    names = [info.name for info in document.classes]
    marked = names.pop(present[0])
    other = names[0] if len(names) == 1 else "one other class"
    return f"Only {marked} is marked so far: mark {other} as well."


def _train(
    picture: PreparedPicture,
    marked: NDArray[np.int16],
    document: Document,
    settings: Settings,
) -> Iterator[Update]:
    """Prepare, learn, draw the outline, tidy."""
    laps = Laps()
    yield Report("Finding regions", 0.0)
    prototypes, graph = picture.table(settings).prototypes, picture.graph(settings)
    laps.end("regions")
    yield Report("Comparing regions", 0.1)
    picture.grams(settings)
    laps.end("kernels")
    marks = marks_of_levels(picture, marked)
    supervision = Supervision.of(prototypes, marks[-1], settings)
    likelihood = ColourLikelihood.of_strokes(graph.bins, marks[-1], supervision.classes)
    laps.end("colours")
    task = PixelTask(picture, marks, document, supervision.classes, likelihood, settings)
    model, verdict, objective = yield from _learn(task, supervision)
    laps.end("learning")
    labelling = yield from task.steps(verdict, laps)
    yield Answer(labelling, _insight(model, task, objective, laps))


def _learn(
    task: PixelTask, supervision: Supervision
) -> Generator[Report, None, tuple[SHL, Verdict, list[float]]]:
    """Report each block of the fit; return the model, its verdict, and eq. (6) on the way."""
    picture, settings = task.picture, task.settings
    features = stroke_features(
        picture.graph(settings),
        picture.table(settings).prototypes,
        task.likelihood,
        supervision,
    )
    grams = all_grams(picture.grams(settings), features, settings).among(supervision.rows)
    steps = estimator_of(settings, "precomputed").iter_fit(
        grams, supervision.labels, supervision.weights
    )
    objective: list[float] = []
    shown = time.perf_counter()
    for step in first_passes(steps, settings):
        objective.append(step.objective)
        preview = None
        if step.pass_ended and time.perf_counter() - shown > _SECONDS_BETWEEN_PREVIEWS:
            preview = task.preview(Verdict.of(step, grams, supervision))
            shown = time.perf_counter()
        done = min(step.iteration / settings.passes, 1)
        yield Report("Learning", 0.15 + 0.45 * done, preview)
    return step.snapshot(), Verdict.of(step, grams, supervision), objective


def _insight(model: SHL, task: PixelTask, objective: list[float], laps: Laps) -> Insight:
    n_classes = len(task.document.classes)
    codewords = np.zeros((n_classes, *model.codewords_.shape[1:]), dtype=np.int8)
    codewords[task.classes] = model.codewords_
    return Insight(
        kernels=kernel_names(task.settings),
        kernel_weights=model.kernel_weights_,
        codewords=codewords,
        objective=tuple(objective),
        seconds=laps.seconds,
    )
