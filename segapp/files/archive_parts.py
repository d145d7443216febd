"""Parts of ZIP archives that strangers packed: no more is unpacked than a part may hold."""

from __future__ import annotations

import io
import zipfile
from typing import IO, TYPE_CHECKING

from segapp.values.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20
_MOST_MEMBERS = 1000


class TooLargeError(ValueError):
    """A part unpacks to more than it should hold."""


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
