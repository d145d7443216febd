"""The project store: locations of projects, saving and recovery."""

from __future__ import annotations

import math
import os
import threading
import time
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from platformdirs import user_data_path, user_documents_path

from segapp.app.project_files import (
    ChangedByOthersError,
    FoundProject,
    digest_of,
    find_project,
    free_location,
    new_location,
    read_project,
    writable_location,
    write_project,
)
from segapp.app.recovery import (
    AnyCopy,
    OrphanedFolder,
    RecoveryCopy,
    RecoveryFolder,
    newest_first,
    orphaned_folders,
    recovery_root,
)
from segapp.app.state import project_of
from segapp.io.desktop import ASSETS
from segapp.io.project import Project, ProjectLocation, Revision

if TYPE_CHECKING:
    from collections.abc import Callable

    from segapp.app.state import PictureState
    from segapp.model.answer import Answer


# Where projects go -----------------------------------------------------------------------------


class SaveLocation(Enum):
    """The user's choice for the projects of images that are opened alone."""

    UNSAID = ""
    BESIDE = "beside"
    FOLDER = "folder"
    NEVER = "never"


class StoredPreferences(Protocol):
    """The part of the preferences that projects need."""

    def get(self, name: str, default: str) -> str:
        """Read a value."""

    def set(self, name: str, value: str) -> None:
        """Store a value."""

    def folder(self, name: str) -> Path | None:
        """Read a folder; None when there is none, or none any more."""

    def set_folder(self, name: str, folder: Path) -> None:
        """Store a folder."""


class ProjectLocationPolicy:
    """The folders in which the project of an image is written, searched and proposed.

    In a folder that is worked through, projects go beside the images, or, where it cannot be
    written, into the folder that the user has chosen for it. For images opened alone the user
    is asked once. The answer for an image does not change when another folder is opened.
    """

    def __init__(self, preferences: StoredPreferences) -> None:
        self._preferences = preferences
        self._roots: dict[Path, Path | None] = {}
        self._images: set[Path] = set()

    def begin(self, images: list[Path], root: Path | None) -> None:
        """Work through the images of a folder, or through some that were opened together."""
        if root is None:
            self._images.update(images)
        else:
            self._roots[root] = self._chosen_for(root) or (root if is_writable(root) else None)

    def root_folder(self, root: Path) -> Path | None:
        """Return where the files of a folder go; None until the user has said where."""
        return self._roots.get(root)

    def choose_for_root(self, root: Path, folder: Path) -> None:
        """Keep the files of a folder that cannot be written in another one."""
        self._preferences.set_folder(_root_key(root), folder)
        self._roots[root] = folder

    @property
    def choice(self) -> SaveLocation:
        """The user's choice for images that are opened alone."""
        name = self._preferences.get("keep/wish", "")
        known = {choice.value for choice in SaveLocation}
        return SaveLocation(name) if name in known else SaveLocation.UNSAID

    def choose(self, choice: SaveLocation, folder: Path | None = None) -> None:
        """Save images that are opened alone like that from now on."""
        self._preferences.set("keep/wish", choice.value)
        if folder is not None:
            self._preferences.set_folder("keep/folder", folder)

    def note_saved(self, folder: Path) -> None:
        """Propose the folder of a project that the user has saved for the next one."""
        self._preferences.set_folder("save/folder", folder)

    def writing_folder(self, image: Path) -> Path | None:
        """Return where an image's project is written without asking; None to ask.

        For images that are worked through, any thread may ask.
        """
        own = image.parent
        if own in self._roots:
            return self._roots[own]
        if image in self._images or self.choice is SaveLocation.BESIDE:
            return own if is_writable(own) else None
        return self._collecting_folder()

    def is_worked_through(self, image: Path) -> bool:
        """Return whether an image is, or was, one of several."""
        return image.parent in self._roots or image in self._images

    def proposed_folder(self, image: Path) -> Path:
        """Return the folder that a dialog for saving begins with."""
        last = self._preferences.folder("save/folder")
        return self.writing_folder(image) or saving_folder(image, last)

    def search_folders(self, image: Path) -> tuple[Path, ...]:
        """Return where the project of an image may be: wherever it is written or proposed."""
        own = image.parent
        if self.is_worked_through(image):
            folders = [self._roots.get(own), own]
        else:
            folders = [self._chosen_for(own), own]
            folders += [self._collecting_folder(), self.proposed_folder(image)]
        return tuple(dict.fromkeys(folder for folder in folders if folder is not None))

    def _chosen_for(self, root: Path) -> Path | None:
        return self._preferences.folder(_root_key(root))

    def _collecting_folder(self) -> Path | None:
        is_chosen = self.choice is SaveLocation.FOLDER
        return self._preferences.folder("keep/folder") if is_chosen else None


def _root_key(root: Path) -> str:
    return f"places/{os.fsencode(root).hex()}"


def pasted_folder() -> Path:
    """Return the folder of pasted images."""
    return user_data_path("segapp", appauthor=False) / "pasted"


