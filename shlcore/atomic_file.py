"""Atomic replacement of files, so that a file is complete or unchanged."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that replaces ``path`` when the ``with`` block succeeds.

    The block gets a temporary file beside ``path``. If the block raises an error, or the disk is
    full, ``path`` is unchanged. A link stays a link, and permissions are kept.
    """
    target = Path(os.path.realpath(path))
    handle, beside = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    os.close(handle)  # opened again below, because some libraries need the file's name
    try:
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _permissions(target))
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text by `atomic_write`."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def _permissions(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666 & ~_umask()


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
