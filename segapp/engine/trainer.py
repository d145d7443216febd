"""The trainer: strokes and settings in, labellings out."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from segapp.engine.answer_codec import (
    PastAnswer,
    decode_snapshot,
    encode_snapshot,
)
from segapp.engine.digests import pixels_digest
from segapp.engine.explanation import CheckedExplainer, Explainer
from segapp.engine.learnt_model import LearntModel
from segapp.engine.object_cut import ObjectCut
from segapp.engine.preparation import PreparedPicture
from segapp.engine.prior import RegionShares, border_mask, initial_pixels, seeds_from_labels
from segapp.engine.proposals import ObjectProposals
from segapp.engine.refinement import CutLabels, StepTimer
from segapp.engine.region_graph import FlowWarmStart
from segapp.engine.state_update import PreviousState, StateUpdate
from segapp.engine.upsampling import guided_upsample
from segapp.imaging.objects import find_objects
from segapp.imaging.retouch import retouch_report, retouch_updates
from segapp.imaging.seeds import SeedCache, SeedMap
from segapp.model.answer import Answer, NotEnoughStrokes, ObjectProposal, Report, final_answer
from segapp.model.document import NO_MARKS
from segapp.model.labelling import Labelling
from segapp.model.settings import DEFAULT_SETTINGS, FeatureGroup
from segapp.model.validation import Message

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.engine.refinement import WorkingAnswer
    from segapp.engine.region_graph import RegionGraph
    from segapp.engine.state_update import RegionFit
    from segapp.engine.upsampling import UpsampledLabels
    from segapp.model.answer import AnswerSnapshot, Update
    from segapp.model.document import Document, Marks
    from segapp.model.labelling import InitialLabels
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings

    _StateKey = tuple[InitialLabels | None, Marks, int, Settings]
    """Start, marks, background and settings: all inputs of an answer, besides the image."""

Value = TypeVar("Value")

_MAX_PAST_ANSWERS = 4096
"""Earlier answers, of a few kilobytes each: more than users undo."""


def segment(rgb: NDArray[np.uint8], document: Document, settings: Settings) -> Labelling:
    """Return the final labelling of an image."""
    return final_answer(Trainer(rgb).updates(document, settings)).labelling


@dataclass(frozen=True, slots=True, eq=False)
class _LearntState:
    """A state with all that was learnt, before its threshold and its clean-up."""

    document: Document
    settings: Settings
    update: StateUpdate
    fit: RegionFit
    answer: WorkingAnswer
    before: PreviousState | None


class Trainer:
    """The segmenter of one image, for a growing number of strokes.

    Parameters
    ----------
    rgb
        ``H x W x 3``, uint8; it must not change afterwards.
    channels
        ``H x W x channels`` of any number type, for `FeatureGroup.CHANNELS`: the values of an
        instrument. By default these are ``rgb``.
    encoded
        Encoder features of the image, for settings that use them.
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
        self._past: OrderedDict[_StateKey, PastAnswer] = OrderedDict()
        self._snapshot: AnswerSnapshot | None = None
        self._seeds = SeedCache((rgb.shape[0], rgb.shape[1]), self._picture.times)
        self._retouches = SeedCache((rgb.shape[0], rgb.shape[1]), self._picture.times)
        self._flows: FlowWarmStart | None = None
        self._upsampled: UpsampledLabels | None = None
        self._learnt: _LearntState | None = None
        self._latest: tuple[tuple[Document, Settings], Answer] | None = None
        self._proposals: tuple[RegionGraph, ObjectProposals, FlowWarmStart] | None = None
        self._asked: Document | None = None
        self._object_cut = ObjectCut(self._picture)

    def set_encoder_features(self, encoded: EncoderFeatures) -> None:
        """Use encoder features, which may arrive after the first strokes."""
        self._learnt = None
        self._picture.set_encoder_features(encoded)

    def prepare(self, settings: Settings) -> None:
        """Compute what depends on the image alone; otherwise the first update does."""
        self._picture.require_encoder_features(settings)
        self._picture.graph(settings)
        self._picture.grams(settings)
        self._picture.dense_kernel(settings)
        self._picture.fine_features(settings)
        self._pixels_digest(settings)

    def recall(self, carried: AnswerSnapshot) -> None:
        """Use a project's snapshot, so that only its newest stroke is learnt."""
        self._snapshot = carried

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Yield reports, with a preview now and then, and the answer at the end.

        The work stops with the iteration. Raises `NotEnoughStrokes` when the marked pixels do
        not suffice (`Document.is_answerable`). A document with initial labels has an answer
        without strokes, and one with retouches shows them on bare background.
        """
        self._picture.require_encoder_features(settings)
        asked, self._asked = self._asked, document
        updates = self._class_updates(
            document.without_objects(), settings, is_repeated=document == asked
        )
        if document.retouches:
            updates = retouch_updates(updates, self._retouches.of(document.retouches))
        return self._with_objects(updates, document, settings)

    def _class_updates(
        self, document: Document, settings: Settings, *, is_repeated: bool
    ) -> Iterator[Update]:
        """Return the updates of a document's classes, before its retouches."""
        if document.initial is not None and not document.strokes:
            initial_pixels(document.initial, self._picture.rgb.shape[:2])
            return iter((Answer(document.initial.labelling(len(document.classes))),))
        key = replace(document, retouches=NO_MARKS), settings
        document = self._with_seeds(document, settings)
        try:
            marked = self._answerable(document)
        except NotEnoughStrokes:
            if not document.retouches:
                raise
            return iter((Answer(self._bare(document, settings)),))
        # A document that differs in its retouches or objects alone has the latest answer. If
        # nothing differs, the user has a reason to ask again, and the answer is computed anew.
        if not is_repeated and self._latest is not None and self._latest[0] == key:
            return iter(self._latest[1:])
        return self._answer(document, marked, settings, key)

    def _with_objects(
        self, updates: Iterator[Update], document: Document, settings: Settings
    ) -> Iterator[Update]:
        """Tell the objects of the answer apart, where connectivity does not suffice."""
        for update in updates:
            if not isinstance(update, Answer) or not document.divides_objects:
                yield update
                continue
            yield Report("Telling objects apart", 0.97)
            divide = partial(self._object_cut.divide, settings=settings)
            labels, rgb = update.labelling.labels, self._picture.rgb
            found = find_objects(labels, document, divide, rgb=rgb)
            yield replace(update, labelling=replace(update.labelling, objects=found))

    def live_preview(self, document: Document, settings: Settings) -> Iterator[Report]:
        """Yield reports, the last one with a quick preview of an unfinished stroke.

        The document's last state is not remembered, so that the answer to the finished stroke
        does not depend on previews. Raises `NotEnoughStrokes` like `updates`.
        """
        self._picture.require_encoder_features(settings)
        document = self._with_seeds(document.without_objects(), settings)
        reports = self._live_preview(document, self._answerable(document), settings)
        retouches = self._retouches.of(document.retouches)
        return (retouch_report(report, retouches) for report in reports)

    def propose_object(
        self, x: float, y: float, settings: Settings, size: int
    ) -> ObjectProposal | None:
        """Return the object at a point; ``None`` outside the image.

        ``size`` is an index of `PROPOSAL_SIZES`. Strokes do not count, and no answer changes.
        """
        self._picture.require_encoder_features(settings)
        graph, times = self._picture.graph(settings), self._picture.times
        if self._proposals is None or self._proposals[0] is not graph:
            proposals = ObjectProposals.of(self._picture, settings)
            self._proposals = graph, proposals, FlowWarmStart(graph)
        _, proposals, flows = self._proposals
        height, width = self._picture.rgb.shape[:2]
        if not (0 <= x < width and 0 <= y < height):
            return None
        mask = proposals.mask(int(y) // times, int(x) // times, size, flows)
        return ObjectProposal(mask, times)

    def upsampled_proposal(
        self, proposal: ObjectProposal, settings: Settings
    ) -> NDArray[np.bool_]:
        """Return a proposal at the image's size."""
        if proposal.times == 1:
            return proposal.mask
        guides = self._picture.guides(settings)
        empty = SeedMap.empty((guides[0].shape[0], guides[0].shape[1]), proposal.times)
        steps = guided_upsample(
            (guides[0], guides[-1]), (~proposal.mask).astype(np.uint8), empty, 2, None
        )
        while True:
            try:
                next(steps)
            except StopIteration as end:
                labels: NDArray[np.uint8] = end.value
                return np.asarray(labels == 0)

    def learnt_model(self, document: Document, settings: Settings) -> LearntModel:
        """Learn a model for other images, without the features of this one alone."""
        seeded = self._with_seeds(document.without_objects(), settings)
        document = replace(seeded, classes=document.classes)
        marked = self._seeds.of(document.strokes)
        if len(marked.classes()) < 2 or marked.lost:
            raise NotEnoughStrokes(_missing_marks(document, marked))
        self._picture.require_encoder_features(settings)
        return LearntModel.of_strokes(self._picture, marked.coarse, document, settings)

    def _answerable(self, document: Document) -> SeedMap:
        """Return the marked pixels; `NotEnoughStrokes` names the marks that are missing."""
        marked = self._seeds.of(document.strokes)
        if not _suffices(document, marked):
            raise NotEnoughStrokes(_missing_marks(document, marked))
        return marked

    def _bare(self, document: Document, settings: Settings) -> Labelling:
        """Return a labelling before anything is learnt: background with a margin of 0."""
        size = self._picture.rgb.shape[:2]
        labels = np.full(size, document.background, np.uint8)
        margin, codes = np.zeros(size, np.float32), np.zeros(size, np.uint32)
        return Labelling(labels, margin, codes, len(document.classes), settings.bits)

    def _with_seeds(self, document: Document, settings: Settings) -> Document:
        """Replace initial labels by seeds before the strokes; the labels are their answer."""
        if document.initial is None:
            return document
        labels = initial_pixels(document.initial, self._picture.rgb.shape[:2])
        seeded = seeds_from_labels(document, labels)
        step, n_classes = self._picture.times, len(document.classes)
        coarse = np.ascontiguousarray(labels[::step, ::step])
        shares = RegionShares.of(self._picture.table(settings).prototypes, coarse, n_classes)
        cut = None
        if document.initial.propagated and settings.refine:
            patches = self._picture.graph(settings).patches
            of_patches = RegionShares.of(patches, coarse, n_classes).shares.argmax(axis=1)
            cut = CutLabels(of_patches.astype(np.uint8), coarse)
        self._remember(seeded, settings, PastAnswer.of(shares, cut))
        return replace(seeded, strokes=seeded.strokes.plus(*document.strokes))

    def _answer(
        self,
        document: Document,
        marked: SeedMap,
        settings: Settings,
        key: tuple[Document, Settings],
    ) -> Iterator[Update]:
        timer = StepTimer()
        yield Report("Finding regions", 0.0)
        flows = self._warm_start(settings)
        timer.end("regions")
        yield Report("Comparing regions", 0.1)
        self._picture.grams(settings)
        timer.end("kernels")
        learnt = self._learnt_state(document, settings)
        if learnt is None:
            learnt = self._learnt = yield from self._learn(document, marked, settings, timer)
        update, fit, answer = learnt.update, learnt.fit, learnt.answer
        scores = update.apply_threshold(fit.scores, settings.threshold)
        if scores is not fit.scores:
            answer = yield from update.thresholded_answer(scores, answer, flows, timer)
        refiner = replace(update.refiner, settings=settings)
        if settings.clean_up != update.refiner.settings.clean_up:
            answer = refiner.cleaned(answer, timer)
        labelling, self._upsampled = yield from refiner.full_size(
            answer, scores, timer, self._upsampled
        )
        make_snapshot = None
        if learnt.before is not None:
            # The digest is computed here and now: a manual save encodes in the window's thread.
            pixels, before = self._pixels_digest(settings), learnt.before
            make_snapshot = partial(
                encode_snapshot, pixels, before.document, learnt.settings, before.answer
            )
        n_initial = len(document.strokes) - len(key[0].strokes)
        explainer = Explainer(
            refiner, update.supervision, fit, scores, answer, labelling, n_initial
        )
        document, settings = key
        explain = CheckedExplainer(
            explainer, lambda left_out: self.updates(document.without_strokes(left_out), settings)
        )
        insight = update.insight(fit, timer)
        labelling = replace(labelling, make_insight=lambda: insight)
        final = Answer(labelling, insight, make_snapshot, explain)
        self._latest = key, final
        yield final

    def _learnt_state(self, document: Document, settings: Settings) -> _LearntState | None:
        """Return what was learnt for other settings of clean-up and threshold alone."""
        learnt, latest = self._learnt, self._latest
        if learnt is None or latest is None or latest[0][1] == settings:
            return None
        is_same = learnt.document == document and learnt.settings == learning_settings(settings)
        return learnt if is_same else None

    def _learn(
        self, document: Document, marked: SeedMap, settings: Settings, timer: StepTimer
    ) -> Generator[Report, None, _LearntState]:
        """Learn a state, and remember its answer for the next one."""
        settings = learning_settings(settings)
        before = yield from self._previous_state(document, settings)
        timer.end("earlier strokes")
        update = StateUpdate(self._picture, document, marked, settings, before)
        fit = yield from update.learn(timer)
        flows = self._warm_start(settings)
        answer = yield from update.refiner.working_answer(
            fit.scores, flows, timer, update.cut_before, update.newly_marked, with_preview=True
        )
        self._remember(document, settings, update.past_answer(answer))
        return _LearntState(document, settings, update, fit, answer, before)

    def _live_preview(
        self, document: Document, marked: SeedMap, settings: Settings
    ) -> Iterator[Report]:
        yield Report("Reading the image", 0.0)
        self.prepare(settings)
        settings = learning_settings(settings)
        before = yield from self._previous_state(document, settings)
        update = StateUpdate(self._picture, document, marked, settings, before)
        fit = yield from update.learn(StepTimer(), with_previews=False)
        yield Report(
            "Reading the image", 1.0, update.quick_preview(fit, self._warm_start(settings))
        )

    def _warm_start(self, settings: Settings) -> FlowWarmStart:
        graph = self._picture.graph(settings)
        if self._flows is None or self._flows.graph is not graph:
            self._flows = FlowWarmStart(graph)
        return self._flows

    def _previous_state(
        self, document: Document, settings: Settings
    ) -> Generator[Report, None, PreviousState | None]:
        """Return the last of the earlier states, answered; remembered answers are reused.

        A state without an answer leaves the next one without a prior.
        """
        before: PreviousState | None = None
        if settings.locality == 0 or not settings.refine:
            return before
        missing: list[Document] = []
        for state in document.earlier_states():
            past = self._past_answer(state, settings, newest=not missing)
            if past is not None:
                before = PreviousState(state, self._seeds.of(state.strokes), past)
                break
            missing.append(state)
        for number, state in enumerate(reversed(missing), start=1):
            report = Report(Message("Earlier strokes, {} of {}", number, len(missing)), 0.1)
            yield report
            marked = self._seeds.of(state.strokes)
            if not _suffices(state, marked):
                before = None
                continue
            update = StateUpdate(self._picture, state, marked, settings, before)
            fit = yield from _report_as(report, update.learn(StepTimer()))
            answer = yield from _report_as(
                report,
                update.refiner.working_answer(
                    fit.scores,
                    self._warm_start(settings),
                    StepTimer(),
                    update.cut_before,
                    update.newly_marked,
                ),
            )
            past = update.past_answer(answer)
            self._remember(state, settings, past)
            before = PreviousState(state, marked, past)
        return before

    def _past_answer(
        self, state: Document, settings: Settings, *, newest: bool
    ) -> PastAnswer | None:
        """Return the remembered answer to a state, or the snapshot of the newest one."""
        past = self._past.get(_state_key(state, settings))
        if past is None and newest and self._snapshot is not None:
            n_regions = len(self._picture.table(settings).prototypes)
            pixels = self._pixels_digest(settings)
            past = decode_snapshot(self._snapshot, pixels, state, settings, n_regions)
            if past is not None:
                self._remember(state, settings, past)
        return past

    def _pixels_digest(self, settings: Settings) -> str:
        """Return the digest of all pixel values that the settings use."""
        if FeatureGroup.CHANNELS not in settings.features:
            return self._rgb_digest
        return pixels_digest(self._picture.channels.coarse_quantised, self._rgb_digest)

    @cached_property
    def _rgb_digest(self) -> str:
        return pixels_digest(self._picture.rgb)

    def _remember(self, document: Document, settings: Settings, past: PastAnswer) -> None:
        self._past[_state_key(document, settings)] = past
        while len(self._past) > _MAX_PAST_ANSWERS:
            self._past.popitem(last=False)


def _state_key(document: Document, settings: Settings) -> _StateKey:
    """Return the key of a past answer."""
    inputs = document.initial, document.strokes, document.background
    return *inputs, learning_settings(settings)


def learning_settings(settings: Settings) -> Settings:
    """Return the settings that a state is learnt with.

    Threshold and clean-up are applied to what was learnt. As the prior of the next state, an
    answer has the clean-up by default, but for the parts without a stroke: they stay where the
    user wants them.
    """
    clean_up = replace(DEFAULT_SETTINGS.clean_up, keep_touching=settings.clean_up.keep_touching)
    return replace(settings, threshold=0.0, clean_up=clean_up)


def _report_as(
    report: Report, steps: Generator[Report, None, Value]
) -> Generator[Report, None, Value]:
    """Run steps of an earlier state; their own progress is not that of the update."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value
        yield report


def _suffices(document: Document, marked: SeedMap) -> bool:
    """Return whether the marked pixels suffice for an answer."""
    classes, coarse = marked.classes(), marked.coarse
    if marked.lost or not document.is_answerable(classes):
        return False
    return len(classes) > 1 or bool((coarse[border_mask(coarse.shape)] < 0).any())


def _missing_marks(document: Document, marked: SeedMap) -> Message:
    """Return a sentence about the marks that are missing for an answer."""
    classes, names = marked.classes(), [info.name for info in document.classes]
    if not classes:
        return Message("Nothing is marked yet: paint over an object.")
    if marked.lost:
        return Message(
            "The marks of {} are too small here: paint more of it.", names[marked.lost[0]]
        )
    only = names.pop(classes[0])
    other = names[0] if len(names) == 1 else Message("one other class")
    return Message("Only {} is marked so far: mark {} as well.", only, other)
