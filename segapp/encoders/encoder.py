"""Encoder descriptions: a network, its preprocessing and its output."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from segapp.model.validation import (
    SegappError,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
    short_repr,
)

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE_BYTES = 1 << 30
"""Of a network: the largest ones that read an image within minutes on one thread."""
MAX_VALUES = 1 << 24
"""Of a network's output: 32 MB in half precision."""
MAX_SIDE = 4096
_LARGEST_MEAN = 1e6


class EncoderError(SegappError):
    """A network that cannot be used; the message is one sentence with the reason."""


class Fit(StrEnum):
    """The way an image is brought to the network's input size."""

    PAD = "pad"  # in proportion; zeros fill the rest below and to the right
    STRETCH = "stretch"


class Layout(StrEnum):
    """Axes of an output after the first, which counts images."""

    CHANNELS_FIRST = "channels-first"  # channels x rows x columns
    CHANNELS_LAST = "channels-last"  # rows x columns x channels
    TOKENS = "tokens"  # cells, row after row, x channels; other tokens may come first


@dataclass(frozen=True, slots=True)
class Port:
    """An input of a network; open lengths are ``None``, and so is an unknown shape."""

    name: str
    shape: tuple[int | None, ...] | None
    is_float: bool


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """Facts of a network's file, known without running it.

    ``upsampled`` names the output of the last transposed convolution, which makes cells smaller;
    it is empty where there is none.
    """

    inputs: tuple[Port, ...]
    digest: str
    n_bytes: int
    upsampled: str = ""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A head's network, and the name of the values that are taken from it."""

    path: Path
    digest: str
    output: str


@dataclass(frozen=True, slots=True)
class Head:
    """A network that turns an encoder's cells into smaller ones.

    Parameters
    ----------
    digest, n_bytes
        Of its file.
    output
        Name of the values that are taken from it.
    grid, channels
        Of its cells.
    """

    digest: str
    n_bytes: int
    output: str
    grid: tuple[int, int]
    channels: int

    def __post_init__(self) -> None:
        _check_digest(self.digest)
        _check_values(self.grid, self.channels)


@dataclass(frozen=True, slots=True)
class FineOutput:
    """A further output of an encoder's own network, with smaller cells.

    Parameters
    ----------
    output
        Its name.
    grid, channels
        Of its cells, channels first.
    """

    output: str
    grid: tuple[int, int]
    channels: int

    def __post_init__(self) -> None:
        _check_values(self.grid, self.channels)


