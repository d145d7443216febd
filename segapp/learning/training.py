"""From strokes to an answer: ``(picture, document, settings)`` gives a stream of updates.

The answer is a function of picture, settings and the strokes in their order: each state of the
document (`Document.states`) is answered with the answer of the one before it as a prior
(`segapp.learning.locality`). What the trainer remembers makes this fast and changes nothing:
all that depends on the picture alone, and how much of each region each class had in earlier
answers.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.laps import Laps
from segapp.learning.learnt_model import LearntModel
from segapp.learning.state_update import Before, StateUpdate
from segapp.learning.to_pixels import marks_of_levels
from segapp.picture.prepared import PreparedPicture
from segapp.values.rasterize import rasterize
from segapp.values.updates import Answer, Report, answer_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.learning.locality import RegionShares
    from segapp.values.document import Document, Mark
    from segapp.values.labelling import Labelling
    from segapp.values.settings import Settings
    from segapp.values.updates import Update

    _State = tuple[tuple[Mark, ...], int, Settings]
    """Marks, background and settings: all that an answer depends on, besides the picture."""

_REMEMBERED = 4096
"""Earlier answers, of a few kilobytes each: more than anybody undoes."""


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
        self._shares: OrderedDict[_State, RegionShares] = OrderedDict()

    def prepare(self, settings: Settings) -> None:
        """Make now what depends on the picture alone; without this, the first update does."""
        self._picture.graph(settings)
        self._picture.grams(settings)

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Yield reports, with a preview now and then, and the answer at the end.

        Whoever stops iterating stops the work. Raises `NotEnoughStrokes` when fewer than two
        classes have marked pixels.
        """
        marked = self._marked_pixels(document)
        _want_two_classes(document, marked)
        return self._answer(document, marked, settings)

    def glimpses(self, document: Document, settings: Settings) -> Iterator[Report]:
        """Yield reports, the last one with a preview: a look at a stroke in the making.

        Nothing of the document's last state is remembered, so that however often somebody
        looks on the way, the finished stroke is answered as if nobody had. Raises
        `NotEnoughStrokes` like `updates`.
        """
        marked = self._marked_pixels(document)
        _want_two_classes(document, marked)
        return self._glimpses(document, marked, settings)

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn what can be applied to other pictures: without what only this one has."""
        marked = self._marked_pixels(document)
        _want_two_classes(document, marked)
        marks = marks_of_levels(self._picture, marked)[-1]
        return LearntModel.of_strokes(self._picture.levels[-1], marks, document, settings)

    def _marked_pixels(self, document: Document) -> NDArray[np.int16]:
        height, width = self._picture.rgb.shape[:2]
        return rasterize(document, (height, width))

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
        before = yield from self._before(document, settings)
        laps.end("earlier strokes")
        update = StateUpdate(self._picture, document, marked, settings, before)
        learnt = yield from update.learn(laps)
        coarse = yield from update.task.coarse_answer(learnt.verdict)
        self._remember(document, settings, update.shares(coarse))
        labelling = yield from update.task.full_size(coarse, learnt.verdict, laps)
        yield Answer(labelling, update.insight(learnt, laps))

    def _glimpses(
        self, document: Document, marked: NDArray[np.int16], settings: Settings
    ) -> Iterator[Report]:
        yield Report("Looking", 0.0)
        self.prepare(settings)
        before = yield from self._before(document, settings)
        update = StateUpdate(self._picture, document, marked, settings, before)
        learnt = yield from update.learn(Laps(), with_previews=False)
        yield Report("Looking", 1.0, update.task.glimpse(learnt.verdict))

    def _before(
        self, document: Document, settings: Settings
    ) -> Generator[Report, None, Before | None]:
        """Return the last state before this one, answered; what is remembered is not redone.

        A state with fewer than two classes has no answer, and the next one begins afresh.
        """
        before: Before | None = None
        if settings.locality == 0 or not settings.refine:
            return before
        missing: list[Document] = []
        for state in reversed(document.states[:-1]):
            shares = self._shares.get(_state(state, settings))
            if shares is not None:
                before = Before(self._marked_pixels(state), shares)
                break
            missing.append(state)
        for number, state in enumerate(reversed(missing), start=1):
            yield Report(f"Earlier strokes, {number} of {len(missing)}", 0.1)
            marked = self._marked_pixels(state)
            if len(_classes_in(marked)) < 2:
                before = None
                continue
            update = StateUpdate(self._picture, state, marked, settings, before)
            learnt = yield from update.learn(Laps())
            coarse = yield from update.task.coarse_answer(learnt.verdict)
            shares = update.shares(coarse)
            self._remember(state, settings, shares)
            before = Before(marked, shares)
        return before

    def _remember(self, document: Document, settings: Settings, shares: RegionShares) -> None:
        self._shares[_state(document, settings)] = shares
        while len(self._shares) > _REMEMBERED:
            self._shares.popitem(last=False)


def _state(document: Document, settings: Settings) -> _State:
    return document.strokes, document.background, settings


def _classes_in(marked: NDArray[np.int16]) -> NDArray[np.int16]:
    return np.unique(marked[marked >= 0])


def _want_two_classes(document: Document, marked: NDArray[np.int16]) -> None:
    present = _classes_in(marked)
    if len(present) < 2:
        raise NotEnoughStrokes(_what_is_missing(document, [int(label) for label in present]))


def _what_is_missing(document: Document, present: list[int]) -> str:
    """Say what is there and what is still needed: any two classes suffice."""
    if not present:
        return "Nothing is marked yet: paint over two classes, an object and what surrounds it."
    names = [info.name for info in document.classes]
    marked = names.pop(present[0])
    other = names[0] if len(names) == 1 else "one other class"
    return f"Only {marked} is marked so far: mark {other} as well."
