"""Mutations that know the structure of the files that they damage.

Each function takes the content of a file and a random generator and returns damaged content.
What cannot be parsed any more, since it was damaged before, is damaged byte by byte.
"""

from __future__ import annotations

import functools
import io
import json
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF)
_LARGEST_LIST = 50 << 20  # characters: much for a reader, and little for who makes it
_HOSTILE_TEXTS = (
    "null", "true", "false", "0", "-1", "3.5", "1e308", "-1e308", "1e999", "-1e999", "NaN",
    "Infinity", "-Infinity", "9" * 400, "9" * 5000, "1e-320", "256", "4294967296",
    "18446744073709551616", '""', '"x"', '"\\ud800"', '"a\\nb"', '"\\u0000"', "[]", "{}", "[[]]",
    '[{}]', '{"a": 1}', "[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000,
    '{"a":' * 5000 + "1" + "}" * 5000, "[" + "0," * 50_000 + "0]", '"' + "x" * 100_000 + '"',
)  # fmt: skip
_PLACE = "\x01here\x01"


# --- bytes -------------------------------------------------------------------------------


def of_bytes(data: bytes, rng: Random) -> bytes:
    """Flip, insert, remove, double or overwrite bytes."""
    hurt = bytearray(data)
    size = len(hurt)
    at = rng.randrange(size + 1)
    length = min(int(rng.paretovariate(0.7)), 2000)
    way = rng.randrange(7)
    if way == 0:
        for _ in range(rng.randint(1, 12)):
            if size:
                hurt[rng.randrange(size)] ^= 1 << rng.randrange(8)
    elif way == 1:
        hurt[at:at] = rng.randbytes(length)
    elif way == 2:
        del hurt[at:]
    elif way == 3:
        del hurt[at : at + length]
    elif way == 4:
        hurt[at:at] = hurt[at : at + length] * rng.choice((1, 2, 50))
    elif way == 5:
        hurt[at : at + length] = bytes([rng.choice((0, 0xFF, 0x20))]) * length
    else:
        return of_numbers(data, rng)
    return bytes(hurt)


def of_numbers(data: bytes, rng: Random) -> bytes:
    """Overwrite a number of two, four or eight bytes, most likely near the beginning."""
    kind = rng.choice(("<H", ">H", "<I", ">I", "<Q", ">Q"))
    size = struct.calcsize(kind)
    if len(data) < size:
        return data + bytes(size)
    end = len(data) - size
    at = rng.randint(0, end if rng.random() < 0.3 else min(end, 120))
    number = rng.choice(NUMBERS) & ((1 << (8 * size)) - 1)
    return data[:at] + struct.pack(kind, number) + data[at + size :]


# --- JSON --------------------------------------------------------------------------------


def of_json(data: bytes, rng: Random) -> bytes:
    """Change a value, drop or rename a key, empty a list or make it very long."""
    try:
        content = json.loads(data)
        places = list(_places(content))
    except (ValueError, RecursionError):
        return of_bytes(data, rng)
    if not places:
        return rng.choice(_HOSTILE_TEXTS).encode()
    outer, key = rng.choice(places)
    way = rng.randrange(10)
    if way == 0:
        del outer[key]
    elif way == 1 and isinstance(outer, dict):
        outer[rng.choice(("", "x", "class", "patch", "points", "\ud800"))] = outer.pop(key)
    elif way == 2 and isinstance(outer[key], list):
        most = _LARGEST_LIST // (1 + len(json.dumps(outer[key])))
        outer[key] = outer[key] * min(most, rng.choice((0, 2, 300, 20_000)))
    elif way == 3:
        _, other = rng.choice(places)
        outer[key] = other
    else:
        outer[key] = _PLACE
    try:
        text = json.dumps(content)
    except (ValueError, RecursionError):
        return of_bytes(data, rng)
    return text.replace(json.dumps(_PLACE), rng.choice(_HOSTILE_TEXTS)).encode()


def _places(content: Any) -> Any:
    if isinstance(content, dict | list):
        inner = content.items() if isinstance(content, dict) else enumerate(content)
        for key, part in list(inner):
            yield content, key
            yield from _places(part)


# --- ZIP ---------------------------------------------------------------------------------


