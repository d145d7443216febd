"""Models as files: a zip of plain arrays with a JSON header. Nothing in it can run."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    import os

    from shlcore.array_types import FileArrays

VERSION = 1
_FORMAT = "shlcore model"
_HEADER = "header"
# What numpy, zlib, zipfile and json raise for files that are not what they seem.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    AttributeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


class ModelFileError(ValueError):
    """The file is not a model that this version can read."""


def write_model(
    path: str | os.PathLike[str], header: dict[str, object], arrays: FileArrays
) -> None:
    """Write a model; a file that is there is replaced only by a complete one."""
    text = json.dumps({"format": _FORMAT, "version": VERSION, **header})
    packed = {_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with replacing(path) as stream:
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
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop(_HEADER).tobytes().decode())
        version = int(header["version"]) if header["format"] == _FORMAT else None
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except _UNREADABLE as error:
        raise ModelFileError(f"{name}: the file is damaged or not a shlcore model") from error
    if version is None:
        raise ModelFileError(f"{name}: wanted a shlcore model, got {header['format']!r}")
    if version > VERSION:
        raise ModelFileError(
            f"{name}: wanted a model of version {VERSION} or older, got version {version}; "
            f"a newer shlcore can read it"
        )
    return header, arrays
