"""The open folder: its signals, its shared files, and the changes of others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from segapp.app.workspace import FolderWorkspace, UnreadableFileError
from segapp.io.class_list import CLASS_LIST_FILE, write_class_list
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    ProgressError,
    update_progress,
    write_display,
)
from segapp.model.validation import SegappError
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, TaskQueue, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.app.project_store import ProjectLocationPolicy
    from segapp.app.workspace import FolderSnapshot
    from segapp.io.folder_files import FolderProgress, ProgressChanges
    from segapp.model.classes import ClassInfo
    from segapp.model.display import DisplaySettings


# Milliseconds: flags in quick succession are one write, and changes of others one reading.
_WRITE_DELAY, _READ_DELAY = 400, 700
# Milliseconds between two looks at a folder of another machine, whose changes are not reported.
_INTERVAL = 5000


class FolderWatcher(QObject):
    """Reads the progress anew, in a thread, when others have changed the folder."""

    changed = Signal(object, object)  # FolderWorkspace, FolderSnapshot

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace: FolderWorkspace | None = None
        self._stamp: object = None
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._read_soon)
        self._jobs = Jobs("folder changes", self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._read)

    def follow(self, workspace: FolderWorkspace) -> None:
        """Follow the folder of this workspace from now on."""
        self._jobs.cancel()
        self._timer.stop()
        self._workspace, self._stamp = None, None
        if watched := self._watcher.directories():
            self._watcher.removePaths(watched)
        folders = {folder for folder in (workspace.folder, workspace.root) if folder is not None}
        if folders:
            self._workspace = workspace
            self._watcher.addPaths([str(folder) for folder in folders])
            self._timer.start(_INTERVAL)

    def _read_soon(self) -> None:
        if self._workspace is not None and self._timer.remainingTime() > _READ_DELAY:
            self._timer.start(_READ_DELAY)

    def _read(self) -> None:
        workspace, known = self._workspace, self._stamp
        if workspace is None:
            return
        if self._jobs.busy:
            self._timer.start(_READ_DELAY)
            return

        def work() -> Iterator[tuple[object, FolderSnapshot]]:
            stamp = workspace.stamp()
            if stamp != known:
                yield stamp, workspace.snapshot()

        def take(found: tuple[object, FolderSnapshot]) -> None:
            self._stamp, snapshot = found
            self.changed.emit(workspace, snapshot)

        # A file that cannot be read now is read the next time; writing says what is wrong.
        self._jobs.run(work, take, lambda _: None, lambda: self._timer.start(_INTERVAL))

    def close(self, timeout: float | None = None) -> bool:
        """Stop reading; return whether the thread has ended."""
        self._workspace = None
        ended = self._jobs.close(timeout)
        self._timer.stop()
        return ended


class OpenFolder(QObject):
    """The workspace that is open now, with signals of its changes.

    Its files are written by one thread, in the order of the changes.
    """

    begun = Signal()  # another workspace
    status_changed = Signal(object)  # Path
    classes_changed = Signal()
    display_changed = Signal()
    folder_chosen = Signal()
    failed = Signal(str)  # a sentence

    def __init__(self, policy: ProjectLocationPolicy, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = FolderWorkspace([], None, policy)
        self._has_failed = False  # said once until writing works again
        self.writing = TaskQueue("folder files", self)
        self._watcher = FolderWatcher(self)
        self._watcher.changed.connect(self._update)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.write_changes)

    def begin(self, workspace: FolderWorkspace) -> None:
        """Work through other images, those of a folder or some that were opened together."""
        self.write_changes()
        self.workspace, self._has_failed = workspace, False
        self._watcher.follow(workspace)
        self._complain()
        self.begun.emit()
        self.display_changed.emit()

    def choose_folder(self, folder: Path) -> None:
        """Keep the shared files and the projects in another folder."""
        if self.workspace.root is not None:
            self.workspace.choose_folder(folder)
            self._timer.start(_WRITE_DELAY)
            self._watcher.follow(self.workspace)
            self._complain()
            self.folder_chosen.emit()
            self.display_changed.emit()

    def _complain(self) -> None:
        for problem in self.workspace.problems:
            self.failed.emit(translate(problem))

    # Progress

    def note_failure(self, path: Path, reason: str) -> None:
        """Note that an image cannot be read."""
        if self.workspace.note_failure(path, reason):
            self.status_changed.emit(path)

    def note_open(self, path: Path) -> None:
        """Note that an image is open."""
        if self.workspace.note_open(path):
            self.status_changed.emit(path)

    def note_last(self, path: Path) -> None:
        """Note the image that the user has gone to."""
        self.workspace.note_last(path)
        self._timer.start(_WRITE_DELAY)

    def note_work(self, path: Path, *, marked: bool, answered: bool) -> None:
        """Note whether an image has strokes and an answer."""
        if self.workspace.note_work(path, marked=marked, answered=answered):
            self.status_changed.emit(path)
            self._timer.start(_WRITE_DELAY)

    def set_done(self, path: Path, *, done: bool) -> None:
        """Flag an image as done, or take that back."""
        if self.workspace.set_done(path, done=done):
            self.status_changed.emit(path)
            self._timer.start(_WRITE_DELAY)

    def write_changes(self) -> None:
        """Write the changes of the progress, without waiting for more."""
        self._timer.stop()
        workspace = self.workspace
        taken = workspace.take_changes()
        if taken is not None:
            file, changes = taken
            self.writing.add(
                partial(update_progress, file, changes),
                self._note_written,
                partial(self._put_back, workspace, changes),
            )

    def flush(self, then: Callable[[], object]) -> None:
        """Write the changes, and ``then`` go on."""
        self.write_changes()
        self.writing.when_done(then)

    def _note_written(self, _: FolderProgress) -> None:
        self._has_failed = False

    def _put_back(
        self, workspace: FolderWorkspace, changes: ProgressChanges, error: Exception
    ) -> None:
        """Keep changes that are not written, and try again."""
        workspace.put_back(changes)
        if workspace is self.workspace:
            self._timer.start(_INTERVAL)
        if not self._has_failed:
            self._has_failed = True
            self._fail_to_write(PROGRESS_FILE, error)

    def _update(self, workspace: FolderWorkspace, snapshot: FolderSnapshot) -> None:
        if workspace is self.workspace:
            for path in workspace.update(snapshot):
                self.status_changed.emit(path)

    # Classes and display

    def share_classes(self, classes: tuple[ClassInfo, ...], then: Callable[[], object]) -> None:
        """Let all images begin with these classes, and ``then`` go on."""
        workspace, folder = self.workspace, self.workspace.folder
        if folder is None:
            return

        def note(_: None) -> None:
            workspace.classes = listing
            self.classes_changed.emit()
            then()

        try:
            listing = workspace.class_list(classes)
        except UnreadableFileError as error:
            self._fail_to_write(CLASS_LIST_FILE, error)
            return
        call = partial(write_class_list, folder / CLASS_LIST_FILE, listing)
        self.writing.add(call, note, partial(self._fail_to_write, CLASS_LIST_FILE))

    def share_display(self, display: DisplaySettings) -> None:
        """Let untouched images be shown like that, here even if it is not written."""
        folder = self.workspace.folder
        if folder is None or display == self.workspace.display:
            return
        try:
            self.workspace.check_readable(DISPLAY_FILE)
        except UnreadableFileError as error:
            self._fail_to_write(DISPLAY_FILE, error)
            return
        self.workspace.display = display
        call = partial(write_display, folder, display)
        self.writing.add(call, lambda _: None, partial(self._fail_to_write, DISPLAY_FILE))
        self.display_changed.emit()

    def _fail_to_write(self, name: str, error: Exception) -> None:
        if isinstance(error, UnreadableFileError | ProgressError):
            text = self.tr("{} cannot be read, and is left as it is: move it away first.")
            self.failed.emit(text.format(name))
        elif isinstance(error, OSError | SegappError):
            reason = getattr(error, "strerror", None) or str(error)
            self.failed.emit(self.tr("{} cannot be written: {}.").format(name, reason))
        else:
            unexpected(error)

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; return whether they have ended."""
        self.write_changes()
        self._timer.stop()
        ended = [self._watcher.close(timeout), self.writing.close(timeout)]
        return all(ended)
