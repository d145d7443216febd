"""Atomic replacement of files, so that a file is complete or unchanged."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], *, beside: Path | None = None
) -> Iterator[IO[bytes]]:
    """Write a file that replaces ``path`` when the ``with`` block succeeds.

    The block gets a temporary file. If the block raises an error, or the disk is full, ``path``
    is unchanged; after a success it is on the disk, whatever happens to the machine.
    Permissions are kept. A link is replaced by the file: the file that it leads to may be
    anyone's.

    Parameters
    ----------
    beside
        The temporary file, in the folder of ``path``; by default one with a name of its own.
    """
    target = Path(path)
    if beside is None:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
        os.close(handle)  # opened again below, because some libraries need the file's name
        beside, mode = Path(name), "wb"
    else:
        beside.unlink(missing_ok=True)  # of a program that was killed
        mode = "xb"
    try:
        with open(beside, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _check_own(file, beside)
        os.chmod(beside, _permissions(target))
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text by `atomic_write`."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def make_folder(path: Path) -> None:
    """Make a folder with its parents, so that they are on the disk."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until new, replaced and removed names of a folder are on the disk."""
    if sys.platform == "win32":  # where the names are written with the files
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that know no folders
            raise
    finally:
        os.close(handle)


def _check_own(file: IO[bytes], beside: Path) -> None:
    """Check that no other program has begun to write the same temporary file."""
    if not beside.exists() or not os.path.samestat(os.fstat(file.fileno()), beside.stat()):
        raise BlockingIOError(errno.EBUSY, "another program is writing it", str(beside))


def _permissions(target: Path) -> int:
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    return 0o666 & ~_umask() if stat.S_ISLNK(found) else found & 0o777


def _umask() -> int:
    # `os.umask` returns the mask only while setting it, which affects files that other threads
    # create at the same moment. On Linux the mask can be read without setting it.
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
