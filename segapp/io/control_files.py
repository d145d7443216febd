"""Files of our own in the folders of users: reading, locks and writing.

A folder may come from a stranger. Its links are not followed, its pipes are not waited for, and
its files are read up to a bound.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from segapp.model.validation import SegappError
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path


# Reading and writing ---------------------------------------------------------------------------


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> BufferedReader:
    """Open a regular file; a pipe or a device, which could block, is an error."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follow_links:
        _refuse_link(path)
        flags |= getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags)
    try:
        _require_regular(handle, path)
    except OSError:
        os.close(handle)
        raise
    return open(handle, "rb")


def _require_regular(handle: int, path: str | os.PathLike[str]) -> None:
    kind = os.fstat(handle).st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "a device or a pipe is no file", str(path))


def _refuse_link(path: str | os.PathLike[str]) -> None:
    if os.path.islink(path):
        raise OSError(errno.ELOOP, "it is a link, and may lead anywhere", str(path))


def read_control(path: Path, most: int) -> bytes | None:
    """Return the bytes of a control file; None where there is none.

    Raises
    ------
    OSError
        When it cannot be read, or is a link, a pipe or a folder.
    SegappError
        When it has more than ``most`` bytes.
    """
    try:
        with open_regular(path, follow_links=False) as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        return None
    if len(content) > most:
        raise SegappError(f"wanted at most {most} bytes")
    return content


def write_control(path: Path, text: str) -> None:
    """Write a control file, complete or not at all, and never through a link."""
    _refuse_link(path)
    write_text(path, text)


def append_control(path: Path, content: bytes) -> None:
    """Append to a control file, never through a link and to no pipe."""
    _refuse_link(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        _require_regular(handle, path)
        os.write(handle, content)
    finally:
        os.close(handle)


# Locks ----------------------------------------------------------------------------------------

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
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        self._handle = os.open(file, flags | (os.O_CREAT if create else 0), 0o600)
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


# Seconds to wait for another window, and between two attempts: writing a project takes
# milliseconds, and some seconds on a slow disk.
_PATIENCE, _PAUSE = 20.0, 0.01


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Keep other windows from writing a file, as they wait for their turn here too."""
    file = path.with_name(f".{path.name[:40]}.lock")
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
            if file.is_symlink():  # which no program of ours has made
                raise
            return None
        else:
            if lock.in_place:
                return lock
            lock.release()  # its last holder has removed the file meanwhile
        time.sleep(_PAUSE)
