"""The open folder: signals of its workspace, and a writer of its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.workspace import FolderWorkspace, UnreadableFileError
from segapp.io.class_list import CLASS_LIST_FILE
from segapp.io.folder_files import DISPLAY_FILE, PROGRESS_FILE
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.app.project_store import ProjectLocationPolicy
    from segapp.app.workspace import ProgressChanges
    from segapp.model.classes import ClassInfo
    from segapp.model.display import DisplaySettings


_DELAY = 400  # milliseconds: flags in quick succession are one write
_MOMENT = 0.5  # seconds that closing waits for a write that is under way


class StatusWriter(QObject):
    """Writes the progress of a workspace in a thread, soon after it has changed."""

    failed = Signal(object)  # once until writing works again

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace: FolderWorkspace | None = None
        self._under_way: ProgressChanges | None = None
        self._has_failed = False
        self._jobs = Jobs("progress", self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY)
        self._timer.timeout.connect(self._write)

    def schedule(self, workspace: FolderWorkspace) -> None:
        """Write the changes of a workspace; those of another one were flushed before."""
        self._workspace = workspace
        self._timer.start()

    def _write(self) -> None:
        if self._jobs.busy:  # the next write brings these changes as well
            self._timer.start()
            return
        changes = self._workspace.take_changes() if self._workspace is not None else None
        if changes is not None:
            self._under_way = changes

            def work() -> Iterator[None]:
                changes.write()
                yield None

            self._jobs.run(work, self._note, self._fail)

    def _note(self, _: None) -> None:
        self._under_way, self._has_failed = None, False

    def _fail(self, error: Exception) -> None:
        """Keep the changes for the next write, or for the end."""
        self._put_back()
        self._complain(error)

    def _put_back(self) -> None:
        if self._under_way is not None and self._workspace is not None:
            self._workspace.put_back(self._under_way)
        self._under_way = None

    def _complain(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            self.failed.emit(error)

    def flush(self) -> None:
        """Write the changes of the present workspace now."""
        self._timer.stop()
        if self._workspace is not None and self._jobs.close(_MOMENT):
            self._put_back()  # they were perhaps not written
            changes = self._workspace.take_changes()
            try:
                if changes is not None:
                    changes.write()
            except OSError as error:
                self._complain(error)
        self._workspace, self._under_way, self._has_failed = None, None, False

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left, and wait for the thread; return whether it has ended."""
        self.flush()
        return self._jobs.close(timeout)


class OpenFolder(QObject):
    """The workspace that is open now, with signals of its changes."""

    begun = Signal()  # another workspace
    status_changed = Signal(object)  # Path
    classes_changed = Signal()
    display_changed = Signal()
    folder_chosen = Signal()
    failed = Signal(str)  # a sentence

    def __init__(self, policy: ProjectLocationPolicy, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._policy = policy
        self.workspace = FolderWorkspace([], None, policy)
        self._writer = StatusWriter(self)
        self._writer.failed.connect(lambda error: self._fail_to_write(PROGRESS_FILE, error))

    def begin(self, images: list[Path], root: Path | None) -> None:
        """Work through other images, those of ``root`` or some that were opened together."""
        self._writer.flush()
        self.workspace = FolderWorkspace(images, root, self._policy)
        self._complain()
        self.begun.emit()
        self.display_changed.emit()

    def choose_folder(self, folder: Path) -> None:
        """Keep the shared files and the projects in another folder."""
        if self.workspace.root is not None:
            self.workspace.choose_folder(folder)
            self._writer.schedule(self.workspace)
            self._complain()
            self.folder_chosen.emit()
            self.display_changed.emit()

    def _complain(self) -> None:
        for problem in self.workspace.problems:
            self.failed.emit(translate(problem))

    def note_failure(self, path: Path, reason: str) -> None:
        """Note that an image cannot be read."""
        if self.workspace.note_failure(path, reason):
            self.status_changed.emit(path)

    def note_open(self, path: Path) -> None:
        """Note that an image is open."""
        if self.workspace.note_open(path):
            self.status_changed.emit(path)
        self._writer.schedule(self.workspace)

    def note_work(self, path: Path, *, marked: bool, answered: bool) -> None:
        """Note whether an image has strokes and an answer."""
        if self.workspace.note_work(path, marked=marked, answered=answered):
            self.status_changed.emit(path)
        self._writer.schedule(self.workspace)

    def set_done(self, path: Path, *, done: bool) -> None:
        """Flag an image as done, or take that back."""
        if self.workspace.set_done(path, done=done):
            self.status_changed.emit(path)
            self._writer.schedule(self.workspace)

    def share_classes(self, classes: tuple[ClassInfo, ...]) -> bool:
        """Let all images begin with these classes; return whether the list is written."""
        try:
            shared = self.workspace.share_classes(classes)
        except (UnreadableFileError, OSError) as error:
            self._fail_to_write(CLASS_LIST_FILE, error)
            return False
        if shared:
            self.classes_changed.emit()
        return shared

    def share_display(self, display: DisplaySettings) -> None:
        """Let untouched images be shown like that."""
        before = self.workspace.display
        try:
            self.workspace.share_display(display)
        except (UnreadableFileError, OSError) as error:
            self._fail_to_write(DISPLAY_FILE, error)
        if self.workspace.display != before:
            self.display_changed.emit()

    def _fail_to_write(self, name: str, error: Exception) -> None:
        if isinstance(error, UnreadableFileError):
            text = self.tr("{} cannot be read, and is left as it is: move it away first.")
            self.failed.emit(text.format(name))
        else:
            reason = getattr(error, "strerror", None) or str(error)
            self.failed.emit(self.tr("{} cannot be written: {}.").format(name, reason))

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left, and wait for the thread; return whether it has ended."""
        return self._writer.close(timeout)
