"""Files that are replaced whole or not at all."""

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
    """Open a file beside ``path`` for writing and move it there when the block ends well.

    When the block raises, or the disk is full, ``path`` is as it was. A link keeps its target's
    place, and a file that is replaced keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    handle, beside = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    os.close(handle)  # opened again by its name, which some libraries ask a file for
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
    """Replace a file by UTF-8 text."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def _permissions(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666 & ~_umask()


def _umask() -> int:
    # The mask can only be read by setting it. Linux tells it without that, which matters when
    # another thread makes a file at the same moment.
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
