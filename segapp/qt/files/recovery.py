"""Recovery copies of unsaved work, and safe saving of projects."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from platformdirs import user_state_path

from segapp.app.project_store import FolderLock, LockHeldError
from segapp.app.state import Content, History, PictureState
from segapp.io.project import PROJECT_SUFFIX, Project, ProjectError, load_project, save_project
from segapp.qt.files.opening import digest_of, project_beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_LOCK = "lock"
# Names tried for a new folder: another program takes one away only in the moment between its
# making and its locking.
_ATTEMPTS = 20


def recovery_root() -> Path:
    """Return the folder in which each running program has a folder of its own."""
    return user_state_path("segapp", appauthor=False) / "recovery"


class OwnFolder:
    """The copies of this program: made with the first of them, and gone after a clean end.

    Whoever uses it does so from one thread at a time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder: Path | None = None
        self._lock: FolderLock | None = None

    def keep(self, state: PictureState) -> None:
        """Copy a picture's strokes if they are in no project, else drop the copy of before."""
        if not state.unsaved:
            self.drop(state.path)
            return
        save_project(self._held() / _file_name(state.path), _project(state))

    def drop(self, path: Path) -> None:
        """Remove the copy of a picture whose strokes are in a project."""
        if self._folder is not None:
            (self._folder / _file_name(path)).unlink(missing_ok=True)

    def set_aside(self, state: PictureState) -> None:
        """Copy strokes under a name of their own, beside what the picture has from now on."""
        name = _file_name(state.path).replace(PROJECT_SUFFIX, f"-{uuid.uuid4().hex[:8]}")
        save_project(self._held() / f"{name}{PROJECT_SUFFIX}", _project(state))

    def _held(self) -> Path:
        """Return the folder, made anew when somebody has cleared it away."""
        if self._folder is not None and self._lock is not None and self._lock.in_place:
            return self._folder
        self._release()
        for _ in range(_ATTEMPTS):
            folder = self._root / uuid.uuid4().hex
            folder.mkdir(parents=True)
            try:
                lock = FolderLock(folder / _LOCK, create=True)
            except (LockHeldError, FileNotFoundError):
                continue  # somebody took the empty folder for one that was left behind
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
        """Remove the copies: everything is saved or was given up."""
        self._release()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class LeftCopy:
    """Strokes that a program left behind; ``time`` is when, in seconds since 1970."""

    file: Path
    time: float
    state: PictureState
    outdated: bool = False  # the project beside the image was saved later


@dataclass(frozen=True, slots=True)
class UnreadableCopy:
    """A copy that this program cannot read; a newer one, or a better disk, may."""

    file: Path
    time: float
    reason: str


class LeftFolder:
    """What a program left behind, locked so that no other window offers it as well."""

    def __init__(self, folder: Path, lock: FolderLock | None) -> None:
        self.folder = folder
        self._lock = lock
        self.copies: list[LeftCopy] = []
        self.unreadable: list[UnreadableCopy] = []
        for file in sorted(_copy_files(folder)):
            self._read(file)

    def _read(self, file: Path) -> None:
        time = _changed(file)
        try:
            project = load_project(file)
        except ProjectError as error:
            self.unreadable.append(UnreadableCopy(file, time, str(error)))
        else:
            state = _restored(project)
            outdated = _changed(project_beside(state.path)) > time
            state = state if outdated else _over_its_project(state)
            self.copies.append(LeftCopy(file, time, state, outdated))

    def discard(self, file: Path) -> None:
        """Remove one copy for good, and with the last one the folder."""
        file.unlink(missing_ok=True)
        self.tidy()

    def tidy(self) -> None:
        """Remove the folder when there is no copy in it."""
        if not _copy_files(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.release()

    def release(self) -> None:
        """Leave what is there to the next program that starts."""
        if self._lock is not None:
            self._lock.release()


def left_behind(root: Path) -> list[LeftFolder]:
    """Return the folders that belong to nobody, locked; those without a copy are removed."""
    found = []
    for folder in _folders(root):
        lock = None
        if (folder / _LOCK).exists():
            try:
                lock = FolderLock(folder / _LOCK, create=False)
            except OSError:
                continue  # of a program that runs, or out of reach
        elif not _copy_files(folder):
            continue  # of a program that is just starting
        left = LeftFolder(folder, lock)
        if left.copies or left.unreadable:
            found.append(left)
        else:
            left.tidy()
    return found


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []


def _copy_files(folder: Path) -> list[Path]:
    return list(folder.glob(f"*{PROJECT_SUFFIX}"))


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _file_name(image: Path) -> str:
    return f"{hashlib.sha256(os.fsencode(image)).hexdigest()[:24]}{PROJECT_SUFFIX}"


def _project(state: PictureState) -> Project:
    content = state.content
    return Project(content.document, content.settings, state.path, state.sha256)


def _restored(project: Project) -> PictureState:
    return PictureState(
        project.image_path.absolute(),
        project.image_sha256,
        History(Content(project.document, project.settings)),
        restored=True,
    )


def _over_its_project(state: PictureState) -> PictureState:
    """Let the strokes be what was done since the project beside the image, if there is one.

    Otherwise saving would go to a second project, while the image opens with the first.
    """
    beside = project_beside(state.path)
    digest = digest_of(beside)
    try:
        project = load_project(beside)
    except ProjectError:
        return state
    if project.image_path.absolute() != state.path:
        return state
    saved = Content(project.document, project.settings)
    return replace(state, saved=saved, project=beside, digest=digest)


# Seconds to wait for another window: a project takes milliseconds to write.
_PATIENCE = 2.0
_PAUSE = 0.01


class ChangedByOthersError(Exception):
    """The file is another one than was known; ``digest`` is of what it holds now."""

    def __init__(self, digest: str) -> None:
        super().__init__("the project was changed by another window or program")
        self.digest = digest


def save_over(path: Path, project: Project, known: str) -> str:
    """Write a project unless somebody else has changed the file; return its new digest.

    ``known`` is the digest of what may be replaced, empty for no file at all. A file that is
    gone is made anew. Windows take turns by a lock beside the file, so that nobody writes
    between the look at the file and its replacement; a program that knows nothing of the lock
    can do so still, within the milliseconds of one write.
    """
    with _turn(path):
        present = digest_of(path)
        if present not in ("", known):
            raise ChangedByOthersError(present)
        save_project(path, project)
        return digest_of(path)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    file = path.resolve().with_name(f".{path.name[:40]}.lock")
    lock = _taken(file)
    try:
        yield
    finally:
        if lock is not None:
            lock.remove()


def _taken(file: Path) -> FolderLock | None:
    """Wait for the lock; None where the folder allows none, and so no project either."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock = FolderLock(file, create=True)
        except LockHeldError:
            if time.monotonic() > until:
                raise
        except OSError:
            return None
        else:
            if lock.in_place:
                return lock
            lock.release()  # the one before has removed it meanwhile
        time.sleep(_PAUSE)