def documents_folder() -> Path:
    """Return the folder of the user's documents."""
    documents = user_documents_path()
    return documents if documents.is_dir() else Path.home()


def saving_folder(image: Path, last: Path | None) -> Path:
    """Return an image's own folder, or if that is not writable, the ``last`` one."""
    return image.parent if is_writable(image.parent) else last or documents_folder()


def is_the_users(folder: Path) -> bool:
    """Return whether a folder is the user's, and not one of the program's own."""
    return not any(folder.is_relative_to(own) for own in (ASSETS, pasted_folder()))


def is_writable(folder: Path) -> bool:
    """Return whether projects may be written into a folder without asking."""
    return is_the_users(folder) and os.access(folder, os.W_OK)


# The store -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SaveTask:
    """Work on an image that is to be written.

    Without a ``folder`` it goes into a recovery copy; so does work that was ``replaced`` by an
    opened project, which only undo can bring back. Where the ``answer_is_new``, it is written
    even if the work is saved already. The user may have chosen a ``path``, and to
    replace the file with a ``digest`` there.
    """

    state: PictureState
    folder: Path | None = None
    answer: Answer | None = None
    answer_is_new: bool = False
    replaced: bool = False
    path: Path | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SaveResult:
    """The outcome of a task: the saved project, or the error that prevented saving."""

    task: SaveTask
    location: ProjectLocation | None = None
    error: Exception | None = None


def _own_location(state: PictureState, folder: Path) -> ProjectLocation:
    """Return an image's project, or a new one in a folder."""
    return state.location or new_location(state.path, folder)


class ProjectStore:
    """The projects of all images, and the recovery copies of unsaved work.

    It alone makes locations and writes to them. `write` is for any thread, `run` for one at a
    time, everything else for the thread that made the store.
    """

    def __init__(self, policy: ProjectLocationPolicy, root: Path | None = None) -> None:
        self.policy = policy
        self.root = root or recovery_root()
        self._recovery = RecoveryFolder(self.root)
        self._writing = threading.Lock()  # the threads of this window write in turn
        self._written: dict[tuple[Path, Path], str] = {}  # digests by image and project
        self._writing_times: dict[Path, float] = {}  # by project
        self._orphaned: list[OrphanedFolder] = []
        self._restored: dict[Path, list[RecoveryCopy]] = {}

    # Locations

    def search(self, image: Path) -> FoundProject | None:
        """Return the project that an image opens with."""
        return find_project(image, *self.policy.search_folders(image))

    def proposed(self, state: PictureState) -> ProjectLocation:
        """Return where work on an image is saved unless the user chooses another file.

        It is found again when the image is opened, and replaces no file but its own.
        """
        return _own_location(state, self.policy.proposed_folder(state.path))

    def suggested(self, state: PictureState) -> Path:
        """Return the file that a dialog for saving begins with: no damaged project."""
        path = self.proposed(state).path
        if not path.exists() or read_project(path).project is not None:
            return path
        return free_location(state.path, path.parent).path

    # Saving

    def write(self, location: ProjectLocation, project: Project) -> ProjectLocation:
        """Write a project; return its new location.

        Raises
        ------
        ChangedByOthersError, OSError, ValueError
            When it is not written.
        """
        key = project.image_path, location.path
        with self._writing:
            saved = write_project(location, project, self._written.get(key))
            self._written[key] = saved.digest
            self._writing_times[location.path] = time.monotonic()
        return saved

    def written_since(self, path: Path, moment: float) -> bool:
        """Return whether a project was written here after a moment of `time.monotonic`."""
        return self._writing_times.get(path, -math.inf) >= moment

    def save(self, task: SaveTask) -> ProjectLocation:
        """Save work to the task's file, or to the image's project, as `write` does.

        Another file than the image's own project is replaced if it has the task's ``digest``: by
        default as it is now. A project of the image that another window has made meanwhile is
        not replaced: saving there fails.
        """
        path, digest = task.path, task.digest
        if path is None or digest is None:
            own = _own_location(task.state, task.folder or task.state.path.parent)
            if path is None or path == own.path:
                return self._save_at(own, task)
            digest = digest_of(path)
        return self._save_at(ProjectLocation(path, digest), task)

    def _save_at(self, location: ProjectLocation, task: SaveTask) -> ProjectLocation:
        state = task.state
        project = project_of(state.path, state.sha256, state.content, task.answer)
        revision = Revision(state.revision, self._recovery.writer)
        return self.write(location, replace(project, revision=revision))

    def save_in_folder(self, task: SaveTask) -> SaveResult:
        """Save to the image's project, or to a new one in the task's folder."""
        state, folder = task.state, task.folder
        if folder is None or task.replaced or not (state.unsaved or task.answer_is_new):
            return SaveResult(task)
        try:
            location = writable_location(state.location, state.path, folder)
            return SaveResult(task, self._save_at(location, task))
        except (ChangedByOthersError, OSError, ValueError) as error:
            return SaveResult(task, error=error)

    def run(self, task: SaveTask) -> SaveResult:
        """Save to the project if that can be, else to a recovery copy."""
        result = self.save_in_folder(task)
        if task.replaced:
            self._recovery.copy_replaced(task.state)
        elif result.location is None:
            self._recovery.copy(task.state)
        else:
            self._recovery.drop(task.state.path)
        return result

    def settle(self, result: SaveResult) -> None:
        """Remove restored copies whose work is in a project now, or in a copy of our own."""
        if not result.task.replaced:
            for copy in self._restored.pop(result.task.state.path, []):
                copy.folder.discard(copy)

    # Recovery

    def recovery_copies(self) -> list[AnyCopy]:
        """Return what crashed programs have left, newest first; no other window gets it."""
        self.release_orphaned()
        self._orphaned = orphaned_folders(self.root, self.search)
        copies = [copy for folder in self._orphaned for copy in folder.copies]
        return newest_first(copies)

    def restore(self, copy: RecoveryCopy) -> None:
        """Keep a copy until its work, which the session has now, is safe elsewhere."""
        self._restored.setdefault(copy.state.path, []).append(copy)

    def release_orphaned(self) -> None:
        """Leave what was neither restored nor discarded to the next program."""
        restored = {copy.folder for copies in self._restored.values() for copy in copies}
        for folder in self._orphaned:
            if folder not in restored:
                folder.release()
        self._orphaned = [folder for folder in self._orphaned if folder in restored]

    def close(self) -> None:
        """Remove the recovery copies: all work is saved or was discarded by the user."""
        for folder in self._orphaned:
            folder.release()
        self._recovery.close()