@functools.cache
def bomb(megabytes: int, piece: bytes) -> tuple[bytes, int, int]:
    """Return deflated bytes, their checksum and size; made once and packed many times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = (piece * (1 << 20))[: 1 << 20]
    packed, checksum = [], 0
    for _ in range(megabytes):
        packed.append(packer.compress(block))
        checksum = zlib.crc32(block, checksum)
    return b"".join([*packed, packer.flush()]), checksum, megabytes << 20


class _Member:
    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.method = name.encode(), 8
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        self.packed = packer.compress(content) + packer.flush()
        self.checksum, self.size, self.flags = zlib.crc32(content), len(content), 0

    def header(self) -> bytes:
        sizes = (self.checksum, len(self.packed), self.size & 0xFFFFFFFF, len(self.name), 0)
        return struct.pack("<HHHHHIIIHH", 20, self.flags, self.method, 0, 33, *sizes)


def _zipped(members: list[_Member]) -> bytes:
    body, directory = io.BytesIO(), io.BytesIO()
    for member in members:
        start = body.tell()
        body.write(b"PK\3\4" + member.header() + member.name + member.packed)
        directory.write(b"PK\1\2\x14\0" + member.header() + bytes(10))
        directory.write(struct.pack("<I", start) + member.name)
    end = (0, 0, len(members), len(members), directory.tell(), body.tell(), 0)
    return body.getvalue() + directory.getvalue() + b"PK\5\6" + struct.pack("<HHHHIIH", *end)


def of_zip(inside: Callable[[str], Mutation]) -> Mutation:
    """Damage an archive: its members by ``inside(name)``, or their compression."""

    def mutation(data: bytes, rng: Random) -> bytes:
        if rng.random() < 0.15:
            return of_bytes(data, rng)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                content = {name: archive.read(name) for name in archive.namelist()}
        except Exception:  # noqa: BLE001 - damaged before, in whatever way
            return of_bytes(data, rng)
        if not content:
            return of_bytes(data, rng)
        chosen = rng.choice(list(content))
        if rng.random() < 0.65:
            content[chosen] = inside(chosen)(content[chosen], rng)
            return _zipped([_Member(name, part) for name, part in content.items()])
        members = [_Member(name, part) for name, part in content.items()]
        return _zipped(_repacked(members, rng.randrange(len(members)), rng))

    return mutation


def _repacked(members: list[_Member], at: int, rng: Random) -> list[_Member]:
    member = members[at]
    way = rng.randrange(8)
    if way == 0:
        member.name = rng.choice((b"", b"x", b"../../x", b"\xff\xfe", b"a" * 5000))
    elif way == 1:
        del members[at]
    elif way == 2:
        members.append(member)
    elif way == 3:
        piece = rng.choice((b"\0", b"{},", b"[", b"A"))
        member.packed, member.checksum, member.size = bomb(rng.choice((20, 150)), piece)
    elif way == 4:
        member.checksum ^= 1 << rng.randrange(32)
    elif way == 5:
        member.size = rng.choice((0, 1, member.size + 1, 0xFFFFFFFF, 0x7FFFFFFF))
    elif way == 6:
        member.method = rng.choice((0, 1, 9, 12, 14, 99))
    else:
        member.flags = rng.choice((1, 8, 32, 64, 0x800, 0xFFFF))
    return members


def of_npy(data: bytes, rng: Random) -> bytes:
    """Change the header of a NumPy array, or its values."""
    start = data.find(b"{")
    end = data.find(b"\n", start)
    if not data.startswith(b"\x93NUMPY") or start < 0 or end < 0 or rng.random() < 0.3:
        return of_bytes(data, rng)
    way = rng.randrange(3)
    header = data[start:end]
    if way == 0:
        kinds = (b"<f8", b"<i8", b"|i1", b"|u1", b"<f4", b"<U5", b"|O", b"<M8[s]", b"<c16", b">f8")
        old = header.split(b"'descr': '")[-1].split(b"'")[0]
        header = header.replace(old, rng.choice(kinds))
    elif way == 1:
        old = header.split(b"'shape': ")[-1].split(b")")[0] + b")"
        shapes = (
            b"()",
            b"(0,)",
            b"(1,)",
            b"(3, 7)",
            b"(1000000000000,)",
            b"(-1,)",
            b"(2, 2, 2, 2)",
        )
        header = header.replace(old, rng.choice(shapes))
    else:
        numbers = struct.pack(
            "<d", rng.choice((float("nan"), float("inf"), 1e300, -1e300, 1e-320))
        )
        at = end + 1 + 8 * rng.randrange(max((len(data) - end) // 8, 1))
        return data[:at] + numbers + data[at + 8 :]
    room = end - start
    header = header.strip()[:room]
    return data[:start] + header.ljust(room) + data[end:]
