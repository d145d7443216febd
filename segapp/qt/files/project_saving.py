"""Saving over a project that other windows may save as well: nobody's work is replaced unseen."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from segapp.files.project_file import Project, save_project
from segapp.qt.files.folder_lock import FolderLock, LockHeldError
from segapp.qt.files.opening import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
