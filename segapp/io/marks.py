"""Marks as JSON values, and the older marks of a document in packed chunks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from segapp.model.document import Mark, Marks, Patch, Stroke
from segapp.model.validation import (
    SegappError,
    from_json,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LARGEST_BITS = 1 << 27  # characters of a patch; a 250 megapixel mask has a third of that


def marks_to_plain(marks: Iterable[Mark]) -> list[dict[str, Any]]:
    """Return strokes and patches in their order; equal marks give equal values."""
    return [_mark_to_plain(mark) for mark in marks]


def marks_from_plain(plain: object, name: str) -> Marks:
    """Make marks in their order."""
    return Marks.of(
        mark_from_plain(require_object(mark, name)) for mark in require_list(plain, name)
    )


def _mark_to_plain(mark: Mark) -> dict[str, Any]:
    if isinstance(mark, Patch):
        plain: dict[str, Any] = {
            "patch": [mark.left, mark.top, mark.width, mark.height],
            "bits": base64.b64encode(mark.bits).decode("ascii"),
        }
    else:
        plain = {
            "points": [[float(x), float(y)] for x, y in mark.points],
            "radius": float(mark.radius),
        }
        if mark.pressures:
            plain["pressures"] = [float(pressure) for pressure in mark.pressures]
    plain["class"] = mark.label
    if mark.joined:
        plain["joined"] = True
    if mark.object_number:
        plain["object"] = mark.object_number
    return plain


def mark_from_plain(plain: dict[str, Any]) -> Mark:
    """Make a stroke or a patch."""
    label = require_field(plain, "class")
    label = None if label is None else require_int(label, "class")
    joined = plain.get("joined") is True
    number = require_int(plain.get("object", 0), "object")
    if "patch" in plain:
        left, top, width, height = (
            require_int(part, "patch") for part in require_list(plain["patch"], "patch", 4, 4)
        )
        bits = bytes_from_plain(require_field(plain, "bits"), "a patch's bits")
        return Patch(left, top, width, height, bits, label, joined, number)
    return Stroke(
        tuple(
            point_from_plain(point)
            for point in require_list(require_field(plain, "points"), "points")
        ),
        require_number(require_field(plain, "radius"), "radius"),
        label,
        tuple(
            require_number(part, "pressures")
            for part in require_list(plain.get("pressures", []), "pressures")
        ),
        joined,
        number,
    )


def bytes_from_plain(plain: object, name: str) -> bytes:
    """Decode base64."""
    coded = require_text(plain, name, _LARGEST_BITS)
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SegappError(f"{name}: wanted base64, got: {error}") from error


def point_from_plain(plain: object) -> tuple[float, float]:
    """Make an x and a y."""
    x, y = require_list(plain, "points", 2, 2)
    return require_number(x, "points"), require_number(y, "points")


# Chunks ------------------------------------------------------------------------------------------

# All strokes of a document are written with each save. Packing is the slow part of that, and is
# done once for each chunk of older strokes, as long as a document holds them.
_CHUNK = 32
"""Marks in a chunk."""
_LENGTH = struct.Struct(">I")
"""Of the bytes of a packed chunk, which follow."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some marks as JSON, compressed; ``size`` is that before."""

    packed: bytes
    size: int


_chunks: WeakKeyDictionary[Marks, _Chunk] = WeakKeyDictionary()
"""The last chunk of each sequence of whole chunks."""


@dataclass(frozen=True, slots=True)
class PackedMarks:
    """Marks in the form in which a project holds them.

    Parameters
    ----------
    older
        Compressed chunks, each after its length; nothing while there are few marks, so that all
        are in ``newest``.
    newest
        The marks after those, as JSON values.
    size
        Bytes of ``older`` when it is unpacked.
    """

    older: bytes
    newest: list[dict[str, Any]]
    size: int

    @classmethod
    def of(cls, marks: Marks) -> PackedMarks:
        """Pack marks."""
        whole = max(len(marks) // _CHUNK - 1, 0) * _CHUNK
        ends = [each for each in marks.beginnings() if each and not len(each) % _CHUNK]
        chunks = [_chunk(end) for end in reversed(ends) if len(end) <= whole]
        return cls(
            b"".join(part for c in chunks for part in (_LENGTH.pack(len(c.packed)), c.packed)),
            marks_to_plain(marks.after(marks.first(whole)) or ()),
            sum(chunk.size for chunk in chunks),
        )

    def digest(self) -> str:
        """Return a digest that equal marks share."""
        newest = json.dumps(self.newest).encode()
        return hashlib.sha256(self.older + newest).hexdigest()


def _chunk(marks: Marks) -> _Chunk:
    """Pack the last marks of a sequence, once."""
    chunk = _chunks.get(marks)
    if chunk is None:
        plain = marks_to_plain(marks.after(marks.first(len(marks) - _CHUNK)) or ())
        content = json.dumps(plain, allow_nan=False).encode()
        chunk = _chunks[marks] = _Chunk(zlib.compress(content), len(content))
    return chunk


def unpack_marks(packed: bytes, largest: int) -> Iterator[Mark]:
    """Yield the marks of packed chunks, which may unpack to ``largest`` bytes in all."""
    rest, begin = largest, 0
    while begin < len(packed):
        unpacking = zlib.decompressobj()
        try:
            (length,) = _LENGTH.unpack_from(packed, begin)
            begin += _LENGTH.size
            content = unpacking.decompress(packed[begin : begin + length], rest + 1)
        except (struct.error, zlib.error) as error:
            raise SegappError(f"strokes: cannot be unpacked: {error}") from error
        if len(content) > rest or not unpacking.eof:
            raise SegappError(f"strokes: wanted whole chunks of at most {largest >> 20} MB")
        rest -= len(content)
        begin += length
        yield from marks_from_plain(from_json(content, "strokes"), "strokes")
