"""Recovery copies of unsaved work, and those that crashed programs have left."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from platformdirs import user_state_path

from segapp.app.project_files import FoundProject, read_project
from segapp.app.state import Content, History, PictureState
from segapp.io.control_files import FileLock, LockHeldError
from segapp.io.project import (
    PROJECT_SUFFIX,
    UNFINISHED_SUFFIX,
    Project,
    ProjectError,
    Revision,
    load_project,
    save_project,
    unfinished,
)
from shlcore.atomic_file import make_folder

Search = Callable[[Path], FoundProject | None]

_LOCK = "lock"
# Names tried for a new folder: another program takes one away only in the moment between its
# making and its locking.
_ATTEMPTS = 20


def recovery_root() -> Path:
    """Return the folder that holds the recovery folders of all running programs."""
    return user_state_path("segapp", appauthor=False) / "recovery"


class RecoveryFolder:
    """The folder of this program's recovery copies, removed after a clean end.

    It is used from one thread at a time. ``writer`` is this program's name in revisions.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.writer = uuid.uuid4().hex[:8]
        self._folder: Path | None = None
        self._lock: FileLock | None = None

    def copy(self, state: PictureState) -> None:
        """Copy unsaved work on an image, or drop the copy of work that is saved."""
        if state.unsaved:
            save_project(self._held() / _copy_name(state.path), self._as_copy(state))
        else:
            self.drop(state.path)

    def copy_replaced(self, state: PictureState) -> None:
        """Copy work that was replaced by an opened project, under a name of its own."""
        name = _copy_name(state.path).removesuffix(PROJECT_SUFFIX)
        file = self._held() / f"{name}-{uuid.uuid4().hex[:8]}{PROJECT_SUFFIX}"
        save_project(file, self._as_copy(state))

    def _as_copy(self, state: PictureState) -> Project:
        content, revision = state.content, Revision(state.revision, self.writer)
        return Project(
            content.document,
            content.settings,
            state.path,
            state.sha256,
            base=state.location,
            revision=revision,
        )

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
            make_folder(folder)
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
    error: ProjectError


AnyCopy = RecoveryCopy | UnreadableCopy


class OrphanedFolder:
    """The recovery folder of a program that has crashed, locked against other windows."""

    def __init__(self, folder: Path, lock: FileLock | None, search: Search) -> None:
        self.folder = folder
        self._lock = lock
        self.copies: list[AnyCopy] = []
        for file in sorted(_copy_files(folder)):
            if file.exists() or zipfile.is_zipfile(unfinished(file)):
                self.copies.append(self._read(file, search))
            else:  # half of a copy
                unfinished(file).unlink()

    def _read(self, file: Path, search: Search) -> AnyCopy:
        modified = _modified(file)
        try:
            copy = load_project(file)
        except ProjectError as error:
            return UnreadableCopy(file, self, modified, error)
        state = PictureState(
            copy.image_path.absolute(),
            copy.image_sha256,
            History(Content(copy.document, copy.settings)),
            restored=True,
            revision=copy.revision.number,
        )
        found = search(state.path) if copy.base is None else read_project(copy.base.path)
        if found is None or found.project is None:
            return RecoveryCopy(file, self, modified, state)
        saved = Content(found.project.document, found.project.settings)
        is_newer = found.project.revision.is_newer_than(copy.revision)
        if copy.base != found.location and (is_newer or _goes_on_from(state.content, saved)):
            return RecoveryCopy(file, self, modified, state, outdated=True)
        if copy.base is not None or _goes_on_from(saved, state.content):
            state = replace(state, saved=saved, location=copy.base or found.location)
        return RecoveryCopy(file, self, modified, state)

    def discard(self, copy: AnyCopy) -> None:
        """Remove one copy for good, and with the last one the folder."""
        for file in (copy.file, unfinished(copy.file)):
            file.unlink(missing_ok=True)
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


def _goes_on_from(before: Content, after: Content) -> bool:
    """Return whether one work is the other, or continues it, whatever the clocks say."""
    if before == after:
        return True
    old, new = before.document, after.document
    return (
        bool(new.strokes.after(old.strokes))
        and new.retouches.after(old.retouches) is not None
        and old.hair == new.hair[: len(old.hair)]
    )


def newest_first(copies: list[AnyCopy]) -> list[AnyCopy]:
    """Sort copies by time, and those of an image by the number of their edits."""
    moments: dict[Path, float] = {}
    for copy in copies:
        if isinstance(copy, RecoveryCopy):
            moments[copy.state.path] = max(copy.time, moments.get(copy.state.path, copy.time))

    def key(copy: AnyCopy) -> tuple[bool, float, int, float]:
        if isinstance(copy, UnreadableCopy):
            return True, 0.0, 0, -copy.time
        return False, -moments[copy.state.path], -copy.state.revision, -copy.time

    return sorted(copies, key=key)


def orphaned_folders(root: Path, search: Search) -> list[OrphanedFolder]:
    """Return the recovery folders of programs that have ended; remove empty ones."""
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
        found = OrphanedFolder(folder, lock, search)
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


def _copy_files(folder: Path) -> set[Path]:
    left = folder.glob(f".*{PROJECT_SUFFIX}{UNFINISHED_SUFFIX}")
    names = {path.name[1:].removesuffix(UNFINISHED_SUFFIX) for path in left}
    return {*folder.glob(f"*{PROJECT_SUFFIX}"), *(folder / name for name in names)}


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _copy_name(image: Path) -> str:
    return f"{hashlib.sha256(os.fsencode(image)).hexdigest()[:24]}{PROJECT_SUFFIX}"
