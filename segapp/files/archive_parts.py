"""Parts of ZIP archives that strangers packed: no more is unpacked than a part may hold."""

from __future__ import annotations

import io
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from segapp.files.damage import DAMAGE
from segapp.values.wording import reason, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 20
_MOST_MEMBERS = 1000


class TooLargeError(ValueError):
    """A part unpacks to more than it should hold."""


@contextmanager
def opened_archive(path: Path, wanted: str, error: type[ValueError]) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever is in the way, or is wrong in it, becomes one sentence.

    ``wanted`` is what the file should be, with its article; ``error`` is raised.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except error:
        raise
    except FileNotFoundError as cause:
        raise error(f"There is no file {shown(path)}.") from cause
    except IsADirectoryError as cause:
        raise error(f"{shown(path)} is a folder: wanted {wanted}.") from cause
    except OSError as cause:
        told = shown(cause.strerror) if cause.strerror else reason(cause)
        raise error(f"{shown(path)} cannot be read: {told}.") from cause
    except MemoryError as cause:
        raise error(f"{shown(path.name)} does not fit into the memory.") from cause
    except DAMAGE as cause:
        raise error(f"{shown(path.name)} is damaged or not {wanted}: {reason(cause)}.") from cause


def read_part(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """Unpack one part, up to ``largest`` bytes; what the archive says of its size is no matter.

    Raises `KeyError` when there is no such part, and whatever `zipfile` finds wrong with it.
    """
    unpacked = io.BytesIO()
    with _opened(archive, archive.getinfo(name)) as part:
        for piece in _pieces(part, name, largest):
            unpacked.write(piece)
    return unpacked.getvalue()


def check_parts(archive: zipfile.ZipFile, largest: int) -> None:
    """Unpack all parts, keeping none, to see that together they are not too large."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise TooLargeError(f"wanted at most {_MOST_MEMBERS} parts, got {len(members)}")
    rest = largest
    for member in members:
        with _opened(archive, member) as part:
            for piece in _pieces(part, member.filename, rest):
                rest -= len(piece)


def _opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    # The others are unpacked in pieces of any size.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{shown(member.filename)} is packed in an unknown way")
    return archive.open(member)


def _pieces(part: IO[bytes], name: str, largest: int) -> Iterator[bytes]:
    total = 0
    while piece := part.read(_PIECE):
        total += len(piece)
        if total > largest:
            raise TooLargeError(
                f"{shown(name)} unpacks to more than the {largest >> 20} MB it may hold"
            )
        yield piece
