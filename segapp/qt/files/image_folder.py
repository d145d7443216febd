"""The open folder: images, classes and progress."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.project_store import marked_images
from segapp.io.class_list import (
    CLASS_LIST_FILE,
    ClassList,
    ClassListError,
    find_class_list,
    write_class_list,
)
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    DisplaySettingsError,
    FolderProgress,
    Status,
    read_display,
    read_progress,
    write_display,
    write_progress,
)
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.qt.files.preferences import is_the_users
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.model.classes import ClassInfo
    from segapp.model.display import DisplaySettings
    from segapp.qt.files.preferences import Preferences


_DELAY = 400  # milliseconds: flags in quick succession are one write
_MOMENT = 0.5  # seconds that closing waits for a write that is under way


class ProgressWriting(QObject):
    """Writes what has changed, soon and in a thread; what cannot be written stays to be written.

    ``place`` is the folder of the file, ``None`` until somebody has said where; changes wait.
    """

    failed = Signal(str)  # a sentence, once until writing works again

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.place: Path | None = None
        self.changes: dict[str, Status | None] = {}
        self._last: str | None = None
        self._under_way: dict[str, Status | None] = {}
        self._hindered = False
        self._jobs = Jobs("progress", self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY)
        self._timer.timeout.connect(self._write)

    def begin(self, place: Path | None) -> None:
        """Write what is left of another folder, and go on with this one."""
        self._flush()
        self.place = place

    def note(self, name: str, status: Status | None) -> None:
        """Keep what has become of a picture; ``None`` forgets it."""
        self.changes[name] = status
        self._timer.start()

    def note_open(self, name: str) -> None:
        """Keep where the work is."""
        self._last = name
        self._timer.start()

    def use(self, place: Path) -> None:
        """Write to a place that somebody has chosen, what has waited for it first."""
        self.place = place
        self._timer.start()

    def _write(self) -> None:
        if self.place is None or not (self.changes or self._last):
            return
        if self._jobs.busy:  # the next write brings these changes as well
            self._timer.start()
            return
        file, last, changes = self.place / PROGRESS_FILE, self._last, self.changes
        self._under_way, self.changes = changes, {}

        def work() -> Iterator[None]:
            write_progress(file, changes, last)
            yield

        self._jobs.run(work, self._note_written, self._fail)

    def _note_written(self, _: None) -> None:
        self._under_way, self._hindered = {}, False

    def _fail(self, error: Exception) -> None:
        """Say that flags are not on disk; they go there with the next one, or at the end."""
        self.changes = self._under_way | self.changes
        self._under_way = {}
        if not self._hindered:
            self._hindered = True
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        self.failed.emit(self.tr("{} cannot be written: {}.").format(PROGRESS_FILE, reason))

    def _flush(self) -> None:
        self._timer.stop()
        if self.place is not None and self._jobs.close(_MOMENT):
            changes = self._under_way | self.changes  # the first were perhaps not written
            try:
                if changes or self._last:
                    write_progress(self.place / PROGRESS_FILE, changes, self._last)
            except OSError as error:
                if not self._hindered:
                    self._tell(error)
        self.changes, self._under_way, self._last, self._hindered = {}, {}, None, False

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left, and wait for the thread; say whether it has ended."""
        self._flush()
        return self._jobs.close(timeout)


