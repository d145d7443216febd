"""The folder that is worked through: pictures, classes, progress, and where they are kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.class_list import CLASS_LIST_NAME, ClassList, ClassListError, write_class_list
from segapp.files.folder_progress import PROGRESS_NAME, FolderProgress, Status, read_progress
from segapp.files.label_lists import folder_list
from segapp.files.project_places import marked_images
from segapp.qt.files.default_folder import is_the_users
from segapp.qt.files.progress_writing import ProgressWriting

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.files.preferences import Preferences
    from segapp.values.document import ClassInfo


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
        self._progress = read_progress(place / PROGRESS_NAME)
        try:
            found = folder_list(place) or folder_list(self.root)
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
            self.failed.emit(told.format(CLASS_LIST_NAME))
            return False
        listing = (
            ClassList.numbered(classes) if self.classes is None else self.classes.changed(classes)
        )
        try:
            write_class_list(self.place / CLASS_LIST_NAME, listing)
        except OSError as error:
            told = self.tr("{} cannot be written: {}.")
            self.failed.emit(told.format(CLASS_LIST_NAME, error.strerror))
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
