"""How a network's process is spoken with: bytes with their length before them, no pickle."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

from segapp.values.checked import fields, from_json

_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], content: bytes) -> None:
    """Write a frame and let it go at once."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def send_plain(stream: IO[bytes], **values: object) -> None:
    """Write a frame of named values."""
    send(stream, json.dumps(values).encode("ascii"))


def receive(stream: IO[bytes], largest: int) -> bytes:
    """Read a frame; `EOFError` when the other side is gone, `ValueError` when it is too long."""
    length = _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0]
    if length > largest:
        raise ValueError(f"wanted at most {largest} bytes, got {length}")
    return _exactly(stream, length)


def receive_plain(stream: IO[bytes]) -> dict[str, Any]:
    """Read a frame of named values."""
    return fields(from_json(receive(stream, 1 << 16), "frame"), "frame")


def _exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content