class PictureFolder(QObject):
    """What is known of the pictures that are worked through one after the other.

    `place` is where projects, classes and progress go: the folder itself, or one that the user
    has chosen where it cannot be written; ``None`` until that is chosen. Pictures that were
    given together without a folder have their projects beside each, and no class list.
    """

    begun = Signal()  # other pictures
    status_changed = Signal(object)  # Path
    classes_changed = Signal()
    place_changed = Signal()
    failed = Signal(str)  # a sentence

    def __init__(self, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self.paths: list[Path] = []
        self.root: Path | None = None
        self.place: Path | None = None
        self.classes: ClassList | None = None
        self._unreadable = False  # there is a list of classes, and it is damaged
        self._rows: dict[Path, int] = {}
        self._names: set[str] = set()
        self._marked: set[Path] = set()
        self._failures: dict[Path, str] = {}
        self._progress = FolderProgress()
        self._writing = ProgressWriting(self)
        self._writing.failed.connect(self.failed)

    # Pictures -----------------------------------------------------------------------------

    def begin(self, paths: list[Path], root: Path | None) -> None:
        """Work through other pictures, those of ``root`` or some that were given together."""
        self.paths, self.root = paths, root
        self._rows = {path: row for row, path in enumerate(paths)}
        self._names = {path.name for path in paths}
        self._failures = {}
        self.place = None if root is None else _place_of(root, self._preferences)
        self._writing.begin(self.place)
        self._look()
        self.begun.emit()

    def choose_place(self, place: Path) -> None:
        """Keep what belongs to a folder that cannot be written in another one."""
        if self.root is not None:
            self._preferences.set_folder(_place_name(self.root), place)
            self.place, marked = place, self._marked
            self._look()
            # What was done before anybody had said where it goes is not forgotten.
            self._marked |= marked
            for name, status in self._writing.changes.items():
                self._progress = self._progress.with_status(name, status)
            self._writing.use(place)
            self.place_changed.emit()

    def _look(self) -> None:
        """Read what is kept of the folder: three small files and a look at the names."""
        self._progress, self.classes, self._marked = FolderProgress(), None, set()
        self._unreadable = False
        if self.root is None:
            for path in self.paths:
                self._marked |= marked_images([path])
            return
        place = self.place or self.root
        self._marked = marked_images(self.paths, place)
        self._progress = read_progress(place / PROGRESS_FILE)
        try:
            found = find_class_list(place) or find_class_list(self.root)
            self.classes = None if found is None else found[1]
        except ClassListError as error:
            self._unreadable = True
            self.failed.emit(str(error))

    def row(self, path: Path) -> int | None:
        """Return which of the pictures it is."""
        return self._rows.get(path)

    @property
    def last(self) -> Path | None:
        """The picture that was open when the folder was left."""
        return next((path for path in self.paths if path.name == self._progress.last), None)

    def project_folder(self, image: Path) -> Path | None:
        """Return where the project of one of the pictures goes; ``None`` if that is not chosen."""
        if self.root is not None:
            return self.place
        own = image.parent
        return own if is_the_users(own) and os.access(own, os.W_OK) else None

    # What has become of them ----------------------------------------------------------------

    def status(self, path: Path) -> Status:
        """Return what has become of a picture."""
        if path in self._failures:
            return Status.FAILED
        kept = self._progress.states.get(path.name)
        if kept is Status.DONE or (kept is not None and path in self._marked):
            return kept
        return Status.MARKED if path in self._marked else Status.UNTOUCHED

    def failure(self, path: Path) -> str:
        """Return why a picture could not be read, often nothing."""
        return self._failures.get(path, "")

    @property
    def n_done(self) -> int:
        """How many pictures are done."""
        names = {name for name, kept in self._progress.states.items() if kept is Status.DONE}
        return len(names & self._names)

    def note_failure(self, path: Path, reason: str) -> None:
        """Remember that a picture cannot be read."""
        if path in self._rows and self._failures.get(path) != reason:
            self._failures[path] = reason
            self.status_changed.emit(path)

    def note_open(self, path: Path) -> None:
        """Remember where the work is."""
        if path in self._rows:
            self._writing.note_open(path.name)
            if self._failures.pop(path, None) is not None:
                self.status_changed.emit(path)

    def note_work(self, path: Path, *, marked: bool, answered: bool) -> None:
        """Remember whether a picture has strokes and an answer; what is done stays done."""
        if path not in self._rows:
            return
        before = self.status(path)
        (self._marked.add if marked else self._marked.discard)(path)
        kept = self._progress.states.get(path.name)
        if answered and marked and kept is None:
            self._keep(path, Status.ANSWERED)
        elif not marked and kept is Status.ANSWERED:
            self._keep(path, None)
        if self.status(path) is not before:
            self.status_changed.emit(path)

    def set_done(self, path: Path, *, done: bool) -> None:
        """Flag a picture as done, or take that back."""
        if path in self._rows:
            self._keep(path, Status.DONE if done else None)
            self.status_changed.emit(path)

    def next_undone(self, path: Path | None) -> Path | None:
        """Return the next picture that is to be done; the first follows the last."""
        row = self._rows.get(path, -1) if path is not None else -1
        order = [*self.paths[row + 1 :], *self.paths[: max(row, 0)]]
        ended = (Status.DONE, Status.FAILED)
        return next((other for other in order if self.status(other) not in ended), None)

    def _keep(self, path: Path, status: Status | None) -> None:
        self._progress = self._progress.with_status(path.name, status)
        self._writing.note(path.name, status)

    # Classes ------------------------------------------------------------------------------------

    def share(self, classes: tuple[ClassInfo, ...]) -> bool:
        """Let all pictures begin with these classes; say whether the list is written."""
        if self.place is None:
            return False
        if self._unreadable:  # perhaps of a newer version: nobody's list is replaced unread
            told = self.tr("{} cannot be read, and is left as it is: move it away first.")
            self.failed.emit(told.format(CLASS_LIST_FILE))
            return False
        listing = (
            ClassList.from_classes(classes)
            if self.classes is None
            else self.classes.with_classes(classes)
        )
        try:
            write_class_list(self.place / CLASS_LIST_FILE, listing)
        except OSError as error:
            told = self.tr("{} cannot be written: {}.")
            self.failed.emit(told.format(CLASS_LIST_FILE, error.strerror))
            return False
        self.classes = listing
        self.classes_changed.emit()
        return True

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left, and wait for the thread; say whether it has ended."""
        return self._writing.close(timeout)


def _place_of(root: Path, preferences: Preferences) -> Path | None:
    chosen = preferences.folder(_place_name(root))
    return chosen or (root if is_the_users(root) and os.access(root, os.W_OK) else None)


def _place_name(root: Path) -> str:
    return f"places/{os.fsencode(root).hex()}"


class FolderStart(QObject):
    """Reads and writes the folder's way of showing; a file that is damaged is left alone."""

    failed = Signal(str)  # a sentence
    showing_changed = Signal()

    def __init__(self, work: PictureFolder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._unreadable = False
        self.display = DEFAULT_DISPLAY
        work.begun.connect(self._look)
        work.place_changed.connect(self._look)

    def _look(self) -> None:
        self.display, self._unreadable = DEFAULT_DISPLAY, False
        place = self._work.place or self._work.root
        if place is None:
            return
        try:
            self.display = read_display(place)
        except DisplaySettingsError as error:
            self._unreadable = True
            self.failed.emit(str(error))
        self.showing_changed.emit()

    def document(self) -> Document:
        """Return what a picture of the folder begins with."""
        classes = self._work.classes
        if classes is None:
            return Document(display=self.display)
        return Document(classes.classes, display=self.display)

    def remember(self, display: DisplaySettings) -> None:
        """Let the pictures that nobody has touched yet be shown so."""
        place = self._work.place
        if place is None or display == self.display:
            return
        if self._unreadable:  # perhaps of a newer version: nobody's file is replaced unread
            told = self.tr("{} cannot be read, and is left as it is: move it away first.")
            self.failed.emit(told.format(DISPLAY_FILE))
            return
        self.display = display
        try:
            write_display(place, display)
        except OSError as error:
            told = self.tr("{} cannot be written: {}.")
            self.failed.emit(told.format(DISPLAY_FILE, error.strerror))
        self.showing_changed.emit()
