"""An encoder: a network, how a picture is made ready for it, and what its output means."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from segapp.model.validation import (
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
    short_repr,
)

MAX_VALUES = 1 << 24
"""Numbers that a network may give for a picture: 32 MB as they are kept."""
MAX_SIDE = 4096
_LARGEST_MEAN = 1e6


class Fit(StrEnum):
    """How a picture comes to the size that a network wants."""

    PAD = "pad"  # in proportion, the rest below and to the right is filled with zeros
    STRETCH = "stretch"


class Layout(StrEnum):
    """What the axes of an output mean, after the first, which counts pictures."""

    CHANNELS_FIRST = "channels-first"  # channels x rows x columns
    CHANNELS_LAST = "channels-last"  # rows x columns x channels
    TOKENS = "tokens"  # cells, row after row, x channels; before them some that are no cells


@dataclass(frozen=True, slots=True)
class Head:
    """A network that goes on from what an encoder gives, to smaller cells.

    Parameters
    ----------
    digest, n_bytes
        Of its file.
    output
        Its values that are taken.
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
class Encoder:
    """A network that reads pictures, and maybe a head that goes on from there.

    Parameters
    ----------
    digest
        SHA-256 of its file, in hexadecimal digits.
    n_bytes
        Of its file.
    size
        Rows and columns of the picture that it wants.
    mean, std
        Of red, green and blue from 0 to 255: the one is taken off, then divided by the other.
    skipped
        Tokens before those of the cells.
    grid
        Rows and columns of cells that it gives.
    steps
        Rows and columns of pixels by which it can read less at a time; 0 for not at all.
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

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_digest(self.digest)
        rows, columns = self.grid
        if not (1 <= rows <= self.size[0] <= MAX_SIDE) or not (
            1 <= columns <= self.size[1] <= MAX_SIDE
        ):
            raise ValueError(
                f"size, grid: wanted cells of at least a pixel, and at most {MAX_SIDE} "
                f"pixels, got {self.grid} for {self.size}"
            )
        _check_values(self.grid, self.channels)
        for step, length, count in zip(self.steps, self.size, self.grid, strict=True):
            if step and (length % count or step % (length // count) or step >= length):
                raise ValueError(f"steps: wanted whole cells, and not all, got {self.steps}")
        if not all(math.isfinite(value) for value in (*self.mean, *self.std)):
            raise ValueError("mean, std: wanted numbers, got others")
        if min(self.std) <= 0:
            raise ValueError(f"std: wanted numbers above 0, got {min(self.std):g}")

    @property
    def identity(self) -> str:
        """What settings and files call it: see `identity_of`."""
        return identity_of(self.digest, None if self.head is None else self.head.digest)


def identity_of(digest: str, head: str | None) -> str:
    """Return 64 hexadecimal digits that tell networks apart: the file's, or both files' digest.

    The same network with another head sees something else.
    """
    return digest if head is None else hashlib.sha256(f"{digest} {head}".encode()).hexdigest()


def _check_digest(digest: str) -> None:
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise ValueError(f"digest: wanted 64 hexadecimal digits, got {short_repr(digest)}")


def _check_values(grid: tuple[int, int], channels: int) -> None:
    rows, columns = grid
    if rows * columns * channels > MAX_VALUES or channels < 1:
        raise ValueError(
            f"grid: wanted at most {MAX_VALUES} values, got {rows} x {columns} x {channels}"
        )


def check_name(name: str) -> None:
    """Refuse a name that could not be a folder's on every system."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,62}[A-Za-z0-9_+-]|[A-Za-z0-9]", name):
        raise ValueError(
            f"--name: wanted up to 64 letters, digits, dots or dashes, got {short_repr(name)}"
        )


def encoder_to_plain(encoder: Encoder) -> dict[str, Any]:
    """Return what JSON can hold."""
    return asdict(encoder)


def encoder_from_plain(plain: object) -> Encoder:
    """Make an encoder from `encoder_to_plain`'s values; a `ValueError` says what is wrong."""
    told = require_object(plain, "encoder")
    mean, std = (_three(told, name) for name in ("mean", "std"))
    size, grid = (_two(told, name) for name in ("size", "grid"))
    return Encoder(
        name=require_text(require_field(told, "name"), "name"),
        digest=require_text(require_field(told, "digest"), "digest"),
        n_bytes=require_int(require_field(told, "n_bytes"), "n_bytes", 1),
        input=require_text(require_field(told, "input"), "input"),
        output=require_text(require_field(told, "output"), "output"),
        size=size,
        mean=mean,
        std=std,
        fit=Fit(require_text(require_field(told, "fit"), "fit")),
        layout=Layout(require_text(require_field(told, "layout"), "layout")),
        skipped=require_int(require_field(told, "skipped"), "skipped", 0, MAX_VALUES),
        grid=grid,
        channels=require_int(require_field(told, "channels"), "channels", 1, MAX_VALUES),
        steps=_two(told, "steps", least=0),
        head=_head(told.get("head")),
    )


def _head(plain: object) -> Head | None:
    if plain is None:
        return None
    told = require_object(plain, "head")
    return Head(
        digest=require_text(require_field(told, "digest"), "digest"),
        n_bytes=require_int(require_field(told, "n_bytes"), "n_bytes", 1),
        output=require_text(require_field(told, "output"), "output"),
        grid=_two(told, "grid"),
        channels=require_int(require_field(told, "channels"), "channels", 1, MAX_VALUES),
    )


def _two(told: dict[str, Any], name: str, least: int = 1) -> tuple[int, int]:
    rows, columns = require_list(require_field(told, name), name, 2, 2)
    return require_int(rows, name, least, MAX_SIDE), require_int(columns, name, least, MAX_SIDE)


def _three(told: dict[str, Any], name: str) -> tuple[float, float, float]:
    red, green, blue = (
        require_number(value, name, -_LARGEST_MEAN, _LARGEST_MEAN)
        for value in require_list(require_field(told, name), name, 3, 3)
    )
    return red, green, blue
