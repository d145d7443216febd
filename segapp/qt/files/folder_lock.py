"""A lock that ends with the program that holds it, however that ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

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
