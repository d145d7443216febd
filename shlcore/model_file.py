"""Model files: a zip archive of plain arrays with a JSON header, without pickle."""

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
"""Largest size in bytes of a model's arrays. A file of a thousandth of it can unpack to as much,
so unpacked bytes are counted, and the sizes in the archive are not trusted."""

READ_ERRORS = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,  # encrypted parts, deep nesting, NotImplementedError
    AttributeError,
    MemoryError,
    struct.error,
    zlib.error,
    csv.Error,
    zipfile.BadZipFile,
    tokenize.TokenError,  # from the headers of NumPy's arrays
)
"""Errors of numpy, zlib, zipfile, csv and json for damaged or manipulated files."""

_FORMAT = "shlcore model"
_HEADER = "header"
_LARGEST_HEADER = 16 << 20
_MAX_LENGTH = 200
_CHUNK = 1 << 20


class ModelFileError(ValueError):
    """A file that is no model, or none that this version can read."""


def write_model(
    path: str | os.PathLike[str], header: dict[str, object], arrays: FileArrays
) -> None:
    """Write a model; an existing file is replaced by a complete one only."""
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
    except READ_ERRORS as error:
        raise ModelFileError(f"{name}: the file is damaged or not a shlcore model") from error
    if version is None:
        raise ModelFileError(
            f"{name}: wanted a shlcore model, got {printable(repr(header['format']))}"
        )
    if version > VERSION:
        raise ModelFileError(
            f"{name}: wanted a model of version {VERSION} or older, got version "
            f"{printable(version)}; a newer shlcore can read it"
        )
    return header, arrays


class BoundedReader:
    """A stream that raises a ValueError after ``largest`` bytes."""

    def __init__(self, stream: IO[bytes], largest: int) -> None:
        self._stream = stream
        self.left = largest

    def read(self, size: int) -> bytes:
        """Read up to ``size`` bytes."""
        content = self._stream.read(min(size, self.left + 1))
        self.left -= len(content)
        if self.left < 0:
            raise ValueError("it unpacks to more than the allowed size")
        return content

    def read_all(self) -> bytes:
        """Read to the end, in pieces, because some streams allocate the requested size."""
        whole = io.BytesIO()
        while piece := self.read(_CHUNK):
            whole.write(piece)
        return whole.getvalue()


def read_arrays(path: str | os.PathLike[str], largest: int) -> FileArrays:
    """Read NumPy's archive of plain arrays, up to ``largest`` bytes in all.

    Raises one of `READ_ERRORS` for any other file.
    """
    arrays: FileArrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            # Other compression methods decompress without a bound on the size.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile("a part has an unknown compression method")
            with archive.open(member) as part:
                stream = BoundedReader(part, largest)
                array = np.lib.format.read_array(cast("IO[bytes]", stream), allow_pickle=False)
                if stream.read(1):
                    raise ValueError("a part has data behind its array")
            largest = stream.left
            arrays[member.filename.removesuffix(".npy")] = array
    return arrays


def printable(value: object) -> str:
    """Return text from a file as one printable line of limited length."""
    try:
        text = " ".join(str(value).split())
    except ValueError:  # a number of thousands of digits
        return "a number too long to show"
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
