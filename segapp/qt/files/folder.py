"""The open folder: its shared files, changes of others, and thumbnails."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap

from segapp.app.project_files import find_project
from segapp.app.workspace import FolderWorkspace, UnreadableFileError
from segapp.io.class_list import CLASS_LIST_FILE, write_class_list
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    ProgressError,
    read_display,
    update_progress,
    write_display,
)
from segapp.io.images import load_thumbnail
from segapp.io.pages import ImageError
from segapp.io.project import PROJECT_SUFFIX, load_project
from segapp.model.display import DEFAULT_DISPLAY
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
        n_writes = workspace.n_writes
        if self._jobs.busy:
            self._timer.start(_READ_DELAY)
            return

        def work() -> Iterator[tuple[object, FolderSnapshot]]:
            stamp = workspace.stamp()
            if stamp != known:
                yield stamp, workspace.snapshot()

        def take(found: tuple[object, FolderSnapshot]) -> None:
            if workspace.n_writes == n_writes:  # else it is read once more
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
                partial(self._note_written, workspace, changes),
                partial(self._put_back, workspace, changes),
            )

    def flush(self, then: Callable[[], object]) -> None:
        """Write the changes, and ``then`` go on."""
        self.write_changes()
        self.writing.when_done(then)

    def _note_written(
        self, workspace: FolderWorkspace, changes: ProgressChanges, progress: FolderProgress
    ) -> None:
        self._has_failed = False
        concerned = workspace.note_written(changes, progress)
        if workspace is self.workspace:
            for path in concerned:
                self.status_changed.emit(path)

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


SIZE = QSize(84, 64)
"""The size of a thumbnail that fills a frame, in widget pixels."""
LONGEST = 192  # pixels of a thumbnail, enough for screens of twice the resolution
# Kept ones, at most 100 kB each: many screenfuls, and never more than 20 MB.
_MOST_KEPT = 200
# Requested and not yet made: thumbnails that were scrolled past are not worth making.
_MOST_WAITING = 60


class Thumbnails(QObject):
    """A bounded cache of thumbnails that makes missing ones in a thread."""

    arrived = Signal(object)  # Path
    forgotten = Signal()  # all look different now
    unreadable = Signal(object, str)  # Path and reason

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, QPixmap | None] = OrderedDict()
        self._waiting: OrderedDict[Path, None] = OrderedDict()
        self._displays: dict[Path, DisplaySettings] = {}
        self._folder: Path | None = None
        self._closed = False
        self._version = 0  # of the display of all images
        self._jobs = Jobs("thumbnails", self)

    def of(self, path: Path) -> QPixmap | None:
        """Return a file's thumbnail; None while it is being made, until `arrived`."""
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        self._waiting[path] = None
        self._waiting.move_to_end(path)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)
        self._go_on()
        return None

    def begin(self, folder: Path | None) -> None:
        """Make all anew, with the projects and the display of a folder."""
        self._folder, self._version = folder, self._version + 1
        self._displays.clear()
        self._kept.clear()
        self._waiting.clear()
        self.forgotten.emit()

    def show_as(self, path: Path, display: DisplaySettings) -> None:
        """Show one image with a display that its project may not have yet."""
        self._displays[path], self._version = display, self._version + 1
        self._kept.pop(path, None)
        self.arrived.emit(path)  # to be requested again

    @property
    def n_kept(self) -> int:
        """The number of thumbnails in memory."""
        return len(self._kept)

    def _go_on(self) -> None:
        if self._waiting and not self._jobs.busy and not self._closed:
            path, _ = self._waiting.popitem()
            folder, display, version = self._folder, self._displays.get(path), self._version
            self._jobs.run(
                lambda: ((version, *each) for each in _made(path, folder, display)),
                self._take,
                unexpected,
                self._go_on,
            )

    def _take(self, made: tuple[int, Path, QImage | str]) -> None:
        version, path, found = made
        if version != self._version:  # with an old display, perhaps: a view requests it again
            self.arrived.emit(path)
            return
        self._kept[path] = None if isinstance(found, str) else QPixmap.fromImage(found)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        if isinstance(found, str):
            self.unreadable.emit(path, found)
        self.arrived.emit(path)

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; return whether it has ended."""
        self._closed = True
        return self._jobs.close(timeout)


def thumbnail(path: Path) -> QImage:
    """Read a thumbnail at once; a null image when the file cannot be read."""
    ((_, made),) = _made(path, None, DEFAULT_DISPLAY)
    return QImage() if isinstance(made, str) else made


def filling(image: QImage, ratio: float) -> QPixmap:
    """Cut a thumbnail to the shape of `SIZE`; ``ratio`` is the screen's."""
    size = SIZE * ratio
    image = image.scaled(
        size,
        Qt.AspectRatioMode.KeepAspectRatioByExpanding,
        Qt.TransformationMode.SmoothTransformation,
    )
    left = (image.width() - size.width()) // 2
    top = (image.height() - size.height()) // 2
    cut = QPixmap.fromImage(image.copy(left, top, size.width(), size.height()))
    cut.setDevicePixelRatio(ratio)
    return cut


def _made(
    path: Path, folder: Path | None, known: DisplaySettings | None
) -> Iterator[tuple[Path, QImage | str]]:
    try:
        image, display = _source(path, folder)
        rgb = load_thumbnail(image, LONGEST, known or display)
    except ImageError as error:
        yield path, translate(error)
        return
    height, width, _ = rgb.shape
    drawn = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    yield path, drawn.copy()  # a copy, which owns its bytes


def _source(path: Path, folder: Path | None) -> tuple[Path, DisplaySettings]:
    """Return the image that a file is or names, with its display settings."""
    try:
        if path.suffix.lower() == PROJECT_SUFFIX:
            project = load_project(path)
            return project.image_path, project.document.display
        found = find_project(path, folder or path.parent)
        if found is not None:
            return path, found.require().document.display
        return path, read_display(folder or path.parent)
    except (SegappError, OSError):  # reported when the file is opened
        return path, DEFAULT_DISPLAY
