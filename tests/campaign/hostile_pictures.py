"""Damage to the headers, chunks, segments and directories of picture files."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from tests.campaign.hostile_mutations import NUMBERS, bomb, of_bytes

if TYPE_CHECKING:
    from random import Random


def of_png(data: bytes, rng: Random) -> bytes:
    """Change sizes, drop, double, damage or add chunks; checksums are mostly right."""
    chunks, at = [], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    if not chunks or rng.random() < 0.2:
        return of_bytes(data, rng)
    place = rng.randrange(len(chunks))
    kind, content = chunks[place]
    way = rng.randrange(7)
    if way == 0 and chunks[0][0] == b"IHDR" and len(chunks[0][1]) == 13:
        chunks[0] = (b"IHDR", _header_of_png(bytearray(chunks[0][1]), rng))
    elif way == 1:
        del chunks[place]
    elif way == 2:
        chunks.insert(rng.randrange(len(chunks)), chunks[place])
    elif way == 3:
        added = rng.choice(
            (b"tEXt", b"iTXt", b"zTXt", b"iCCP", b"eXIf", b"PLTE", b"tRNS", b"acTL")
        )
        junk = rng.choice((b"Classes\0[[[[", b"Classes\0\0\0\0\0[1,2]", rng.randbytes(40), b""))
        chunks.insert(rng.randint(1, len(chunks)), (added, junk))
    elif kind == b"IDAT" and way == 4:
        packed, _, _ = bomb(20, b"\0")
        chunks[place] = (kind, b"\x78\xda" + packed)
    else:
        chunks[place] = (kind, of_bytes(content, rng))
    wrong = rng.randrange(len(chunks)) if chunks and rng.random() < 0.1 else -1
    return data[:8] + b"".join(
        _chunk(kind, content, wrong == number) for number, (kind, content) in enumerate(chunks)
    )


def _header_of_png(header: bytearray, rng: Random) -> bytes:
    field = rng.randrange(5)
    if field < 2:
        struct.pack_into(">I", header, 4 * field, rng.choice((*NUMBERS, 100, 20_000)) & 0xFFFFFFFF)
    else:
        header[6 + field] = rng.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
    return bytes(header)


def _chunk(kind: bytes, content: bytes, wrong: bool) -> bytes:
    checksum = zlib.crc32(kind + content) ^ wrong
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def of_tiff(data: bytes, rng: Random) -> bytes:
    """Change tag, kind, count or value of a directory's entries, or the next offset."""
    order = "<" if data[:2] == b"II" else ">"
    if len(data) < 16 or rng.random() < 0.25:
        return of_bytes(data, rng)
    (start,) = struct.unpack_from(order + "I", data, 4)
    if start + 2 > len(data):
        return of_bytes(data, rng)
    (count,) = struct.unpack_from(order + "H", data, start)
    entry = start + 2 + 12 * rng.randrange(max(count, 1))
    if entry + 12 > len(data):
        return of_bytes(data, rng)
    hurt = bytearray(data)
    way = rng.randrange(5)
    if way == 0:
        struct.pack_into(order + "H", hurt, entry, rng.choice((256, 257, 259, 273, 274, 277, 322)))
    elif way == 1:
        struct.pack_into(order + "H", hurt, entry + 2, rng.choice((0, 1, 2, 3, 4, 5, 12, 16, 99)))
    elif way == 2:
        struct.pack_into(order + "I", hurt, entry + 4, rng.choice(NUMBERS))
    elif way == 3:
        kind = struct.unpack_from(order + "H", hurt, entry + 2)[0]
        number = rng.choice((*NUMBERS, 3, 5, 8, 16, 32, 64, 32773, 32946, 34712, 34925, 50000))
        form, number = ("H", number & 0xFFFF) if kind == 3 else ("I", number)
        struct.pack_into(order + form, hurt, entry + 8, number)
    else:
        after = start + 2 + 12 * count
        if after + 4 <= len(hurt):
            struct.pack_into(order + "I", hurt, after, rng.choice((start, 8, len(hurt), 1)))
    return bytes(hurt)


def of_jpeg(data: bytes, rng: Random) -> bytes:
    """Change a segment before the pixels: length, content, or the picture's size."""
    segments, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        segments.append(at)
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    if not segments or rng.random() < 0.3:
        return of_bytes(data, rng)
    at = rng.choice(segments)
    length = struct.unpack_from(">H", data, at + 2)[0]
    hurt = bytearray(data)
    if 0xC0 <= data[at + 1] <= 0xC2 and at + 9 <= len(data) and rng.random() < 0.7:
        field = rng.choice((5, 7))
        struct.pack_into(">H", hurt, at + field, rng.choice((0, 1, 17, 3000, 65535)))
    elif rng.random() < 0.2:
        struct.pack_into(">H", hurt, at + 2, rng.choice((0, 1, 2, length ^ 1, 65535)))
    else:
        content = of_bytes(data[at + 4 : at + 2 + length], rng)[:65000]
        hurt[at + 2 : at + 2 + length] = struct.pack(">H", len(content) + 2) + content
    return bytes(hurt)
