"""Project paths of images, and locks of folders."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from segapp.io.project import PROJECT_SUFFIX, ProjectError, load_project


def project_names(image: Path) -> tuple[str, str]:
    """Return what the project of an image may be called.

    ``cat.segapp`` for ``cat.jpg``; where that belongs to ``cat.png``, ``cat.jpg.segapp``.
    """
    return f"{image.stem}{PROJECT_SUFFIX}", f"{image.name}{PROJECT_SUFFIX}"


def project_of(image: Path, folder: Path | None = None) -> Path | None:
    """Return the project of an image, beside it or in another folder, or ``None``.

    A project that cannot be read is taken for the image's own: nobody may write over it, and
    whoever opens it is told.
    """
    short, full = ((folder or image.parent) / name for name in project_names(image))
    if full.is_file():
        return full
    return short if short.is_file() and belongs_to(short, image) else None


def new_project(image: Path, folder: Path | None = None) -> Path:
    """Return where the project of an image goes that has none yet."""
    short, full = ((folder or image.parent) / name for name in project_names(image))
    return full if short.exists() else short


def belongs_to(project: Path, image: Path) -> bool:
    """Tell whether a project is of this image, by the name that it has stored."""
    try:
        return load_project(project).image_path.name == image.name
    except ProjectError:
        return True


def marked_images(images: list[Path], folder: Path | None = None) -> set[Path]:
    """Return the images that have a project, after one look at the folder.

    Only where several images have a stem in common, their projects are opened.
    """
    place = folder or (images[0].parent if images else Path())
    try:
        there = {path.name for path in place.iterdir() if path.suffix == PROJECT_SUFFIX}
    except OSError:
        return set()
    stems: dict[str, int] = {}
    for image in images:
        stems[image.stem] = stems.get(image.stem, 0) + 1
    found = set()
    for image in images:
        short, full = project_names(image)
        if full in there or (
            short in there and (stems[image.stem] == 1 or belongs_to(place / short, image))
        ):
            found.add(image)
    return found


_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class LockHeldError(OSError):
    """Another program holds the lock."""


class FolderLock:
    """A locked file; what the file says does not matter, only whether somebody holds it.

    The system itself forgets the lock of a program that was killed, here as on another
    machine. On a file system without locks, taking one always succeeds.

    Raises
    ------
    LockHeldError
        When somebody else has it.
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
        """Let others have it, and leave no file behind.

        Whoever has opened the file meanwhile notices by `in_place` that it is gone. Where a
        file that is open cannot be removed, it stays, which does no harm.
        """
        with suppress(OSError):
            self._file.unlink()
        self.release()

    def release(self) -> None:
        """Let others have it; once is enough, and more does no harm."""
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
