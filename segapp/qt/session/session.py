"""The one mutable object: open pictures, the present answer, and the jobs that make it."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.learning.training import NotEnoughStrokes, Trainer
from segapp.qt.session.jobs import Jobs
from segapp.qt.session.picture_state import Content, PictureState
from segapp.qt.session.progress import Progress, Stage
from segapp.values.document import Document, Stroke
from segapp.values.updates import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.qt.canvas.layers import Layer
    from segapp.values.document import Mark
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture
    from segapp.values.settings import Settings
    from segapp.values.updates import Insight, Segmenter, Update


class Session(QObject):
    """Wires picture, strokes, settings and answers; everything else listens to its signals."""

    picture_changed = Signal()
    document_changed = Signal()
    settings_changed = Signal()
    answer_changed = Signal()
    progress_changed = Signal()
    failed = Signal(str)

    def __init__(
        self,
        learner: Callable[[NDArray[np.uint8]], Segmenter] = Trainer,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_learner = learner
        self._learner: Callable[[], Segmenter] | None = None  # called by the worker alone
        self._jobs = Jobs("learning", self)
        self._jobs.arrived.connect(self._take_update)
        self._jobs.failed.connect(self._take_failure)
        self._states: dict[Path, PictureState] = {}
        self._state: PictureState | None = None
        self._answered: Content | None = None  # what the final answer was made from
        self._asked = Content()  # what the running job works on
        self.picture: Picture | None = None
        self.layer: Layer | None = None
        self.labelling: Labelling | None = None
        self.insight: Insight | None = None
        self.progress = Progress()
        self.live = True

    # Pictures ---------------------------------------------------------------------------

    @property
    def state(self) -> PictureState | None:
        """The open picture's strokes and settings."""
        return self._state

    @property
    def document(self) -> Document:
        """The strokes as they are now."""
        return self._state.history.present if self._state else Document()

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self._state.settings if self._state else Content().settings

    def state_of(self, path: Path) -> PictureState | None:
        """Return what is known of a picture that was open before."""
        return self._states.get(path)

    def unsaved_states(self) -> list[PictureState]:
        """Return every picture whose strokes are not in a project file."""
        return [state for state in self._states.values() if state.unsaved]

    def open(self, picture: Picture, layer: Layer, state: PictureState) -> None:
        """Show a picture with its strokes; the one that was open is remembered."""
        self._jobs.cancel()
        self.picture, self.layer = picture, layer
        self._learner = cache(lambda: self._make_learner(picture.rgb))
        self.labelling, self.insight, self._answered = None, None, None
        self._set_state(state)
        self.picture_changed.emit()
        self.document_changed.emit()
        self.settings_changed.emit()
        self.answer_changed.emit()
        self._follow()

    def remember(self, state: PictureState) -> None:
        """Know the strokes of a picture that is not open."""
        self._states[state.path] = state

    def _set_state(self, state: PictureState) -> None:
        self._state = state
        self.remember(state)

    def mark_saved(self, path: Path, content: Content, project: Path) -> None:
        """Note that the strokes of a picture are in a project file."""
        state = self._states[path].written(content, project)
        self._states[path] = state
        if self._state is not None and self._state.path == path:
            self._state = state
        self.document_changed.emit()

    # Edits ------------------------------------------------------------------------------

    def edit(self, name: str, document: Document) -> None:
        """Make ``document`` the present one; ``name`` is what undo will offer to take back."""
        if self._state is not None:
            self._move_to(self._state.edited(name, document))

    def add_stroke(self, stroke: Mark) -> None:
        """Add a finished stroke."""
        if stroke.label is None:
            name = self.tr("erasing")
        elif isinstance(stroke, Stroke):
            name = self.tr("stroke of {}").format(self.document.classes[stroke.label].name)
        else:
            name = self.tr("pixels of {}").format(self.document.classes[stroke.label].name)
        self.edit(name, self.document.with_stroke(stroke))

    def clear(self) -> None:
        """Drop all strokes."""
        self.edit(self.tr("clearing"), self.document.cleared())

    def undo(self) -> None:
        """Take the last edit back."""
        if self._state is not None:
            self._move_to(replace(self._state, history=self._state.history.undone()))

    def redo(self) -> None:
        """Make the edit that was taken back once more."""
        if self._state is not None:
            self._move_to(replace(self._state, history=self._state.history.redone()))

    def set_settings(self, settings: Settings) -> None:
        """Learn with other settings from now on."""
        if self._state is not None and settings != self._state.settings:
            self._move_to(replace(self._state, settings=settings))

    def _move_to(self, state: PictureState) -> None:
        before = self._state
        if before is None or state == before:
            return
        self._set_state(state)
        if state.history is not before.history:
            self.document_changed.emit()
        if state.settings != before.settings:
            self.settings_changed.emit()
        if _teaches_differently(before.content, state.content):
            self._follow()
        elif self._answered == before.content:
            self._answered = state.content
            self.answer_changed.emit()

    # Answers ----------------------------------------------------------------------------

    @property
    def answer_is_current(self) -> bool:
        """Whether the answer is the final one for the strokes and settings as they are."""
        return self._state is not None and self._answered == self._state.content

    def set_live(self, live: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Learn after every stroke, or only when asked."""
        self.live = live
        self._follow()

    def _follow(self) -> None:
        """Bring the answer to the strokes, or say that it is behind."""
        if self._state is None:
            self._report(Progress())
        elif self.answer_is_current:
            self._jobs.cancel()
            self._report(Progress(Stage.CURRENT, self.tr("Up to date")))
        elif self.live or not _has_two_classes(self.document):
            self.update_now()
        else:
            self._jobs.cancel()
            self._report_behind()

    def update_now(self) -> None:
        """Learn from the strokes as they are, live or not."""
        if self._state is None or self._learner is None:
            return
        learner, content = self._learner, self._state.content
        self._asked = content
        self._report(Progress(Stage.RUNNING, self.tr("Starting"), 0.0, time.monotonic()))
        self._jobs.start(lambda: _answers(learner(), content))

    def stop(self) -> None:
        """Stop learning; what has been shown stays."""
        if self._jobs.busy:
            self._jobs.cancel()
            self._report_behind()

    def _report_behind(self) -> None:
        if self.labelling is None:
            text = self.tr("No answer yet: choose “Update now”")
            self._report(Progress(Stage.WAITING, text))
        else:
            text = self.tr("The answer is older than the strokes: choose “Update now”")
            self._report(Progress(Stage.OUTDATED, text))

    def _take_update(self, ticket: int, update: Update | NotEnoughStrokes) -> None:
        del ticket  # `Jobs` passes on the newest job's items only
        if isinstance(update, NotEnoughStrokes):
            self.labelling, self.insight, self._answered = None, None, None
            self._report(Progress(Stage.WAITING, str(update)))
            self.answer_changed.emit()
            return
        if isinstance(update, Answer):
            self.labelling, self.insight = update.labelling, update.insight
            self._answered = self._asked
            self.answer_changed.emit()
            seconds = time.monotonic() - self.progress.started
            text = self.tr("Up to date, {:.2f} s").format(seconds)
            self._report(replace(self.progress, stage=Stage.CURRENT, text=text, seconds=seconds))
            return
        if update.preview is not None:
            self.labelling = update.preview.labelling
            self.answer_changed.emit()
        self._report(replace(self.progress, text=update.step, fraction=update.fraction))

    def _take_failure(self, ticket: int, error: Exception) -> None:
        del ticket
        text = self.tr("Learning failed: {}").format(str(error) or type(error).__name__)
        self._report(Progress(Stage.FAILED, text))
        self.failed.emit(text)

    def show_applied(self, labelling: Labelling, name: str) -> None:
        """Show what a saved model says about the picture."""
        self._jobs.cancel()
        self.labelling, self.insight = labelling, None
        self._answered = self._state.content if self._state else None
        self.answer_changed.emit()
        self._report(Progress(Stage.CURRENT, self.tr("Answer of the model {}").format(name)))

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        self.progress_changed.emit()

    def close(self, timeout: float | None = None) -> bool:
        """Stop learning and wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _answers(learner: Segmenter, content: Content) -> Iterator[Update | NotEnoughStrokes]:
    """Report answers, or why there is none; then the time until the next stroke is used."""
    try:
        yield from learner.updates(content.document, content.settings)
    except NotEnoughStrokes as reason:
        yield reason
        learner.prepare(content.settings)


def _teaches_differently(before: Content, after: Content) -> bool:
    """Tell whether the learner could see a difference; names and colours are none."""
    return (
        before.settings != after.settings
        or before.document.strokes != after.document.strokes
        or len(before.document.classes) != len(after.document.classes)
    )


def _has_two_classes(document: Document) -> bool:
    return len({mark.label for mark in document.strokes if mark.label is not None}) >= 2
