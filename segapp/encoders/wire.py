"""Protobuf's wire format: the fields of a message one after the other, read without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_LONGEST_VARINT = 10  # bytes of a number of 64 bits


def message_fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and content of each field: a whole number, or bytes that may be a message.

    A `ValueError` says where the bytes are no message.

    >>> list(message_fields(memoryview(bytes([8, 150, 1, 18, 1, 65]))))[0]
    (1, 150)
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in (_LONG, _SHORT):
            length = 8 if kind == _LONG else 4
        else:
            raise ValueError(f"byte {place} begins no field")
        if number == 0 or place + length > len(message):
            raise ValueError(f"the field at byte {place} does not end")
        yield number, message[place : place + length]
        place += length


def messages(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of each field that holds bytes, among them all messages."""
    for number, value in message_fields(message):
        if isinstance(value, memoryview):
            yield number, value


def text(value: memoryview) -> str:
    """Return what bytes say, with a sign in place of what they cannot say."""
    return bytes(value).decode("utf-8", "replace")


def message_field(number: int, content: int | bytes | memoryview) -> bytes:
    """Write a field that holds a whole number, bytes, or a message.

    >>> message_field(2, b"A") == bytes([18, 1, 65])
    True
    >>> message_field(1, 150) == bytes([8, 150, 1])
    True
    """
    if isinstance(content, int):
        return _written(number << 3 | _VARINT) + _written(content)
    return b"".join((_written(number << 3 | _BYTES), _written(len(content)), content))


def _written(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for count in range(_LONGEST_VARINT):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place
    raise ValueError(f"the number at byte {place} does not end")
