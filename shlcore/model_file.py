"""Models as files: a zip of plain arrays with a JSON header. Nothing in it can run."""

from __future__ import annotations

import csv
import io
import json
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    import os

    from shlcore.array_types import FileArrays

VERSION = 1
LARGEST_MODEL = 1 << 30
"""Bytes that a model's arrays may take. A thousandth of that can unpack to as much, so what is
unpacked is counted: what an archive says of its sizes is no matter."""

DAMAGE = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,  # encrypted parts; too many brackets; what is not implemented
    AttributeError,
    MemoryError,
    struct.error,
    zlib.error,
    csv.Error,
    zipfile.BadZipFile,
    tokenize.TokenError,  # from the headers of NumPy's arrays
)
"""What numpy, zlib, zipfile, csv and json raise for files that are not what they seem."""

_FORMAT = "shlcore model"
_HEADER = "header"
_LARGEST_HEADER = 16 << 20
_LONGEST = 200
_PIECE = 1 << 20


class ModelFileError(ValueError):
    """The file is not a model that this version can read."""


def write_model(
    path: str | os.PathLike[str], header: dict[str, object], arrays: FileArrays
) -> None:
    """Write a model; a file that is there is replaced only by a complete one."""
    text = json.dumps({"format": _FORMAT, "version": VERSION, **header})
    packed = {_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with atomic_write(path) as stream:
        np.savez_compressed(stream, allow_pickle=False, **packed)


def read_model(
    path: str | os.PathLike[str],
) -> tuple[dict[str, object], FileArrays]:
    """Read the header and the arrays of a model file.

    Raises
    ------
    ModelFileError
        If the file is damaged, of another kind, or of a newer version.
    """
    name = Path(path).name
    try:
        arrays = read_arrays(path, LARGEST_MODEL)
        text = arrays.pop(_HEADER)
        if text.nbytes > _LARGEST_HEADER:
            raise ValueError(f"header: wanted at most {_LARGEST_HEADER} bytes, got {text.nbytes}")
        header = json.loads(text.tobytes().decode())
        version = int(header["version"]) if header["format"] == _FORMAT else None
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except DAMAGE as error:
        raise ModelFileError(f"{name}: the file is damaged or not a shlcore model") from error
    if version is None:
        raise ModelFileError(
            f"{name}: wanted a shlcore model, got {shown(repr(header['format']))}"
        )
    if version > VERSION:
        raise ModelFileError(
            f"{name}: wanted a model of version {VERSION} or older, got version {shown(version)}; "
            f"a newer shlcore can read it"
        )
    return header, arrays


class Bounded:
    """A stream that gives no more than ``largest`` bytes, and a ValueError beyond."""

    def __init__(self, stream: IO[bytes], largest: int) -> None:
        self._stream = stream
        self.left = largest

    def read(self, size: int) -> bytes:
        """Read up to ``size`` bytes."""
        content = self._stream.read(min(size, self.left + 1))
        self.left -= len(content)
        if self.left < 0:
            raise ValueError("it unpacks to more than it may hold")
        return content

    def read_all(self) -> bytes:
        """Read to the end, in pieces: some streams make room for all that is asked for."""
        whole = io.BytesIO()
        while piece := self.read(_PIECE):
            whole.write(piece)
        return whole.getvalue()


def read_arrays(path: str | os.PathLike[str], largest: int) -> FileArrays:
    """Read NumPy's archive of plain arrays, up to ``largest`` bytes in all.

    Raises one of `DAMAGE` if it is none.
    """
    arrays: FileArrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            # Other ways of packing are unpacked in pieces of any size.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile("a part is packed in an unknown way")
            with archive.open(member) as part:
                stream = Bounded(part, largest)
                array = np.lib.format.read_array(cast("IO[bytes]", stream), allow_pickle=False)
                if stream.read(1):
                    raise ValueError("a part goes on behind its array")
            largest = stream.left
            arrays[member.filename.removesuffix(".npy")] = array
    return arrays


def shown(value: object) -> str:
    """Return text from a file so that it fits into a sentence: one line, not too long."""
    try:
        text = " ".join(str(value).split())
    except ValueError:  # a number of thousands of digits
        return "a number too long to show"
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
