"""Answers for the open image, trained in a background thread."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.segmenter import ProvisionalAnswer
from segapp.app.state import Progress, Stage
from segapp.model.answer import Answer, NotEnoughStrokes, Preview
from segapp.model.explanation import PixelExplanation
from segapp.model.validation import sanitize
from segapp.qt.i18n import number, translate
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.app.segmenter import Segmenter, TrainingItem
    from segapp.app.state import Content, StoredResult, TrainingInputs
    from segapp.model.answer import ObjectProposal, Report
    from segapp.model.document import Document
    from segapp.model.labelling import Insight, Labelling


@dataclass(frozen=True, slots=True)
class ProposalJob:
    """Handlers of a proposal, and of its end, with or without one."""

    take: Callable[[ObjectProposal], object]
    end: Callable[[], object]


# Milliseconds after which a picture with a stored answer is prepared for strokes: those that are
# only looked at are not.
_LOOK = 300


class AnswerService(QObject):
    """The last answer for the open image, and previews of the next one apart from it.

    The displayed labelling (`shown`) may be a preview, or older than the strokes. Exports,
    copies and measures use `answer`, which belongs to exactly the present strokes and settings,
    or is None.
    """

    answer_changed = Signal()
    live_preview_ended = Signal()  # the next one may begin
    progress_changed = Signal()
    failed = Signal(str, str)  # a sentence, and a traceback for reports

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._segmenter: Segmenter | None = None
        self._is_suspended = False
        self._answered: tuple[TrainingInputs, Answer] | None = None
        self.preview: Preview | None = None  # displayed instead of the answer
        self._newest: Preview | None = None  # of the live preview that is under way
        self._jobs = Jobs("learning", self)
        self._preparing = QTimer(self, singleShot=True, interval=_LOOK)
        self._preparing.timeout.connect(self._prepare)
        self.progress = Progress()
        self.live = True
        self.is_previewing = False  # whether a live preview is under way
        self.is_reading = False  # whether an encoder is reading the image

    @property
    def _content(self) -> Content | None:
        return self._segmenter.content if self._segmenter is not None else None

    @property
    def answer(self) -> Answer | None:
        """The answer for the present strokes and settings, None until it is there."""
        content, answered = self._content, self._answered
        if content is None or answered is None or answered[0] != content.training_inputs:
            return None
        return answered[1]

    @property
    def is_current(self) -> bool:
        """Whether the answer for the present strokes and settings is there."""
        return self.answer is not None

    @property
    def shown(self) -> Labelling | None:
        """The labelling to display: the newest preview, else the last answer."""
        if self.preview is not None:
            return self.preview.labelling
        return self._answered[1].labelling if self._answered is not None else None

    @property
    def insight(self) -> Insight | None:
        """The insight into the last answer."""
        return self._answered[1].insight if self._answered is not None else None

    def begin(self, segmenter: Segmenter, stored: StoredResult | None = None) -> None:
        """Drop the answers for one image; take a stored one of another, or make it."""
        self._cancel()
        self._segmenter, self._is_suspended = segmenter, False
        found = None
        if stored is not None and stored.inputs == segmenter.content.training_inputs:
            found = stored.found
        if isinstance(found, Answer):
            self._set((segmenter.content.training_inputs, found))
            self._preparing.start()
        else:
            self._set(None)
            if found is not None:
                self._show(found)

    def _prepare(self) -> None:
        """Prepare the first stroke on a picture whose answer was stored."""
        if self._segmenter is not None and not self._is_suspended and not self._jobs.busy:
            steps = self._segmenter.preparation()
            self._jobs.run(lambda: steps, lambda _: None, self._fail)

    def suspend(self) -> None:
        """Train nothing until `begin`: the pixels are about to change."""
        self._cancel()
        self._is_suspended = True

    def set_live(self, live: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Train after every stroke, or only on command."""
        self.live = live
        self.catch_up()

    def catch_up(self) -> None:
        """Bring the answer up to date, or report that it is behind."""
        content = self._content
        if content is None:
            self._report(Progress())
        elif self.is_current:
            if self._jobs.busy or self.preview is not None:
                self._cancel()
                self._drop_preview()
            self._report(Progress(Stage.CURRENT, self.tr("Up to date")))
        elif self.live or not _is_answerable(content.document):
            self.update_now()
        else:
            self._cancel()
            self._report(self._behind())

    def update_now(self) -> None:
        """Train with the present strokes, live or not."""
        segmenter = self._segmenter
        if segmenter is None or self._is_suspended:
            return
        self._cancel()
        self._report(Progress(Stage.RUNNING, self.tr("Starting"), 0.0, time.monotonic()))
        inputs, updates = segmenter.content.training_inputs, segmenter.updates()
        self._jobs.run(lambda: updates, lambda item: self._take(inputs, item), self._fail)

    def show_live_preview(self, content: Content) -> None:
        """Show a preview with an unfinished stroke, which the answer is not trained from."""
        segmenter = self._segmenter
        failed = self.progress.stage is Stage.FAILED  # the finished stroke tells it again
        if segmenter is None or self._is_suspended or failed:
            return
        if not _is_answerable(content.document):
            return
        self._cancel()
        self.is_previewing, self._newest = True, None
        if self.progress.stage is not Stage.FOLLOWING:
            self._report(Progress(Stage.FOLLOWING, self.tr("Not final: following the brush")))
        reports = segmenter.live_preview(content)
        self._jobs.run(lambda: reports, self._note_preview, self._fail, self._end_preview)

    def propose(self, x: float, y: float, size: int, job: ProposalJob) -> bool:
        """Propose the object at a point, in the thread that learns; a stroke stops it.

        Returns whether that thread is free.
        """
        segmenter = self._segmenter
        if segmenter is None or self._is_suspended or self._jobs.busy:
            return False
        if self.progress.stage not in (Stage.WAITING, Stage.CURRENT):
            return False
        proposals = segmenter.proposals(x, y, size)
        self._jobs.run(lambda: proposals, job.take, self._fail, job.end)
        return True

    def full_size(
        self, proposal: ObjectProposal, take: Callable[[NDArray[np.bool_]], object]
    ) -> None:
        """Bring a proposal to the image's size, in the thread that learns."""
        segmenter = self._segmenter
        if segmenter is None or self._is_suspended:
            return

        def work() -> Iterator[NDArray[np.bool_]]:
            yield segmenter.full_size_proposal(proposal)

        self._cancel()
        self._jobs.run(work, take, self._fail)

    def explain(self, x: float, y: float, take: Callable[[PixelExplanation], object]) -> bool:
        """Explain a pixel of the answer, in the thread that learns; a stroke stops it.

        ``take`` is called with the shares, and again for each stroke that was left out on trial.
        Returns whether there is an answer that can be explained.
        """
        answer = self.answer
        if answer is None or answer.explain is None or self._is_suspended:
            return False
        explanations = answer.explain(x, y)

        def show(item: PixelExplanation | Report) -> None:
            if isinstance(item, PixelExplanation):
                take(item)

        self._cancel()
        self._jobs.run(lambda: explanations, show, self._fail)
        return True

    def end_explanation(self) -> None:
        """Leave no more strokes out; the answer stays."""
        if self.is_current and self.progress.stage is not Stage.RUNNING:
            self._cancel()

    def stop(self) -> None:
        """Stop training; the displayed labelling stays."""
        if not self._jobs.busy and self.progress.stage is not Stage.RUNNING:
            return
        self._cancel()
        if self.is_current:  # it was being computed once more
            self.catch_up()
        else:
            self._report(self._behind())

    def set_reading(self, *, reading: bool) -> None:
        """Note whether a provisional answer waits for the encoder."""
        self.is_reading = reading
        if self.progress.stage is Stage.RUNNING and not self._jobs.busy:
            self._report(self._provisional())

    def close(self, timeout: float | None = None) -> bool:
        """Stop training and wait for the thread; return whether it has ended."""
        self._preparing.stop()
        return self._jobs.close(timeout)

    def _cancel(self) -> None:
        self._preparing.stop()
        self.is_previewing = False
        self._jobs.cancel()

    def _take(self, inputs: TrainingInputs, item: TrainingItem) -> None:
        if isinstance(item, NotEnoughStrokes):
            self._set(None)
            self._report(Progress(Stage.WAITING, translate(item)))
        elif isinstance(item, Answer):
            self._set((inputs, item))
            seconds = time.monotonic() - self.progress.started
            text = self.tr("Up to date, {} s").format(number(seconds, 2))
            initial = inputs.initial
            if initial is not None and not inputs.strokes:
                text = self.tr("Result of {}: strokes correct it").format(sanitize(initial.name))
            self._report(replace(self.progress, stage=Stage.CURRENT, text=text, seconds=seconds))
        elif isinstance(item, ProvisionalAnswer):
            self._show(item.preview)
            self._report(self._provisional())
        else:
            if item.preview is not None:
                self._show(item.preview)
            self._report(replace(self.progress, text=translate(item.step), fraction=item.fraction))

    def _note_preview(self, report: Report) -> None:
        self._newest = report.preview or self._newest

    def _end_preview(self) -> None:
        if not self.is_previewing:  # cancelled, or failed
            return
        self.is_previewing = False
        if self._newest is not None:
            self._show(self._newest)
        self.live_preview_ended.emit()

    def _fail(self, error: Exception) -> None:
        self.is_previewing = False
        if self.is_current:
            self._drop_preview()
        text = self.tr("Learning failed: {}").format(translate(error) or type(error).__name__)
        self._report(Progress(Stage.FAILED, text))
        self.failed.emit(text, details_of(error))

    def _set(self, answered: tuple[TrainingInputs, Answer] | None) -> None:
        """Take an answer, or withdraw the last one with None; either ends the preview."""
        self._answered, self.preview = answered, None
        self.answer_changed.emit()

    def _show(self, preview: Preview) -> None:
        self.preview = preview
        self.answer_changed.emit()

    def _drop_preview(self) -> None:
        if self.preview is not None:
            self._set(self._answered)

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        self.progress_changed.emit()

    def _provisional(self) -> Progress:
        """Return that the displayed answer waits for the encoder, or has none."""
        if self.is_reading:
            text = self.tr("Not final: reading the image")
            return replace(self.progress, text=text, fraction=1.0)
        text = self.tr("Not final: the encoder has not read the image")
        return Progress(Stage.UNFINISHED, text)

    def _behind(self) -> Progress:
        """Return that the displayed labelling is not the answer to the present strokes."""
        if self.preview is not None:
            text = self.tr("Not final: choose “Update Now”")
            return Progress(Stage.UNFINISHED, text)
        if self.shown is not None:
            text = self.tr("The result is older than the strokes: choose “Update Now”")
            return Progress(Stage.OUTDATED, text)
        return Progress(Stage.WAITING, self.tr("No result yet: choose “Update Now”"))


def _is_answerable(document: Document) -> bool:
    marked = document.strokes.labels
    return document.is_answerable(marked) or bool(marked and document.initial is not None)
