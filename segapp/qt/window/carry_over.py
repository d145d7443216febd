"""What was learnt on one picture answers the next: at once, or all that are not done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.folder_progress import Status
from segapp.qt.files.folder_jobs import Source, Step, applied, apply_to_all, with_start
from segapp.qt.language import worded
from segapp.qt.session.jobs import Jobs
from segapp.values.wording import sentence, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.learning.learnt_model import LearntModel
    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.panels.folder_task import FolderTask
    from segapp.qt.session.session import Session
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class _Carried:
    """What the model of one picture says about another."""

    source: Source
    model: LearntModel
    picture: Picture
    labelling: Labelling


class CarryOver(QObject):
    """Carries what was learnt from picture to picture of a folder."""

    said = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, files: Files, task: FolderTask, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._files, self._task = session, files, task
        self.on = False
        self._source: Source | None = None
        self._model: tuple[Source, LearntModel] | None = None
        self._carrying = Jobs("carrying over", self)
        self._carrying.arrived.connect(self._take)
        self._carrying.failed.connect(self._fail)
        self._applying = Jobs("applying to all", self)
        self._applying.arrived.connect(self._note)
        self._applying.failed.connect(self._fail)
        self._applying.ended.connect(task.hide)
        self._n_answered = 0
        task.stop_wanted.connect(self._stop)
        session.answers.answer_changed.connect(self._remember)
        files.opened.connect(self._carry)
        files.folder_changed.connect(self._carrying.cancel)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        actions["carry_over"].toggled.connect(self.set_on)
        actions["apply_to_undone"].triggered.connect(self.apply_to_undone)

    def set_on(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Carry over from now on, this picture included, or no more."""
        self.on = on
        self._carry()

    def _remember(self) -> None:
        """Learn from the picture that was marked and answered last."""
        picture, state = self._session.picture, self._session.state
        if picture is None or state is None or not self._session.answers.is_current:
            return
        if state.content.document.strokes:
            self._source = Source(picture, state.content)

    # The next picture -------------------------------------------------------------------------

    def _carry(self) -> None:
        source, picture, state = self._source, self._session.picture, self._session.state
        if not self.on or source is None or picture is None or state is None:
            return
        if source.picture is picture or self._files.work.row(state.path) is None:
            return
        document = state.content.document
        if state.saved is not None or document != document.cleared():
            return
        known = self._model

        def work() -> Iterator[_Carried | None]:
            model = known[1] if known is not None and known[0] is source else source.learnt()
            for labelling in applied(model, picture):
                yield None if labelling is None else _Carried(source, model, picture, labelling)

        self._carrying.start(work)
        self.said.emit(self.tr("Carrying over from {} …").format(shown(source.name)))

    def _take(self, ticket: int, carried: _Carried | None) -> None:
        del ticket
        if carried is None:
            return
        self._model = carried.source, carried.model
        document = self._session.document
        if self._session.picture is not carried.picture or document != document.cleared():
            return  # somebody was quicker
        name = carried.source.name
        begun = with_start(document, carried.model, carried.labelling, name)
        self._session.edit(self.tr("carrying over from {}").format(shown(name)), begun)
        self.said.emit(self.tr("Answered as {} was: strokes correct it").format(shown(name)))

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        self.said.emit(self.tr("Nothing is carried over: {}").format(worded(sentence(error))))

    # All that are not done --------------------------------------------------------------------

    def apply_to_undone(self) -> None:
        """Answer all pictures that are not done and have no strokes."""
        work = self._files.work
        self._remember()
        if self._source is None:
            self.said.emit(self.tr("Mark two classes on a picture of the folder first"))
            return
        ended = (Status.DONE, Status.FAILED)
        open_now = self._source.picture.path.absolute()
        paths = [p for p in work.paths if work.status(p) not in ended and p != open_now]
        begun = self._files.start.document()
        source, self._n_answered = self._source, 0
        self._applying.start(
            lambda: apply_to_all(source, paths, work.project_folder, begun, self._is_busy)
        )
        self._task.show_progress(self.tr("Learning from {}").format(shown(source.name)), 0, 1)

    def _is_busy(self, path: Path) -> bool:
        """Tell whether the window holds a picture's strokes; asked from the thread."""
        open_now, state = self._session.state, self._session.state_of(path)
        if open_now is not None and open_now.path == path:
            return True
        return state is not None and (state.unsaved or bool(state.history.past))

    def _note(self, ticket: int, step: Step | None) -> None:
        del ticket
        if step is None:
            return
        if step.changed:
            self._n_answered += 1
            self._files.work.note_work(step.path, marked=True, answered=True)
        elif step.reason:
            self._files.work.note_failure(step.path, worded(step.reason))
        told = self.tr("Answering {} of {}").format(step.place, step.total)
        self._task.show_progress(told, step.place, step.total)
        if step.place == step.total:
            self.said.emit(self.tr("{} images answered").format(self._n_answered))

    def _stop(self) -> None:
        if self._applying.busy:
            self._applying.cancel()
            self.said.emit(self.tr("Stopped; {} images are answered").format(self._n_answered))

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the threads; say whether they have ended."""
        ended = [jobs.close(timeout) for jobs in (self._carrying, self._applying)]
        return all(ended)
