"""Automatic saving: timers and jobs of the project store."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from segapp.app.project_files import ChangedByOthersError
from segapp.app.project_store import SaveQueue, SaveResult, SaveTask
from segapp.model.validation import sanitize
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segapp.app.project_store import ProjectStore
    from segapp.app.recovery import RecoveryCopy
    from segapp.app.state import PictureState, TrainingInputs
    from segapp.io.project import ProjectLocation
    from segapp.model.answer import Answer
    from segapp.qt.session.session import Session


Result = TypeVar("Result")

# Milliseconds from the first edit after a write to the next one: strokes in quick succession
# make one write, and what remains of the promised two seconds is for the disk.
_DELAY = 800
# Milliseconds from an answer to its write, where its strokes are saved already: it can be made
# again, and is mostly written with the next stroke.
_ANSWER_DELAY = 3000


def current_answer(session: Session, state: PictureState) -> Answer | None:
    """Return the answer that a project may carry: the open image's, once it is there."""
    if session.state is None or session.state.path != state.path:
        return None
    return session.answers.answer


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A save that the user has asked for, with its handlers."""

    task: SaveTask
    on_saved: Callable[[ProjectLocation], object]
    on_error: Callable[[Exception], object]


@dataclass(frozen=True, slots=True, eq=False)
class _NewAnswer:
    """The answer to the user's latest work, until a project has it."""

    inputs: TrainingInputs
    answer: Answer


