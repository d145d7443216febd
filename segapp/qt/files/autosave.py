"""Automatic saving of strokes, and its location."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.project_store import new_project, project_of
from segapp.app.state import PictureState
from segapp.io.project import Project
from segapp.model.validation import sanitize
from segapp.qt.files import file_dialogs
from segapp.qt.files.opening import digest_of
from segapp.qt.files.preferences import is_the_users
from segapp.qt.files.recovery import (
    ChangedByOthersError,
    LeftCopy,
    LeftFolder,
    OwnFolder,
    left_behind,
    recovery_root,
    save_over,
)
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from segapp.app.state import Content
    from segapp.model.labelling import Answer
    from segapp.qt.files.files import Files
    from segapp.qt.files.image_folder import PictureFolder
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


class Wish(Enum):
    """What the user has said about pictures that are opened alone."""

    UNSAID = ""
    BESIDE = "beside"
    FOLDER = "folder"
    NEVER = "never"


class Keeping(QObject):
    """Knows where the project of a picture is written without asking.

    In a folder that is beside each picture, or in the place that was chosen for a folder that
    cannot be written. For pictures opened alone the user is asked once.
    """

    changed = Signal()

    def __init__(
        self, work: PictureFolder, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._work, self._preferences = work, preferences
        work.place_changed.connect(self.changed)

    @property
    def wish(self) -> Wish:
        """What the user has said about single pictures."""
        said = self._preferences.get("keep/wish", "")
        return Wish(said) if said in {wish.value for wish in Wish} else Wish.UNSAID

    def choose(self, wish: Wish, folder: Path | None = None) -> None:
        """Keep single pictures like that from now on."""
        self._preferences.set("keep/wish", wish.value)
        if folder is not None:
            self._preferences.set_folder("keep/folder", folder)
        self.changed.emit()

    def is_within(self, state: PictureState) -> bool:
        """Tell whether a picture is one of the folder's."""
        return self._work.row(state.path) is not None

    def folder_for(self, state: PictureState) -> Path | None:
        """Return the folder of a picture's project, ``None`` when nobody has said where."""
        if self.is_within(state):
            return self._work.project_folder(state.path)
        if self.wish is Wish.FOLDER:
            return self._preferences.folder("keep/folder")
        if self.wish is not Wish.BESIDE:
            return None
        own = state.path.parent
        return own if is_the_users(own) and os.access(own, os.W_OK) else None


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a picture has been written, and where."""

    path: Path
    content: Content
    project: Path
    digest: str


def answer_beside(session: Session, state: PictureState) -> Answer | None:
    """Return the answer that a project may carry: of the open picture, once it is there."""
    if session.state is None or session.state.path != state.path:
        return None
    return session.answers.answer


def keep(
    state: PictureState,
    folder: Path,
    own_digests: dict[Path, str],
    answer: Answer | None = None,
) -> Kept:
    """Write a picture's project, unless somebody else has changed it.

    ``own_digests`` is what this window has written last, of which the state may not know yet.

    Raises
    ------
    ChangedByOthersError, OSError, ValueError
        When it is not written.
    """
    image = state.path
    project = state.project or project_of(image, folder) or new_project(image, folder)
    known = state.digest
    if own_digests.get(project) == digest_of(project):
        known = own_digests[project]
    content = state.content
    carried = answer.snapshot() if answer is not None else None
    written = Project(content.document, content.settings, image, state.sha256, answer=carried)
    own_digests[project] = digest = save_over(project, written, known)
    return Kept(image, content, project, digest)


# Milliseconds from the first edit after a copy to the next copy: strokes in quick succession
# make one copy, and what remains of the promised two seconds is for the disk.
_DELAY = 800
# Seconds until a copy that failed is tried again, and again.
_PATIENCE = (2, 4, 8, 15, 30)
# Seconds that closing waits for a copy that is being written.
_MOMENT = 0.9


class Autosave(QObject):
    """Writes unsaved strokes to their project, or into a folder that only a clean end removes.

    Where a project goes `place_of` says; what has no place yet, or cannot be written there, is
    copied for recovery. One picture's copy is one job, so that an error in one of them stops no
    other. A job is never cancelled for a newer edit: the picture waits, and is copied again
    right after.
    """

    failed = Signal(str, str)  # a sentence and its details, once until copying works again
    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, root: Path | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._root = root or recovery_root()
        self._own = OwnFolder(self._root)
        self._waiting: dict[Path, None] = {}  # in the order of their edits
        self._aside: list[PictureState] = []
        self._writing: Path | PictureState | None = None
        self._failures: dict[Path | PictureState, Exception] = {}
        self._rounds = 0  # of trying again, since a copy succeeded
        self._closed = False
        self.place_of: Callable[[PictureState], Path | None] = lambda _: None
        self._own_digests: dict[Path, str] = {}  # of the projects that were written here
        self._hindered: set[Path] = set()  # pictures whose projects could not be written
        self._left: list[LeftFolder] = []
        self._restored: dict[Path, list[tuple[LeftFolder, LeftCopy]]] = {}
        self._timer = self._single_shot(self._write_next)
        self._again = self._single_shot(self._try_again)
        self._jobs = Jobs("autosave", self)
        session.document_changed.connect(self._watch)
        session.settings_changed.connect(self._watch)

    def _single_shot(self, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    # Copying ------------------------------------------------------------------------------

    def _watch(self) -> None:
        state = self._session.state
        if state is not None:
            self._waiting[state.path] = None
            if not state.unsaved:  # a copy beside newer strokes in a project only misleads
                self._timer.start(0)
            elif not self._timer.isActive():  # never put off by a newer edit
                self._timer.start(_DELAY)

    def write_soon(self) -> None:
        """Copy everything that is unsaved, without waiting for more."""
        for state in self._session.unsaved_states():
            self._waiting[state.path] = None
        self._write_next()

    def set_aside(self, state: PictureState) -> None:
        """Copy unsaved strokes that only undo will bring back, should there be no time for it."""
        self._aside.append(state)
        self._write_next()

    def _write_next(self) -> None:
        while (self._waiting or self._aside) and not self._jobs.busy and not self._closed:
            if self._aside:  # first: the picture's own copy may be of the same strokes
                self._writing = aside = self._aside.pop(0)
                self._run(partial(self._copy_aside, aside))
                return
            path = next(iter(self._waiting))
            del self._waiting[path]
            state = self._session.state_of(path)
            if state is not None:
                self._writing = path
                place, answer = self.place_of(state), answer_beside(self._session, state)
                self._run(partial(self._copy, state, place, answer))

    def _run(self, work: Callable[[], Iterator[_Written]]) -> None:
        self._jobs.run(work, self._note, self._fail, self._write_next)

    def _copy(
        self, state: PictureState, place: Path | None, answer: Answer | None
    ) -> Iterator[_Written]:
        if place is not None and state.unsaved:
            try:
                kept = keep(state, place, self._own_digests, answer)
            except (ChangedByOthersError, OSError, ValueError) as error:
                yield _Hindered(state.path, error)
            else:
                self._own.drop(state.path)
                yield kept
                return
        self._own.keep(state)
        yield state.path

    def write_all(self) -> None:
        """Write every project that has a place, before the window closes or a folder is exported.

        What is not on disk in a moment stays unsaved, and whoever closes is asked about it.
        """
        placed = [
            (state, place)
            for state in self._session.unsaved_states()
            if (place := self.place_of(state)) is not None
        ]
        if not placed or not self._jobs.close(_MOMENT):
            return
        for state, place in placed:
            try:
                answer = answer_beside(self._session, state)
                self._note_kept(keep(state, place, self._own_digests, answer))
            except (ChangedByOthersError, OSError, ValueError) as error:
                self._note_hindrance(_Hindered(state.path, error))

    def _copy_aside(self, state: PictureState) -> Iterator[_Written]:
        self._own.set_aside(state)
        yield state

    def _note_kept(self, kept: Kept) -> None:
        self._hindered.discard(kept.path)
        self._session.mark_saved(kept.path, kept.content, kept.project, kept.digest)

    def _note_hindrance(self, hindered: _Hindered) -> None:
        if hindered.path in self._hindered:
            return  # told once; the strokes are copied meanwhile
        self._hindered.add(hindered.path)
        told = self.tr("The project of {} is not written ({}); its strokes are kept for recovery")
        self.message.emit(told.format(sanitize(hindered.path.name), _reason(hindered.error)))

    def _note(self, written: _Written) -> None:
        if isinstance(written, _Hindered):
            self._note_hindrance(written)
            return
        if isinstance(written, Kept):
            self._note_kept(written)
            written = written.path
        if not isinstance(written, PictureState):
            for folder, copy in self._restored.pop(written, []):
                folder.discard(copy.file)  # its strokes are in our own copy, or in a project
        if self._failures.pop(written, None) is not None and not self._failures:
            self._rounds = 0
            self._again.stop()
            self.message.emit(self.tr("Strokes are kept for recovery again"))

    def _fail(self, error: Exception) -> None:
        first = not self._failures
        if self._writing is not None:
            self._failures[self._writing] = error
        if not self._again.isActive():
            seconds = _PATIENCE[min(self._rounds, len(_PATIENCE) - 1)]
            self._rounds += 1
            self._again.start(round(seconds * 1000))
            self.message.emit(
                self.tr("Strokes are not on disk yet ({}); next try in {} s").format(
                    _reason(error), seconds
                )
            )
        if first:  # once: drawing goes on, and saving says it itself
            self.failed.emit(
                self.tr("Strokes cannot be kept for recovery in {}: {}.").format(
                    self._root, _reason(error)
                ),
                details_of(error),
            )

    def _try_again(self) -> None:
        for failed in self._failures:
            if isinstance(failed, PictureState):
                self._aside.append(failed)
            else:
                self._waiting[failed] = None
        self._write_next()

    # What others left -----------------------------------------------------------------------

    def left_behind(self) -> list[LeftFolder]:
        """Return what programs left behind that ended without saving; nobody else gets it."""
        self.release_left()
        self._left = left_behind(self._root)
        return self._left

    def restore(self, folder: LeftFolder, copy: LeftCopy) -> None:
        """Take strokes into the session; their copy goes once they are safe elsewhere."""
        self._session.remember(copy.state)
        self._restored.setdefault(copy.state.path, []).append((folder, copy))
        self._waiting[copy.state.path] = None
        self._write_next()

    def release_left(self) -> None:
        """Leave what was neither restored nor discarded to the next program."""
        kept = {id(folder) for pairs in self._restored.values() for folder, _ in pairs}
        for folder in self._left:
            if id(folder) not in kept:
                folder.release()
        self._left = [folder for folder in self._left if id(folder) in kept]

    def close(self, timeout: float | None = None) -> bool:
        """Stop copying; the copies go, as everything is saved or was given up."""
        self._closed = True
        self._timer.stop()
        self._again.stop()
        if not self._jobs.close(timeout):
            return False  # it is writing still: what it leaves is offered at the next start
        for folder in self._left:
            folder.release()
        self._own.close()
        return True


@dataclass(frozen=True, slots=True)
class _Hindered:
    """A project could not be written."""

    path: Path
    error: Exception


if TYPE_CHECKING:
    _Written = Path | PictureState | Kept | _Hindered


def _reason(error: Exception) -> str:
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(told).rstrip(".")


class Overlaid:
    """Remembers such strokes until they are in a file, so that closing can ask about them."""

    def __init__(self, session: Session, files: Files) -> None:
        self._session, self._files = session, files
        self._states: list[PictureState] = []
        files.overlaid.connect(self._states.append)
        session.document_changed.connect(self._forget_saved)

    def lost(self) -> list[PictureState]:
        """Return the strokes that would be gone with the window, each once."""
        found: list[PictureState] = []
        for state in self._states:
            told = any(_same(state, other) for other in found)
            if not told and not self._is_back(state):
                found.append(state)
        return found

    def save(self, window: QWidget, state: PictureState) -> bool:
        """Ask for a project of its own for some of them; say whether they are on disk."""
        proposed = self._files.default_project(replace(state, project=None))
        path = file_dialogs.ask_project(window, proposed)
        if path is None:
            return False
        try:
            saved = bool(self._files.write(state, path))
        except ChangedByOthersError:  # between the question and the answer
            return self.save(window, state)
        if saved:
            self._states[:] = [other for other in self._states if not _same(state, other)]
        return saved

    def _is_back(self, state: PictureState) -> bool:
        """Tell whether undo has brought them back; what was painted since lies upon them."""
        present = self._session.state_of(state.path)
        strokes = state.document.strokes
        return present is not None and present.document.strokes[: len(strokes)] == strokes

    def _forget_saved(self) -> None:
        saved = self._session.state
        if saved is not None and saved.saved is not None:
            self._states[:] = [
                state
                for state in self._states
                if state.path != saved.path or state.content != saved.saved
            ]


def _same(one: PictureState, other: PictureState) -> bool:
    return one.path == other.path and one.content == other.content
