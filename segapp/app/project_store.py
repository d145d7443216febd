"""Project files of images: names, locations, locks and recovery copies."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from platformdirs import user_data_path, user_documents_path, user_state_path

from segapp.app.state import Content, History, PictureState
from segapp.io.desktop import ASSETS
from segapp.io.project import (
    PROJECT_SUFFIX,
    Project,
    ProjectError,
    ProjectLocation,
    load_project,
    save_project,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segapp.model.answer import Answer


# Names -----------------------------------------------------------------------------------------


def project_names(image: Path) -> tuple[str, ...]:
    """Return the names that the project of an image may have; the first free one is taken.

    ``cat.segapp``, or beside the project of ``cat.png`` ``cat.jpg.segapp``. Where projects of
    several folders are collected, the last name has a digest of the image's own folder.

    >>> project_names(Path("/a/cat.jpg"))
    ('cat.segapp', 'cat.jpg.segapp', 'cat.jpg-15e49d6d.segapp')
    """
    digest = hashlib.sha256(os.fsencode(image.absolute().parent)).hexdigest()[:8]
    stems = (image.stem, image.name, f"{image.name}-{digest}")
    return tuple(f"{stem}{PROJECT_SUFFIX}" for stem in stems)


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project on disk; where it cannot be read, the ``error`` that says why."""

    location: ProjectLocation
    project: Project | None = None
    error: ProjectError | None = None

    def require(self) -> Project:
        """Return the project, or raise the error."""
        if self.project is None:
            raise self.error or ProjectError(f"{self.location.path.name} is not there.")
        return self.project


