"""The trainer: strokes and settings in, labellings out."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.engine.learnt_model import LearntModel, checked_labels, document_of_start
from segapp.engine.preparation import PreparedPicture
from segapp.engine.prior import (
    KeptAnswer,
    LastAnswer,
    RegionShares,
    border_of,
    packed,
    pixels_digest,
    unpacked,
)
from segapp.engine.state_update import Before, StateUpdate
from segapp.engine.supervision import Laps
from segapp.imaging.retouch import retouch_report, retouch_updates
from segapp.imaging.seeds import SeedCache
from segapp.model.answer import Answer, NotEnoughStrokes, Report, final_answer
from segapp.model.labelling import Labelling
from segapp.model.settings import FeatureGroup
from segapp.model.validation import Message

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.engine.upsampling import Enlarged
    from segapp.imaging.seeds import SeedMap
    from segapp.model.answer import AnswerSnapshot, Update
    from segapp.model.document import Document, Mark
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


if TYPE_CHECKING:
    _State = tuple[tuple[Mark, ...], int, Settings]
    """Marks, background and settings: all that an answer depends on, besides the picture."""

_REMEMBERED = 4096
"""Earlier answers, of a few kilobytes each: more than anybody undoes."""


def segment(rgb: NDArray[np.uint8], document: Document, settings: Settings) -> Labelling:
    """Return the final labelling of a picture."""
    return final_answer(Trainer(rgb).updates(document, settings)).labelling


class Trainer:
    """Segments one picture again and again, as its strokes grow.

    Parameters
    ----------
    rgb
        ``H x W x 3``, uint8; it must not change afterwards.
    channels
        ``H x W x channels`` of any number type, for `FeatureGroup.CHANNELS`: what an instrument
        has measured. Without, it is ``rgb``.
    encoded
        What a network sees in it, for settings that want that.
    """

    def __init__(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
    ) -> None:
        if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or not rgb.size:
            raise ValueError(f"rgb: wanted H x W x 3 of uint8, got {rgb.shape} of {rgb.dtype}")
        if channels is not None and (channels.ndim != 3 or channels.shape[:2] != rgb.shape[:2]):
            raise ValueError(
                f"channels: wanted {rgb.shape[0]} x {rgb.shape[1]} x channels, "
                f"got {channels.shape}"
            )
        self._picture = PreparedPicture(rgb, channels, encoded)
        self.see = self._picture.see  # what a network comes to see after the first strokes
        self._kept: OrderedDict[_State, KeptAnswer] = OrderedDict()
        self._carried: AnswerSnapshot | None = None
        height, width = rgb.shape[:2]
        self._marked = SeedCache((height, width), self._picture.times)
        self._drawn: Enlarged | None = None
        self._last = LastAnswer()

    def prepare(self, settings: Settings) -> None:
        """Make now what depends on the picture alone; without this, the first update does."""
        self._picture.refuse_unseen(settings)
        self._picture.graph(settings)
        self._picture.grams(settings)
        self._picture.encoded_kernel(settings)
        self._picture.kinds(settings)
        self._pixels(settings)

    def recall(self, carried: AnswerSnapshot) -> None:
        """Use what a project carries where it fits, so that only its newest stroke is learnt."""
        self._carried = carried

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Yield reports, with a preview now and then, and the answer at the end.

        Whoever stops iterating stops the work. Raises `NotEnoughStrokes` when what has marked
        pixels does not suffice (`Document.is_answerable`). A document with a start has an answer
        without strokes, and one with retouches shows them on bare background.
        """
        self._picture.refuse_unseen(settings)
        if document.initial is not None and not document.strokes:
            checked_labels(document.initial, self._picture.rgb.shape[:2])
            begun = Answer(document.initial.labelling(len(document.classes)))
            return retouch_updates((begun,), document)
        start, marks = document.initial, document.retouches
        document = self._after_start(document, settings)
        try:
            marked = self._answerable(document)
        except NotEnoughStrokes:
            if not document.retouches:
                raise
            return retouch_updates((Answer(self._bare(document, settings)),), document)
        asked = replace(document, initial=start, retouches=()), settings
        answer = self._last.known_or(asked, marks, self._answer(document, marked, settings))
        return retouch_updates(answer, document)

    def glimpses(self, document: Document, settings: Settings) -> Iterator[Report]:
        """Yield reports, the last one with a preview: a look at a stroke in the making.

        Nothing of the document's last state is remembered, so that however often somebody
        looks on the way, the finished stroke is answered as if nobody had. Raises
        `NotEnoughStrokes` like `updates`.
        """
        self._picture.refuse_unseen(settings)
        document = self._after_start(document, settings)
        looks = self._glimpses(document, self._answerable(document), settings)
        return (retouch_report(look, document) for look in looks)

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn what can be applied to other pictures: without what only this one has."""
        document = self._after_start(document, settings)
        marked = self._marked.of(document.strokes)
        if len(marked.classes()) < 2:
            raise NotEnoughStrokes(_what_is_missing(document, marked.classes()))
        self._picture.refuse_unseen(settings)
        return LearntModel.of_strokes(self._picture, marked.coarse, document, settings)

    def _answerable(self, document: Document) -> SeedMap:
        """Return the marked pixels, or say what is still missing for an answer."""
        marked = self._marked.of(document.strokes)
        if not document.is_answerable(marked.classes()) or not self._has_a_second_class(marked):
            raise NotEnoughStrokes(_what_is_missing(document, marked.classes()))
        return marked

    def _bare(self, document: Document, settings: Settings) -> Labelling:
        """Return what is known before anything is learnt: background, without any certainty."""
        size = self._picture.rgb.shape[:2]
        labels = np.full(size, document.background, np.uint8)
        margin, codes = np.zeros(size, np.float32), np.zeros(size, np.uint32)
        return Labelling(labels, margin, codes, len(document.classes), settings.bits)

    def _has_a_second_class(self, marked: SeedMap) -> bool:
        """Tell whether there are two to tell apart: the border may be the second."""
        if len(marked.classes()) > 1:
            return True
        return bool((marked.coarse[border_of(marked.coarse.shape)] < 0).any())

    def _after_start(self, document: Document, settings: Settings) -> Document:
        """Put the dabs that stand for a start before the strokes; the start is their answer."""
        if document.initial is None:
            return document
        labels = checked_labels(document.initial, self._picture.rgb.shape[:2])
        begun = document_of_start(document, labels)
        step = self._picture.times
        shares = RegionShares.of(
            self._picture.table(settings).prototypes,
            np.ascontiguousarray(labels[::step, ::step]),
            len(document.classes),
        )
        self._remember(begun, settings, KeptAnswer(shares))
        return replace(begun, strokes=(*begun.strokes, *document.strokes))

    def _answer(self, document: Document, marked: SeedMap, settings: Settings) -> Iterator[Update]:
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
        coarse = yield from update.coarse_answer(learnt.verdict, laps, with_preview=True)
        if len(marked.classes()) > 1:  # else nothing is held on to: see `_before`
            self._remember(document, settings, update.kept(coarse))
        verdict = update.leaning(learnt.verdict)
        if verdict is not learnt.verdict:  # the next stroke is told nothing of it
            coarse = yield from update.leant_answer(verdict, coarse, laps)
        labelling, self._drawn = yield from update.task.full_size(
            coarse, verdict, laps, self._drawn
        )
        carry = None
        if before is not None:
            # The digest is made here and now: who saves by hand packs in the window's thread.
            pixels = self._pixels(settings)
            carry = partial(packed, pixels, before.document, settings, before.kept)
        yield Answer(labelling, update.insight(learnt, laps), carry)

    def _glimpses(
        self, document: Document, marked: SeedMap, settings: Settings
    ) -> Iterator[Report]:
        yield Report("Looking", 0.0)
        self.prepare(settings)
        before = yield from self._before(document, settings)
        update = StateUpdate(self._picture, document, marked, settings, before)
        learnt = yield from update.learn(Laps(), with_previews=False)
        yield Report("Looking", 1.0, update.glimpse(learnt))

    def _before(
        self, document: Document, settings: Settings
    ) -> Generator[Report, None, Before | None]:
        """Return the last of the earlier states, answered; what is remembered is not redone.

        A state with fewer than two classes has no answer that is worth holding on to, and the
        next one begins afresh.
        """
        before: Before | None = None
        if settings.locality == 0 or not settings.refine:
            return before
        missing: list[Document] = []
        for state in document.earlier_states():
            kept = self._known(state, settings, newest=not missing)
            if kept is not None:
                before = Before(state, self._marked.of(state.strokes), kept)
                break
            missing.append(state)
        for number, state in enumerate(reversed(missing), start=1):
            yield Report(Message("Earlier strokes, {} of {}", number, len(missing)), 0.1)
            marked = self._marked.of(state.strokes)
            if len(marked.classes()) < 2:
                before = None
                continue
            update = StateUpdate(self._picture, state, marked, settings, before)
            learnt = yield from update.learn(Laps())
            kept = update.kept((yield from update.coarse_answer(learnt.verdict, Laps())))
            self._remember(state, settings, kept)
            before = Before(state, marked, kept)
        return before

    def _known(self, state: Document, settings: Settings, *, newest: bool) -> KeptAnswer | None:
        """Return what is remembered of an earlier answer, or what was carried of the newest."""
        kept = self._kept.get(_state(state, settings))
        if kept is None and newest and self._carried is not None:
            n_regions = len(self._picture.table(settings).prototypes)
            pixels = self._pixels(settings)
            kept = unpacked(self._carried, pixels, state, settings, n_regions)
            if kept is not None:
                self._remember(state, settings, kept)
        return kept

    def _pixels(self, settings: Settings) -> str:
        """Return the digest of all that these settings look at."""
        if FeatureGroup.CHANNELS not in settings.features:
            return self._digest
        return pixels_digest(self._picture.channels.coarse_whole, self._digest)

    @cached_property
    def _digest(self) -> str:
        return pixels_digest(self._picture.rgb)

    def _remember(self, document: Document, settings: Settings, kept: KeptAnswer) -> None:
        self._kept[_state(document, settings)] = kept
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)


def _state(document: Document, settings: Settings) -> _State:
    """Return the key of an answer; a threshold changes what is shown, and no answer after it."""
    return document.strokes, document.background, replace(settings, threshold=0.0)


def _what_is_missing(document: Document, present: Sequence[int]) -> str:
    """Say what is there and what is still needed."""
    if not present:
        return Message("Nothing is marked yet: paint over an object.")
    names = [info.name for info in document.classes]
    marked = names.pop(present[0])
    other = names[0] if len(names) == 1 else Message("one other class")
    return Message("Only {} is marked so far: mark {} as well.", marked, other)
