"""Strokes that outlive a crash: saved on their own, and offered again."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from typing import TYPE_CHECKING

from platformdirs import user_state_path
from PySide6.QtCore import QLockFile, QObject, QTimer, Signal

from segapp.files.project_file import (
    PROJECT_SUFFIX,
    Project,
    ProjectError,
    load_project,
    save_project,
)
from segapp.qt.session.jobs import Jobs
from segapp.qt.session.picture_state import Content, PictureState
from segapp.values.document import Document
from segapp.values.history import History

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.qt.session.session import Session

# Milliseconds from an edit to its copy on disk: strokes in quick succession make one copy.
_DELAY = 1500
_LOCK = "lock"


def autosave_root() -> Path:
    """Return the folder in which each running program has a folder of its own."""
    # The name on disk is older than the class's; copies of earlier versions must be found.
    return user_state_path("segapp", appauthor=False) / "recovery"


class Autosave(QObject):
    """Copies unsaved strokes into a folder that only a clean end removes.

    Each program holds a lock in its folder; a folder whose lock nobody holds belongs to a
    program that crashed.
    """

    failed = Signal(str)

    def __init__(
        self, session: Session, root: Path | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._root = root or autosave_root()
        self._folder = self._root / uuid.uuid4().hex
        self._lock: QLockFile | None = None
        self._waiting: set[Path] = set()
        self._complained = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY)
        self._timer.timeout.connect(self._write)
        self._jobs = Jobs("autosave", self)
        self._jobs.arrived.connect(self._note)
        self._jobs.failed.connect(self._fail)
        session.document_changed.connect(self._watch)
        session.settings_changed.connect(self._watch)

    def _watch(self) -> None:
        state = self._session.state
        if state is not None:
            self._waiting.add(state.path)
            self._timer.start()

    def _file(self, path: Path) -> Path:
        name = hashlib.sha256(str(path).encode()).hexdigest()[:24]
        return self._folder / f"{name}{PROJECT_SUFFIX}"

    def _write(self) -> None:
        if self._jobs.busy:  # never drop a copy that is being written
            self._timer.start()
            return
        states = [self._session.state_of(path) for path in self._waiting]
        work = [(state, self._file(state.path)) for state in states if state is not None]
        if work and self._hold_folder():
            self._jobs.start(lambda: _copies(work))

    def write_now(self) -> None:
        """Copy everything that is unsaved, before going on."""
        states = self._session.unsaved_states()
        if states and self._hold_folder():
            for _ in _copies([(state, self._file(state.path)) for state in states]):
                pass

    def _hold_folder(self) -> bool:
        if self._lock is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                self._fail(0, error)
                return False
            self._lock = QLockFile(str(self._folder / _LOCK))
            self._lock.setStaleLockTime(0)
            self._lock.lock()
        return True

    def _note(self, ticket: int, copied: tuple[Path, Content]) -> None:
        del ticket
        path, content = copied
        state = self._session.state_of(path)
        if state is None or state.content == content:
            self._waiting.discard(path)

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        if not self._complained:  # once: drawing goes on, and saving says it itself
            self._complained = True
            self.failed.emit(
                self.tr("Strokes cannot be kept for recovery in {}: {}.").format(
                    self._folder, error
                )
            )

    def orphans(self) -> list[Orphan]:
        """Return what programs left behind that ended without saving."""
        found = []
        folders = sorted(self._root.iterdir()) if self._root.is_dir() else []
        for folder in folders:
            if folder == self._folder or not folder.is_dir():
                continue
            lock = QLockFile(str(folder / _LOCK))
            lock.setStaleLockTime(0)
            if lock.tryLock(0):
                lock.unlock()
                orphan = Orphan(folder)
                if orphan.states:
                    found.append(orphan)
                else:
                    shutil.rmtree(folder, ignore_errors=True)
        return found

    def close(self, *, keep: bool = False) -> bool:
        """Stop copying; the copies go, as everything is saved or was given up."""
        self._timer.stop()
        ended = self._jobs.close()
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None
        if not keep:
            shutil.rmtree(self._folder, ignore_errors=True)
        return ended


class Orphan:
    """The folder of a program that crashed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[PictureState] = []
        for file in sorted(folder.glob(f"*{PROJECT_SUFFIX}"), key=lambda f: f.stat().st_mtime):
            try:
                project = load_project(file)
            except ProjectError:
                continue  # cut off in the middle of nothing that could be read
            self.states.append(_state(project))

    def discard(self) -> None:
        """Remove it for good."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _state(project: Project) -> PictureState:
    return PictureState(
        project.image_path.absolute(),
        project.image_sha256,
        History(project.document),
        project.settings,
        saved=Content(Document(), project.settings),
    )


def _copies(work: list[tuple[PictureState, Path]]) -> Iterator[tuple[Path, Content]]:
    for state, file in work:
        content = state.content
        if state.unsaved:
            project = Project(content.document, content.settings, state.path, state.sha256)
            save_project(file, project)
        else:
            file.unlink(missing_ok=True)
        yield state.path, content