# Seconds until failed items are tried again, and again.
_RETRY_SECONDS = (2, 4, 8, 15, 30)


class SaveQueue:
    """Images, and work that was replaced, that wait to be written one after the other.

    A failed item waits for `retry`, or for newer work on its image.
    """

    def __init__(self) -> None:
        self._images: dict[Path, None] = {}  # in the order of their edits
        self._replaced: list[PictureState] = []
        self._current: Path | PictureState | None = None
        self._failed: list[Path | PictureState] = []
        self._n_retries = 0  # since an item succeeded

    def add(self, item: Path | PictureState) -> None:
        """Let an image's latest work be written, or a copy of work that was replaced."""
        if isinstance(item, Path):
            self._images[item] = None
        else:
            self._replaced.append(item)

    def __bool__(self) -> bool:
        """Whether items wait."""
        return bool(self._images or self._replaced)

    def take(self) -> Path | PictureState | None:
        """Return the next item, replaced work first."""
        if self._replaced:
            self._current = self._replaced.pop(0)
        else:
            self._current = next(iter(self._images), None)
            if self._current is not None:
                del self._images[self._current]
        return self._current

    def succeed(self) -> bool:
        """Note that the last item is written; return whether all failures are over."""
        had_failed = bool(self._failed)
        self._failed = [item for item in self._failed if item != self._current]
        if had_failed and not self._failed:
            self._n_retries = 0
            return True
        return False

    def fail(self) -> bool:
        """Note that the last item has failed; return whether it is the only one."""
        is_first = not self._failed
        if self._current is not None and self._current not in self._failed:
            self._failed.append(self._current)
        return is_first

    def begin_delay(self) -> int:
        """Return the seconds until the next `retry`; each time they are more."""
        seconds = _RETRY_SECONDS[min(self._n_retries, len(_RETRY_SECONDS) - 1)]
        self._n_retries += 1
        return seconds

    def retry(self) -> None:
        """Let all failed items be written."""
        for item in self._failed:
            self.add(item)


class ReplacedWork:
    """Unsaved work, replaced by an opened project, that only undo brings back."""

    def __init__(self) -> None:
        self._states: list[PictureState] = []

    def add(self, state: PictureState) -> None:
        """Remember work that an opened project is about to replace."""
        self._states.append(state)

    def lost(self, state_of: Callable[[Path], PictureState | None]) -> list[PictureState]:
        """Return the work, each once, that the present states of images do not hold."""
        lost: list[PictureState] = []
        for state in self._states:
            own, present = state.document.strokes, state_of(state.path)
            # Undo may have brought it back, and more may have been painted since.
            is_back = present is not None and present.document.strokes.after(own) is not None
            if not is_back and not any(_has_same_work(state, other) for other in lost):
                lost.append(state)
        return lost

    def forget_saved(self, saved: PictureState) -> None:
        """Drop work that is in a project now."""
        self._states = [
            state
            for state in self._states
            if state.path != saved.path or state.content != saved.saved
        ]

    def forget(self, state: PictureState) -> None:
        """Drop work that was saved under another name."""
        self._states = [other for other in self._states if not _has_same_work(state, other)]


def _has_same_work(one: PictureState, other: PictureState) -> bool:
    return one.path == other.path and one.content == other.content