def digest_of(path: Path) -> str:
    """Return a digest of a file's bytes; empty when there is no file, or it is unreadable."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def read_project(path: Path) -> FoundProject:
    """Read a project with the digest that a later save compares."""
    # The digest first: if the file is replaced in between, the next save asks needlessly, which
    # is better than not asking.
    digest = digest_of(path)
    try:
        return FoundProject(ProjectLocation(path, digest), load_project(path))
    except ProjectError as error:
        return FoundProject(ProjectLocation(path), error=error)


def find_project(image: Path, *folders: Path) -> FoundProject | None:
    """Return the project of an image, from the first of the folders that holds one.

    A file that cannot be read counts as the image's project when no other one is found: the
    user is told of it, and it is never replaced.
    """
    unreadable = None
    for folder in folders:
        for name in reversed(project_names(image)):
            path = folder / name
            if not path.is_file():
                continue
            found = read_project(path)
            if found.project is None:
                unreadable = unreadable or found
            elif _is_same_image(found.project.image_path, image):
                return found
    return unreadable


def new_location(image: Path, folder: Path) -> ProjectLocation:
    """Return where work on an image goes that does not come from a project in the folder.

    A project of the image that was made meanwhile is not replaced: saving there fails.
    """
    found = find_project(image, folder)
    return free_location(image, folder) if found is None else ProjectLocation(found.location.path)


def writable_location(
    location: ProjectLocation | None, image: Path, folder: Path
) -> ProjectLocation:
    """Return a location where it can be written, else a new one in a folder."""
    if location is not None and os.access(location.path.parent, os.W_OK):
        return location
    return new_location(image, folder)


def free_location(image: Path, folder: Path) -> ProjectLocation:
    """Return where an image that has no project in a folder gets one."""
    paths = [folder / name for name in project_names(image)]
    return ProjectLocation(next((path for path in paths if not path.exists()), paths[-1]))


def with_projects(images: list[Path], *folders: Path) -> set[Path]:
    """Return the images that have a project, by listing each folder once.

    Projects are opened only where several images share a stem.
    """
    n_images: dict[str, int] = {}
    for image in images:
        n_images[image.stem] = n_images.get(image.stem, 0) + 1
    found: set[Path] = set()
    for folder in folders:
        try:
            names = {path.name for path in folder.iterdir() if path.suffix == PROJECT_SUFFIX}
        except OSError:
            continue
        for image in images:
            short, *exact = project_names(image)
            if not names.isdisjoint(exact) or (
                short in names
                and (n_images[image.stem] == 1 or find_project(image, folder) is not None)
            ):
                found.add(image)
    return found


def _is_same_image(one: Path, other: Path) -> bool:
    """Compare paths, also through links to their folders."""
    one, other = one.absolute(), other.absolute()
    if one == other or one.name != other.name:
        return one == other
    try:
        return one.parent.samefile(other.parent)
    except OSError:
        return False


# Locks and safe writing ------------------------------------------------------------------------

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class LockHeldError(OSError):
    """Another program holds the lock."""


class FileLock:
    """An exclusive lock on a file, whose content is of no importance.

    The system itself drops the lock of a program that was killed, here as on another machine.
    On a file system without locks, taking one always succeeds.

    Raises
    ------
    LockHeldError
        When another window or program has it.
    OSError
        When the file cannot be opened.
    """

    def __init__(self, file: Path, *, create: bool) -> None:
        self._file = file
        self._handle = os.open(file, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        try:
            _lock(self._handle)
        except OSError as error:
            if error.errno in _HELD:
                self.release()
                raise LockHeldError(error.errno, error.strerror, str(file)) from error

    @property
    def in_place(self) -> bool:
        """Whether the file is still there, and still the one that is locked."""
        try:
            return os.path.samestat(os.stat(self._file), os.fstat(self._handle))
        except OSError:
            return False

    def remove(self) -> None:
        """Release the lock and remove the file.

        A process that has opened the file meanwhile notices by `in_place` that it is gone.
        Where an open file cannot be removed, it stays, which does no harm.
        """
        with suppress(OSError):
            self._file.unlink()
        self.release()

    def release(self) -> None:
        """Release the lock; more than once does no harm."""
        if self._handle >= 0:
            with suppress(OSError):
                os.close(self._handle)
        self._handle = -1


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ChangedByOthersError(Exception):
    """The file was changed by another process; ``digest`` is of its present bytes."""

    def __init__(self, digest: str) -> None:
        super().__init__("the project was changed by another window or program")
        self.digest = digest


# Seconds to wait for another window, and between two attempts: writing a project takes
# milliseconds.
_PATIENCE, _PAUSE = 2.0, 0.01


def write_project(
    location: ProjectLocation, project: Project, written: str | None = None
) -> ProjectLocation:
    """Write a project unless another process has changed the file; return its new location.

    What may be replaced has the location's digest, or the digest that this process has
    ``written`` since; a file that is gone is made anew. Windows take turns by a lock beside the
    file. A program that ignores the lock can still write within the milliseconds of one write.
    """
    path = location.path
    with _turn(path):
        present = digest_of(path)
        if present not in ("", location.digest, written):
            raise ChangedByOthersError(present)
        save_project(path, project)
        return ProjectLocation(path, digest_of(path))


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    file = path.resolve().with_name(f".{path.name[:40]}.lock")
    lock = _acquired(file)
    try:
        yield
    finally:
        if lock is not None:
            lock.remove()


def _acquired(file: Path) -> FileLock | None:
    """Wait for a lock; None where the folder allows none, and so no project either."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock = FileLock(file, create=True)
        except LockHeldError:
            if time.monotonic() > until:
                raise
        except OSError:
            return None
        else:
            if lock.in_place:
                return lock
            lock.release()  # its last holder has removed the file meanwhile
        time.sleep(_PAUSE)


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
    """Return an image's own folder, or where that is not writable, the ``last`` one used."""
    return image.parent if is_writable(image.parent) else last or documents_folder()


def is_the_users(folder: Path) -> bool:
    """Return whether a folder is the user's, and not one of the program's own."""
    return not any(folder.is_relative_to(own) for own in (ASSETS, pasted_folder()))


def is_writable(folder: Path) -> bool:
    """Return whether projects may be written into a folder without asking."""
    return is_the_users(folder) and os.access(folder, os.W_OK)


# Recovery copies -------------------------------------------------------------------------------

_LOCK = "lock"
# Names tried for a new folder: another program takes one away only in the moment between its
# making and its locking.
_ATTEMPTS = 20


def recovery_root() -> Path:
    """Return the folder in which each running program has a recovery folder of its own."""
    return user_state_path("segapp", appauthor=False) / "recovery"


