"""Results of the open image, and the job for the next one."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.learning import Answered, Look, Unseen, learning, looking
from segapp.app.state import Content, Progress, Stage
from segapp.model.answer import Answer, Insight, NotEnoughStrokes, Preview, Segmenter
from segapp.model.document import Patch
from segapp.model.validation import sanitize
from segapp.qt.i18n import number, translate
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from segapp.app.learning import Item
    from segapp.model.answer import AnswerSnapshot, MakeSegmenter
    from segapp.model.document import Document, Mark
    from segapp.model.labelling import Labelling
    from segapp.model.picture import EncoderFeatures, Picture
    from segapp.qt.session.session import Session


class Answers(QObject):
    """Keeps the last answer, and a preview of the next one apart from it.

    What is looked at (`sanitize`) may be a preview or older than the strokes. What leaves the
    program (`answer`) was made from exactly the present strokes and settings, or is None.

    Parameters
    ----------
    make_segmenter
        Called with the pixels of a picture, by the worker alone.
    present
        Returns the strokes and settings as they are now, None without a picture.
    """

    answer_changed = Signal()
    followed = Signal()  # the stroke in the making was looked at: the next look may begin
    progress_changed = Signal()
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(
        self,
        make_segmenter: MakeSegmenter,
        present: Callable[[], Content | None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_segmenter = make_segmenter
        self._present = present
        self._segmenter: Callable[[], Segmenter] | None = None
        self._answered: Answered | None = None
        self.preview: Preview | None = None  # what is shown, when that is not final
        self.encoded: EncoderFeatures | None = None  # what a network sees in the picture
        self._jobs = Jobs("learning", self)
        self.progress = Progress()
        self.live = True
        self.is_following = False  # whether a look at the stroke in the making is under way
        self.is_reading = False  # whether a network is about to see the picture

    @property
    def answer(self) -> Answer | None:
        """The answer for the strokes and settings as they are, None until it is there."""
        content, answered = self._present(), self._answered
        if content is None or answered is None or answered.inputs != content.training_inputs:
            return None
        return answered.answer

    @property
    def is_current(self) -> bool:
        """Whether the answer for the strokes and settings as they are is there."""
        return self.answer is not None

    @property
    def shown(self) -> Labelling | None:
        """What there is to look at: the newest preview, else the last answer."""
        if self.preview is not None:
            return self.preview.labelling
        return self._answered.answer.labelling if self._answered is not None else None

    @property
    def insight(self) -> Insight | None:
        """What was learnt for the last answer."""
        return self._answered.answer.insight if self._answered is not None else None

    def begin(self, picture: Picture, carried: AnswerSnapshot | None = None) -> None:
        """Forget the answers for one picture, to make those for another."""
        self._cancel()
        self.encoded = None
        rgb, channels = picture.rgb, picture.channels

        @cache
        def segmenter() -> Segmenter:
            made = self._make_segmenter(rgb, channels)
            if carried is not None:
                made.recall(carried)
            return made

        self._segmenter = segmenter
        self._set(None)

    def suspend(self) -> None:
        """Learn nothing until `begin`: the pixels are about to change."""
        self._cancel()
        self._segmenter = None

    def set_live(self, live: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Learn after every stroke, or only when asked."""
        self.live = live
        self.catch_up()

    def catch_up(self) -> None:
        """Bring the answer to the strokes, or say that it is behind."""
        content = self._present()
        if content is None:
            self._report(Progress())
        elif self.is_current:
            self._cancel()
            self._drop_preview()
            self._report(Progress(Stage.CURRENT, self.tr("Up to date")))
        elif self.live or not _is_answerable(content.document):
            self.update_now()
        else:
            self._cancel()
            self._report(_behind(self))

    def update_now(self) -> None:
        """Learn from the strokes as they are, live or not."""
        content, segmenter = self._present(), self._segmenter
        if content is None or segmenter is None:
            return
        self._cancel()
        self._report(Progress(Stage.RUNNING, self.tr("Starting"), 0.0, time.monotonic()))
        encoded = self.encoded
        self._jobs.run(
            lambda: learning(segmenter(), content, encoded), self._take, self._take_failure
        )

    def follow(self, content: Content) -> None:
        """Look at a stroke in the making: nothing is learnt from it before it is finished."""
        segmenter = self._segmenter
        failed = self.progress.stage is Stage.FAILED  # what the finished stroke will tell again
        if segmenter is None or failed or not _is_answerable(content.document):
            return
        self._cancel()
        self.is_following = True
        if self.progress.stage is not Stage.FOLLOWING:
            self._report(Progress(Stage.FOLLOWING, self.tr("Following the brush: not final")))
        encoded = self.encoded
        self._jobs.run(
            lambda: looking(segmenter(), content, encoded), self._take, self._take_failure
        )

    def stop(self) -> None:
        """Stop learning; what is shown stays, and is called what it is."""
        if not self._jobs.busy and self.progress.stage is not Stage.RUNNING:
            return
        self._cancel()
        if self.is_current:  # it was asked for once more
            self.catch_up()
        else:
            self._report(_behind(self))

    def set_reading(self, *, reading: bool) -> None:
        """Know whether what is shown without the encoder waits for it."""
        self.is_reading = reading
        if self.progress.stage is Stage.RUNNING and not self._jobs.busy:
            self._report(_unseen(self))

    def close(self, timeout: float | None = None) -> bool:
        """Stop learning and wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)

    def _cancel(self) -> None:
        self.is_following = False
        self._jobs.cancel()

    def _take(self, item: Item) -> None:
        if isinstance(item, Look):
            self.is_following = False
            if item.preview is not None:
                self.preview = item.preview
                self.answer_changed.emit()
            self.followed.emit()
        elif isinstance(item, Unseen):
            self.preview = item.preview
            self.answer_changed.emit()
            self._report(_unseen(self))
        elif isinstance(item, NotEnoughStrokes):
            self._set(None)
            self._report(Progress(Stage.WAITING, translate(item)))
        elif isinstance(item, Answered):
            self._set(item)
            seconds = time.monotonic() - self.progress.started
            text = self.tr("Up to date, {} s").format(number(seconds, 2))
            start = item.inputs.initial
            if start is not None and not item.inputs.strokes:
                text = self.tr("Answer of {}: strokes correct it").format(sanitize(start.name))
            self._report(replace(self.progress, stage=Stage.CURRENT, text=text, seconds=seconds))
        else:
            if self.is_following:  # its steps are of no interest
                return
            if item.preview is not None:
                self.preview = item.preview
                self.answer_changed.emit()
            self._report(replace(self.progress, text=translate(item.step), fraction=item.fraction))

    def _take_failure(self, error: Exception) -> None:
        self.is_following = False
        if self.is_current:
            self._drop_preview()
        text = self.tr("Learning failed: {}").format(translate(error) or type(error).__name__)
        self._report(Progress(Stage.FAILED, text))
        self.failed.emit(text, details_of(error))

    def _set(self, answered: Answered | None) -> None:
        """Take an answer, or None withdraws the last one; either ends the preview."""
        self._answered, self.preview = answered, None
        self.answer_changed.emit()

    def _drop_preview(self) -> None:
        if self.preview is not None:
            self._set(self._answered)

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        self.progress_changed.emit()


def _is_answerable(document: Document) -> bool:
    marked = {mark.label for mark in document.strokes if mark.label is not None}
    return document.is_answerable(marked) or bool(marked and document.initial is not None)


def _unseen(answers: Answers) -> Progress:
    """Say that what is shown waits for the encoder, or does so in vain."""
    if answers.is_reading:
        text = answers.tr("Not final: reading the picture")
        return replace(answers.progress, text=text, fraction=1.0)
    text = answers.tr("Not final: the encoder has not seen the picture")
    return Progress(Stage.UNFINISHED, text)


def _behind(answers: Answers) -> Progress:
    """Say what is shown instead of the answer to the strokes as they are."""
    if answers.preview is not None:
        text = answers.tr("Unfinished, for a look only: choose “Update now”")
        return Progress(Stage.UNFINISHED, text)
    if answers.shown is not None:
        text = answers.tr("The answer is older than the strokes: choose “Update now”")
        return Progress(Stage.OUTDATED, text)
    return Progress(Stage.WAITING, answers.tr("No answer yet: choose “Update now”"))


# Milliseconds in which the window paints a look before the next one wants the interpreter, too:
# each of its calls into Qt would wait for its turn.
_BREATH = 30
# Of the radius: discs so near to each other look like their neighbours' path.
_STEP = 0.4


class BrushFollower(QObject):
    """Asks for the next look when the last one is there; the newest state of the stroke wins.

    What grows in the meantime is asked for once, when its turn comes: a brush is never slowed by
    looks that nobody would see.

    Parameters
    ----------
    stroke
        Returns the stroke in the making as it is now, None when nothing is being drawn.
    """

    def __init__(
        self, session: Session, stroke: Callable[[], Mark | None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._stroke = session, stroke
        self._seen: Mark | None = None
        self._breath = QTimer(self, singleShot=True, interval=_BREATH)
        self._breath.timeout.connect(self.look)
        session.answers.followed.connect(self._breath.start)
        session.document_changed.connect(self._begin_anew)

    def look(self) -> None:
        """Look at the stroke in the making, unless that is being done or was done already."""
        answers = self._session.answers
        busy = answers.is_following or self._breath.isActive()
        if not answers.live or busy or self._session.state is None:
            return
        mark = self._stroke()
        if mark is None or mark == self._seen:
            return
        self._seen = mark
        document = self._session.document.with_stroke(thinned(mark))
        answers.follow(Content(document, self._session.settings))

    def forget(self) -> None:
        """Take back what a stroke would have changed that was dropped."""
        self._begin_anew()
        if self._session.answers.progress.stage is Stage.FOLLOWING:
            self._session.answers.catch_up()

    def end(self) -> None:
        """Look no more: the window closes, perhaps in the middle of a stroke."""
        self._breath.stop()

    def _begin_anew(self) -> None:
        self._seen = None
        self._breath.stop()


def thinned(mark: Mark) -> Mark:
    """Leave out points that hardly widen what the brush covers: a look need not be exact."""
    if isinstance(mark, Patch):
        return mark
    kept = [0]
    x, y = mark.points[0]
    for index, (to_x, to_y) in enumerate(mark.points):
        if math.hypot(to_x - x, to_y - y) >= mark.radius * _STEP:
            kept.append(index)
            x, y = to_x, to_y
    if kept[-1] != len(mark.points) - 1:
        kept.append(len(mark.points) - 1)
    points = tuple(mark.points[index] for index in kept)
    pressures = tuple(mark.pressures[index] for index in kept) if mark.pressures else ()
    return replace(mark, points=points, pressures=pressures)