@dataclass(frozen=True, slots=True)
class Encoder:
    """A network from an image to a grid of features, with smaller cells or without.

    Parameters
    ----------
    digest
        SHA-256 of its file, in hexadecimal digits.
    n_bytes
        Of its file.
    size
        Rows and columns of its input.
    mean, std
        Of red, green and blue from 0 to 255: the mean is subtracted, then divided by ``std``.
    skipped
        Tokens before those of the cells.
    grid
        Rows and columns of cells of its output.
    steps
        Rows and columns of pixels by which its input can be made shorter; 0 for not at all.
    head, fine
        Where smaller cells come from, of which there is one at the most.
    source
        SHA-256 of the file that its file was converted from, if it was.
    """

    name: str
    digest: str
    n_bytes: int
    input: str
    output: str
    size: tuple[int, int]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    fit: Fit
    layout: Layout
    skipped: int
    grid: tuple[int, int]
    channels: int
    steps: tuple[int, int] = (0, 0)
    head: Head | None = None
    fine: FineOutput | None = None
    source: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_digest(self.digest)
        _check_digest(self.source or self.digest)
        rows, columns = self.grid
        if not (1 <= rows <= self.size[0] <= MAX_SIDE) or not (
            1 <= columns <= self.size[1] <= MAX_SIDE
        ):
            raise EncoderError(
                f"size, grid: wanted cells of at least a pixel, and at most {MAX_SIDE} "
                f"pixels, got {self.grid} for {self.size}."
            )
        _check_values(self.grid, self.channels)
        for step, length, count in zip(self.steps, self.size, self.grid, strict=True):
            if step and (length % count or step % (length // count) or step >= length):
                raise EncoderError(f"steps: wanted whole cells, and not all, got {self.steps}.")
        if not all(math.isfinite(value) for value in (*self.mean, *self.std)):
            raise EncoderError("mean, std: wanted numbers, got others.")
        if min(self.std) <= 0:
            raise EncoderError(f"std: wanted numbers above 0, got {min(self.std):g}.")

    @property
    def identity(self) -> str:
        """The encoder's name in settings and files: see `identity_of`.

        Files converted from the same one may differ between versions of the runtime.
        """
        head = None if self.head is None else self.head.digest
        return identity_of(self.source or self.digest, head)

    @property
    def fine_cells(self) -> Head | FineOutput | None:
        """Of which its smaller cells are, if it has any."""
        return self.head or self.fine


def identity_of(digest: str, head: str | None) -> str:
    """Return 64 hexadecimal digits that identify an encoder by its files' digests.

    The same network with another head gives other features.
    """
    return digest if head is None else hashlib.sha256(f"{digest} {head}".encode()).hexdigest()


def _check_digest(digest: str) -> None:
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise EncoderError(f"digest: wanted 64 hexadecimal digits, got {short_repr(digest)}.")


def _check_values(grid: tuple[int, int], channels: int) -> None:
    rows, columns = grid
    if rows * columns * channels > MAX_VALUES or channels < 1:
        raise EncoderError(
            f"grid: wanted at most {MAX_VALUES} values, got {rows} x {columns} x {channels}."
        )


def check_name(name: str) -> None:
    """Refuse a name that could not be a folder's on every system."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,62}[A-Za-z0-9_+-]|[A-Za-z0-9]", name):
        raise EncoderError(
            f"--name: wanted up to 64 letters, digits, dots or dashes, got {short_repr(name)}."
        )


def encoder_to_plain(encoder: Encoder) -> dict[str, Any]:
    """Return an encoder as values for JSON."""
    return asdict(encoder)


def encoder_from_plain(plain: object) -> Encoder:
    """Make an encoder from `encoder_to_plain`'s values, or raise `ValueError`."""
    values = require_object(plain, "encoder")
    mean, std = (_three(values, name) for name in ("mean", "std"))
    size, grid = (_two(values, name) for name in ("size", "grid"))
    return Encoder(
        name=require_text(require_field(values, "name"), "name"),
        digest=require_text(require_field(values, "digest"), "digest"),
        n_bytes=require_int(require_field(values, "n_bytes"), "n_bytes", 1),
        input=require_text(require_field(values, "input"), "input"),
        output=require_text(require_field(values, "output"), "output"),
        size=size,
        mean=mean,
        std=std,
        fit=Fit(require_text(require_field(values, "fit"), "fit")),
        layout=Layout(require_text(require_field(values, "layout"), "layout")),
        skipped=require_int(require_field(values, "skipped"), "skipped", 0, MAX_VALUES),
        grid=grid,
        channels=require_int(require_field(values, "channels"), "channels", 1, MAX_VALUES),
        steps=_two(values, "steps", least=0),
        head=_head(values.get("head")),
        fine=_fine(values.get("fine")),
        source=require_text(values.get("source", ""), "source"),
    )


def _fine(plain: object) -> FineOutput | None:
    if plain is None:
        return None
    values = require_object(plain, "fine")
    return FineOutput(
        output=require_text(require_field(values, "output"), "output"),
        grid=_two(values, "grid"),
        channels=require_int(require_field(values, "channels"), "channels", 1, MAX_VALUES),
    )


def _head(plain: object) -> Head | None:
    if plain is None:
        return None
    values = require_object(plain, "head")
    return Head(
        digest=require_text(require_field(values, "digest"), "digest"),
        n_bytes=require_int(require_field(values, "n_bytes"), "n_bytes", 1),
        output=require_text(require_field(values, "output"), "output"),
        grid=_two(values, "grid"),
        channels=require_int(require_field(values, "channels"), "channels", 1, MAX_VALUES),
    )


def _two(values: dict[str, Any], name: str, least: int = 1) -> tuple[int, int]:
    rows, columns = require_list(require_field(values, name), name, 2, 2)
    return require_int(rows, name, least, MAX_SIDE), require_int(columns, name, least, MAX_SIDE)


def _three(values: dict[str, Any], name: str) -> tuple[float, float, float]:
    red, green, blue = (
        require_number(value, name, -_LARGEST_MEAN, _LARGEST_MEAN)
        for value in require_list(require_field(values, name), name, 3, 3)
    )
    return red, green, blue