class RecoveryFolder:
    """The recovery copies of this program: made with the first, removed after a clean end.

    It is used from one thread at a time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder: Path | None = None
        self._lock: FileLock | None = None

    def copy(self, state: PictureState) -> None:
        """Copy unsaved work on an image, or drop the copy of work that is saved."""
        if state.unsaved:
            save_project(self._held() / _copy_name(state.path), _as_copy(state))
        else:
            self.drop(state.path)

    def copy_replaced(self, state: PictureState) -> None:
        """Copy work that was replaced by an opened project, under a name of its own."""
        name = _copy_name(state.path).removesuffix(PROJECT_SUFFIX)
        file = self._held() / f"{name}-{uuid.uuid4().hex[:8]}{PROJECT_SUFFIX}"
        save_project(file, _as_copy(state))

    def drop(self, image: Path) -> None:
        """Remove the copy of an image whose work is in a project."""
        if self._folder is not None:
            (self._folder / _copy_name(image)).unlink(missing_ok=True)

    def _held(self) -> Path:
        """Return the folder, made anew when it was deleted."""
        if self._folder is not None and self._lock is not None and self._lock.in_place:
            return self._folder
        self._release()
        for _ in range(_ATTEMPTS):
            folder = self._root / uuid.uuid4().hex
            folder.mkdir(parents=True)
            try:
                lock = FileLock(folder / _LOCK, create=True)
            except (LockHeldError, FileNotFoundError):
                continue  # another program took the empty folder for an orphaned one
            if lock.in_place:
                self._folder, self._lock = folder, lock
                return folder
            lock.release()
        raise FileNotFoundError(f"no folder can be kept in {self._root}")

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
        self._lock = None

    def close(self) -> None:
        """Remove the copies: everything is saved or was discarded by the user."""
        self._release()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryCopy:
    """Work that a program has left unsaved; ``time`` is in seconds since 1970.

    It is ``outdated`` when the saved project is newer.
    """

    file: Path
    folder: OrphanedFolder
    time: float
    state: PictureState
    outdated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class UnreadableCopy:
    """A recovery copy that this version, or this disk, cannot read."""

    file: Path
    folder: OrphanedFolder
    time: float
    reason: str


AnyCopy = RecoveryCopy | UnreadableCopy


class OrphanedFolder:
    """The recovery folder of a program that has crashed, locked against other windows."""

    def __init__(self, folder: Path, lock: FileLock | None, store: ProjectStore) -> None:
        self.folder = folder
        self._lock = lock
        self.copies: list[AnyCopy] = []
        for file in sorted(_copy_files(folder)):
            self.copies.append(self._read(file, store))

    def _read(self, file: Path, store: ProjectStore) -> AnyCopy:
        modified = _modified(file)
        try:
            copy = load_project(file)
        except ProjectError as error:
            return UnreadableCopy(file, self, modified, str(error))
        state = PictureState(
            copy.image_path.absolute(),
            copy.image_sha256,
            History(Content(copy.document, copy.settings)),
            restored=True,
        )
        found = store.search(state.path) if copy.base is None else read_project(copy.base.path)
        if found is None or found.project is None:
            return RecoveryCopy(file, self, modified, state)
        saved = Content(found.project.document, found.project.settings)
        if _is_outdated(copy, modified, found):
            return RecoveryCopy(file, self, modified, state, outdated=True)
        state = replace(state, saved=saved, location=copy.base or found.location)
        return RecoveryCopy(file, self, modified, state)

    def discard(self, copy: AnyCopy) -> None:
        """Remove one copy for good, and with the last one the folder."""
        copy.file.unlink(missing_ok=True)
        self.remove_if_empty()

    def remove_if_empty(self) -> None:
        """Remove the folder when there is no copy in it."""
        if not _copy_files(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.release()

    def release(self) -> None:
        """Leave the copies to the next program that starts."""
        if self._lock is not None:
            self._lock.release()


def _is_outdated(copy: Project, modified: float, found: FoundProject) -> bool:
    """Return whether the saved project holds what a recovery copy holds, or newer work.

    A copy knows the project that it continues: while that has not changed, the copy is newer,
    whatever the clocks say.
    """
    if copy.base == found.location:
        return False
    saved = found.project
    if saved is not None and (copy.document, copy.settings) == (saved.document, saved.settings):
        return True
    return _modified(found.location.path) > modified


def orphaned_folders(root: Path, store: ProjectStore) -> list[OrphanedFolder]:
    """Return the recovery folders of programs that have ended; those without a copy go."""
    orphaned = []
    for folder in _folders(root):
        lock = None
        if (folder / _LOCK).exists():
            try:
                lock = FileLock(folder / _LOCK, create=False)
            except OSError:
                continue  # of a program that runs, or out of reach
        elif not _copy_files(folder):
            continue  # of a program that is just starting
        found = OrphanedFolder(folder, lock, store)
        if found.copies:
            orphaned.append(found)
        else:
            found.remove_if_empty()
    return orphaned


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []


def _copy_files(folder: Path) -> list[Path]:
    return list(folder.glob(f"*{PROJECT_SUFFIX}"))


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _copy_name(image: Path) -> str:
    return f"{hashlib.sha256(os.fsencode(image)).hexdigest()[:24]}{PROJECT_SUFFIX}"


def _as_copy(state: PictureState) -> Project:
    content = state.content
    return Project(
        content.document, content.settings, state.path, state.sha256, base=state.location
    )


# The store -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SaveTask:
    """Work on an image that is to be written.

    Without a ``folder`` it goes into a recovery copy; so does work that was ``replaced`` by an
    opened project, which only undo can bring back.
    """

    state: PictureState
    folder: Path | None = None
    answer: Answer | None = None
    replaced: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SaveResult:
    """The outcome of a task: the saved project, or else a recovery copy; and any error."""

    task: SaveTask
    location: ProjectLocation | None = None
    error: Exception | None = None


class ProjectStore:
    """The projects of all images, and the recovery copies of work that is in no project.

    It alone makes locations and writes to them. `write` is for any thread, `run` for one at a
    time, everything else for the thread that made the store.
    """

    def __init__(self, policy: ProjectLocationPolicy, root: Path | None = None) -> None:
        self.policy = policy
        self.root = root or recovery_root()
        self._recovery = RecoveryFolder(self.root)
        self._written: dict[tuple[Path, Path], str] = {}  # digests by image and project
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
        if state.location is not None:
            return state.location
        return free_location(state.path, self.policy.proposed_folder(state.path))

    @staticmethod
    def chosen(state: PictureState, path: Path, digest: str | None = None) -> ProjectLocation:
        """Return a file that the user has chosen.

        It is replaced if it has the ``digest``: by default the one that was read or written last
        in the image's own project, or else the present one.
        """
        if digest is None and state.location is not None and state.location.path == path:
            return state.location
        return ProjectLocation(path, digest_of(path) if digest is None else digest)

    # Saving

    def write(self, location: ProjectLocation, project: Project) -> ProjectLocation:
        """Write a project; return its new location.

        Raises
        ------
        ChangedByOthersError, OSError, ValueError
            When it is not written.
        """
        key = project.image_path, location.path
        saved = write_project(location, project, self._written.get(key))
        self._written[key] = saved.digest
        return saved

    def save(
        self, state: PictureState, location: ProjectLocation, answer: Answer | None = None
    ) -> ProjectLocation:
        """Write work on an image, with its current ``answer``, as `write` does."""
        content = state.content
        carried = answer.snapshot() if answer is not None else None
        return self.write(
            location,
            Project(content.document, content.settings, state.path, state.sha256, answer=carried),
        )

    def save_in_folder(self, task: SaveTask) -> SaveResult:
        """Save to the image's project, or to a new one in the task's folder, if there is one."""
        state, folder = task.state, task.folder
        if folder is None or task.replaced or not state.unsaved:
            return SaveResult(task)
        try:
            location = writable_location(state.location, state.path, folder)
            return SaveResult(task, self.save(state, location, task.answer))
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
        self._orphaned = orphaned_folders(self.root, self)
        copies = [copy for folder in self._orphaned for copy in folder.copies]
        return sorted(copies, key=lambda copy: (isinstance(copy, UnreadableCopy), -copy.time))

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
        """Return the next item; replaced work first, as its image's copy may hold the same."""
        if self._replaced:
            self._current = self._replaced.pop(0)
        else:
            self._current = next(iter(self._images), None)
            if self._current is not None:
                del self._images[self._current]
        return self._current

    def succeed(self) -> bool:
        """Note that the item taken last is written; return whether that ends a row of failures."""
        had_failed = bool(self._failed)
        self._failed = [item for item in self._failed if item != self._current]
        if had_failed and not self._failed:
            self._n_retries = 0
            return True
        return False

    def fail(self) -> bool:
        """Note that the item taken last is not written; return whether it is the first one."""
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
    """Unsaved work that was replaced by an opened project, and that only undo brings back."""

    def __init__(self) -> None:
        self._states: list[PictureState] = []

    def add(self, state: PictureState) -> None:
        """Remember work that an opened project is about to replace."""
        self._states.append(state)

    def lost(self, state_of: Callable[[Path], PictureState | None]) -> list[PictureState]:
        """Return the work, each once, that is not part of the present states of its images."""
        lost: list[PictureState] = []
        for state in self._states:
            own, present = state.document.strokes, state_of(state.path)
            # Undo may have brought it back, and more may have been painted since.
            is_back = present is not None and present.document.strokes[: len(own)] == own
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