class Autosave(QObject):
    """The one writer of projects and recovery copies, with its timers and its thread.

    Each image is a job of its own, so that an error in one stops no other. A job is never
    cancelled for a newer edit: the image waits, and is written again right after. What the user
    saves himself comes first.
    """

    failed = Signal(str, str)  # a sentence and its details, once until copying works again
    message = Signal(str)  # a sentence for the status bar
    conflicts_changed = Signal()
    idle = Signal()  # nothing is written any more, and nothing waits but failed copies

    def __init__(
        self, session: Session, store: ProjectStore, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._store = session, store
        self._queue = SaveQueue()
        self._requests: deque[_Request] = deque()
        self._targets: dict[Path, Path] = {}  # by image, of these requests
        self._new_answers: dict[Path, _NewAnswer] = {}
        self._hindered: dict[Path, Exception] = {}  # images whose projects could not be written
        self._closed = False
        self._timer = self._single_shot(self._write_next)
        self._retry_timer = self._single_shot(self._retry)
        self._answer_timer = self._single_shot(self._write_answers)
        self._jobs = Jobs("autosave", self)
        session.document_changed.connect(self._watch)
        session.settings_changed.connect(self._watch)
        session.answers.answer_changed.connect(self._watch_answer)

    def _single_shot(self, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    @property
    def busy(self) -> bool:
        """Whether something is being written, or waits for that."""
        return self._jobs.busy or bool(self._queue) or bool(self._requests)

    def hindrance(self, path: Path) -> Exception | None:
        """Return why an image's project could not be written, if it could not."""
        return self._hindered.get(path)

    def _watch(self) -> None:
        state = self._session.state
        if state is not None:
            self._queue.add(state.path)
            if not state.unsaved and self._hindered.pop(state.path, None) is not None:
                self.conflicts_changed.emit()  # the other work was opened
            if not state.unsaved:  # a copy beside newer strokes in a project only misleads
                self._timer.start(0)
            elif not self._timer.isActive():  # never put off by a newer edit
                self._timer.start(_DELAY)

    def _watch_answer(self) -> None:
        """Let an answer be written, which often comes after its strokes were."""
        state = self._session.state
        answer = None if state is None else current_answer(self._session, state)
        if state is None or answer is None or not answer.labelling.has_scores:  # it was stored
            return
        if state.history.past is None:
            return  # opening a picture writes nothing
        self._new_answers[state.path] = _NewAnswer(state.content.training_inputs, answer)
        self._answer_timer.start(_ANSWER_DELAY)

    def _write_answers(self) -> None:
        for path in self._new_answers:
            self._queue.add(path)
        self._write_next()

    def write_soon(self) -> None:
        """Write everything that is unsaved, without waiting for more."""
        for state in self._session.unsaved_states():
            self._queue.add(state.path)
        self._write_answers()

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

    def save(
        self,
        task: SaveTask,
        on_saved: Callable[[ProjectLocation], object],
        on_error: Callable[[Exception], object],
    ) -> None:
        """Save as the user has asked for, before anything else."""
        if task.path is not None and not task.replaced:
            self._targets[task.state.path] = task.path
        self._requests.append(_Request(task, on_saved, on_error))
        self._write_next()

    def target(self, path: Path) -> Path | None:
        """Return the file that the user has chosen for an image and that is being written."""
        return self._targets.get(path)

    def task(self, state: PictureState) -> SaveTask:
        """Return the task of saving work in its project without asking."""
        folder = self._store.policy.writing_folder(state.path)
        new = self._new_answers.get(state.path)
        if new is not None and new.inputs == state.content.training_inputs:
            return SaveTask(state, folder, new.answer, answer_is_new=True)
        return SaveTask(state, folder, current_answer(self._session, state))

    def _write_next(self) -> None:
        while not self._jobs.busy and not self._closed:
            if self._requests:
                self._run_request(self._requests.popleft())
                return
            item = self._queue.take()
            if item is None:
                self.idle.emit()
                return
            if isinstance(item, Path):
                state = self._session.state_of(item)
                task = None if state is None else self.task(state)
            else:
                task = SaveTask(item, replaced=True)
            if task is not None:
                work = partial(_once, partial(self._store.run, task))
                self._jobs.run(work, self._note, self._fail, self._write_next)

    def _run_request(self, request: _Request) -> None:
        state = request.task.state

        def note(location: ProjectLocation) -> None:
            self._targets.pop(state.path, None)
            if not request.task.replaced:
                self._note_saving(SaveResult(request.task, location))
                self._store.settle(SaveResult(request.task, location))
            request.on_saved(location)

        def fail(error: Exception) -> None:
            self._targets.pop(state.path, None)
            if isinstance(error, ChangedByOthersError) and not request.task.replaced:
                self._hinder(state.path, error)
            request.on_error(error)

        work = partial(_once, partial(self._store.save, request.task))
        self._jobs.run(work, note, fail, self._write_next)

    def wait(self, timeout: float) -> bool:
        """Wait for all that is to be written; return whether it is done."""
        self._timer.stop()
        self._write_next()
        return self._jobs.wait(timeout)

    def flush(self, then: Callable[[], object]) -> None:
        """Write all unsaved work, and ``then`` go on."""
        self.write_soon()
        if self.busy:
            self.idle.connect(then, Qt.ConnectionType.SingleShotConnection)
        else:
            then()

    def _hinder(self, path: Path, error: Exception) -> None:
        self._hindered[path] = error
        self.conflicts_changed.emit()

    def _note_saving(self, result: SaveResult) -> None:
        state = result.task.state
        new = self._new_answers.get(state.path)
        if new is not None and result.task.answer is new.answer:
            del self._new_answers[state.path]
        if result.location is not None:
            if self._hindered.pop(state.path, None) is not None:
                self.conflicts_changed.emit()
            self._session.mark_saved(state.path, state.content, result.location)
        elif result.error is not None and state.path not in self._hindered:
            # Said once; recovery copies are written meanwhile.
            self._hinder(state.path, result.error)
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
        self._answer_timer.stop()
        if not self._jobs.close(timeout):
            return False  # it still writes: its copy is offered at the next start
        self._store.close()
        return True


def _once(call: Callable[[], Result]) -> Iterator[Result]:
    yield call()


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(reason).rstrip(".")
