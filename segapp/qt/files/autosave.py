"""Automatic saving: timers and jobs of the project store."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.project_store import SaveQueue, SaveTask
from segapp.model.validation import sanitize
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segapp.app.project_store import ProjectStore, SaveResult
    from segapp.app.recovery import RecoveryCopy
    from segapp.app.state import PictureState
    from segapp.model.answer import Answer
    from segapp.qt.session.session import Session


# Milliseconds from the first edit after a write to the next one: strokes in quick succession
# make one write, and what remains of the promised two seconds is for the disk.
_DELAY = 800
# Seconds that closing waits for a write that is under way.
_MOMENT = 0.9


def current_answer(session: Session, state: PictureState) -> Answer | None:
    """Return the answer that a project may carry: the open image's, once it is there."""
    if session.state is None or session.state.path != state.path:
        return None
    return session.answers.answer


class Autosave(QObject):
    """The timers and the thread that write unsaved work to projects or copies.

    Each image is a job of its own, so that an error in one stops no other. A job is never
    cancelled for a newer edit: the image waits, and is written again right after.
    """

    failed = Signal(str, str)  # a sentence and its details, once until copying works again
    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, store: ProjectStore, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._store = session, store
        self._queue = SaveQueue()
        self._hindered: set[Path] = set()  # images whose projects could not be written
        self._closed = False
        self._timer = self._single_shot(self._write_next)
        self._retry_timer = self._single_shot(self._retry)
        self._jobs = Jobs("autosave", self)
        session.document_changed.connect(self._watch)
        session.settings_changed.connect(self._watch)

    def _single_shot(self, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    @property
    def busy(self) -> bool:
        """Whether something is being written, or waits for that."""
        return self._jobs.busy or bool(self._queue)

    def _watch(self) -> None:
        state = self._session.state
        if state is not None:
            self._queue.add(state.path)
            if not state.unsaved:  # a copy beside newer strokes in a project only misleads
                self._timer.start(0)
            elif not self._timer.isActive():  # never put off by a newer edit
                self._timer.start(_DELAY)

    def write_soon(self) -> None:
        """Write everything that is unsaved, without waiting for more."""
        for state in self._session.unsaved_states():
            self._queue.add(state.path)
        self._write_next()

    def copy_replaced(self, state: PictureState) -> None:
        """Copy unsaved work that an opened project has replaced, in case of a crash."""
        self._queue.add(state)
        self._write_next()

    def restore(self, copy: RecoveryCopy) -> None:
        """Take a recovery copy into the session; it goes once its work is safe elsewhere."""
        self._session.remember(copy.state)
        self._store.restore(copy)
        self._queue.add(copy.state.path)
        self._write_next()

    def _task(self, state: PictureState) -> SaveTask:
        folder = self._store.policy.writing_folder(state.path)
        return SaveTask(state, folder, current_answer(self._session, state))

    def _write_next(self) -> None:
        while not self._jobs.busy and not self._closed:
            item = self._queue.take()
            if item is None:
                return
            if isinstance(item, Path):
                state = self._session.state_of(item)
                task = None if state is None else self._task(state)
            else:
                task = SaveTask(item, replaced=True)
            if task is not None:
                work = partial(_run, self._store, task)
                self._jobs.run(work, self._note, self._fail, self._write_next)

    def write_all(self) -> None:
        """Save all work whose folder is known, before closing or the export of a folder.

        Work that cannot be saved in a moment stays unsaved, and closing asks about it.
        """
        tasks = [self._task(state) for state in self._session.unsaved_states()]
        tasks = [task for task in tasks if task.folder is not None]
        if tasks and self._jobs.close(_MOMENT):
            for task in tasks:
                self._note_saving(self._store.save_in_folder(task))

    def _note_saving(self, result: SaveResult) -> None:
        state = result.task.state
        if result.location is not None:
            self._hindered.discard(state.path)
            self._session.mark_saved(state.path, state.content, result.location)
        elif result.error is not None and state.path not in self._hindered:
            self._hindered.add(state.path)  # said once; recovery copies are written meanwhile
            text = self.tr(
                "The project of {} is not written ({}); its strokes are kept for recovery"
            )
            self.message.emit(text.format(sanitize(state.path.name), _reason(result.error)))

    def _note(self, result: SaveResult) -> None:
        self._note_saving(result)
        self._store.settle(result)
        if self._queue.succeed():
            self._retry_timer.stop()
            self.message.emit(self.tr("Strokes are kept for recovery again"))

    def _fail(self, error: Exception) -> None:
        is_first = self._queue.fail()
        if not self._retry_timer.isActive():
            seconds = self._queue.begin_delay()
            self._retry_timer.start(round(seconds * 1000))
            text = self.tr("Strokes are not on disk yet ({}); next try in {} s")
            self.message.emit(text.format(_reason(error), seconds))
        if is_first:  # said once: drawing goes on, and saving says it itself
            text = self.tr("Strokes cannot be kept for recovery in {}: {}.")
            self.failed.emit(text.format(self._store.root, _reason(error)), details_of(error))

    def _retry(self) -> None:
        self._queue.retry()
        self._write_next()

    def close(self, timeout: float | None = None) -> bool:
        """Stop writing and remove the copies: all is saved or was discarded by the user."""
        self._closed = True
        self._timer.stop()
        self._retry_timer.stop()
        if not self._jobs.close(timeout):
            return False  # it still writes: its copy is offered at the next start
        self._store.close()
        return True


def _run(store: ProjectStore, task: SaveTask) -> Iterator[SaveResult]:
    yield store.run(task)


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(reason).rstrip(".")
