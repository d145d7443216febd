"""Folder-wide files: display settings and progress."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from segapp.io.pages import page_file
from segapp.model.display import DEFAULT_DISPLAY, MAX_CHANNELS, ColourMap, DisplaySettings, Levels
from segapp.model.validation import (
    SegappError,
    from_json,
    load_file_name,
    reason,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
    sanitize,
    short_repr,
    store_file_name,
)
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path


DISPLAY_FILE = "segapp-view.json"
_DISPLAY_FORMAT, _DISPLAY_VERSION = "segapp view", 1
_MAX_DISPLAY_BYTES = 1 << 20  # bytes; thousands of channels with levels have a third of that


class DisplaySettingsError(SegappError):
    """Display settings cannot be read; the message is one sentence."""


def display_to_plain(display: DisplaySettings) -> dict[str, Any]:
    """Return display settings as JSON values; channels are counted from 1 there."""
    return {
        "channels": [None if index is None else index + 1 for index in display.channels],
        "levels": [
            None if one is None else {"black": one.black, "white": one.white, "gamma": one.gamma}
            for one in display.levels
        ],
        "colour map": display.colour_map.value,
    }


def display_from_plain(plain: object) -> DisplaySettings:
    """Make display settings from JSON values."""
    values = require_object(plain, "showing")
    channels = require_list(values.get("channels", []), "channels", 0, 3)
    levels = require_list(values.get("levels", []), "levels", 0, MAX_CHANNELS)
    name = require_text(values.get("colour map", ColourMap.GREY.value), "colour map")
    if name not in [one.value for one in ColourMap]:
        raise SegappError(f"colour map: wanted one that is known, got {short_repr(name)}")
    return DisplaySettings(
        tuple(None if one is None else require_int(one, "channels", 1) - 1 for one in channels),
        tuple(None if one is None else _levels(require_object(one, "levels")) for one in levels),
        ColourMap(name),
    )


def _levels(plain: dict[str, Any]) -> Levels:
    return Levels(
        require_number(require_field(plain, "black"), "black"),
        require_number(require_field(plain, "white"), "white"),
        require_number(plain.get("gamma", 1.0), "gamma"),
    )


def write_display(folder: Path, display: DisplaySettings) -> None:
    """Write the display settings of a folder; for the default ones, remove the file."""
    path = folder / DISPLAY_FILE
    if display == DEFAULT_DISPLAY:
        path.unlink(missing_ok=True)
        return
    content = {"format": _DISPLAY_FORMAT, "version": _DISPLAY_VERSION} | display_to_plain(display)
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_display(folder: Path) -> DisplaySettings:
    """Read the display settings of a folder; without a file, the default ones."""
    path = folder / DISPLAY_FILE
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_DISPLAY_BYTES + 1)
    except FileNotFoundError:
        return DEFAULT_DISPLAY
    except OSError as error:
        message = sanitize(error.strerror) if error.strerror else reason(error)
        raise DisplaySettingsError("{} cannot be read: {}.", sanitize(path), message) from error
    try:
        return _read(content)
    except SegappError as error:
        raise DisplaySettingsError(
            "{} is not a file of display settings: {}.", DISPLAY_FILE, reason(error)
        ) from error


def _read(content: bytes) -> DisplaySettings:
    if len(content) > _MAX_DISPLAY_BYTES:
        raise SegappError(f"wanted at most {_MAX_DISPLAY_BYTES} bytes")
    plain = require_object(from_json(content, DISPLAY_FILE), DISPLAY_FILE)
    if plain.get("format") != _DISPLAY_FORMAT:
        raise SegappError(f"wanted the format {short_repr(_DISPLAY_FORMAT)}")
    if require_int(require_field(plain, "version"), "version", 1) > _DISPLAY_VERSION:
        raise SegappError("it was made by a newer version, update segapp to read it")
    return display_from_plain(plain)


def folder_display(image: Path) -> DisplaySettings:
    """Return the display settings of an image without a project: its folder's."""
    return read_display(page_file(image).parent)


PROGRESS_FILE = "segapp-progress.json"
_PROGRESS_FORMAT, _PROGRESS_VERSION = "segapp progress", 1
_MAX_PROGRESS_BYTES = (
    64 << 20
)  # bytes; a hundred thousand pictures with long names have a third of that
_MOST = 1_000_000


class ImageStatus(Enum):
    """Progress of one image."""

    UNTOUCHED = "untouched"
    MARKED = "marked"
    ANSWERED = "answered"
    DONE = "done"
    FAILED = "failed"


_KEPT = (ImageStatus.ANSWERED, ImageStatus.DONE)


@dataclass(frozen=True, slots=True)
class FolderProgress:
    """Progress of a folder's images by name, and the one that was open last."""

    states: dict[str, ImageStatus] = field(default_factory=dict)
    last: str | None = None

    def with_status(self, name: str, status: ImageStatus | None) -> FolderProgress:
        """Set the progress of an image; ``None`` forgets it."""
        states = {other: kept for other, kept in self.states.items() if other != name}
        if status is not None:
            states[name] = status
        return replace(self, states=states)


def read_progress(path: Path) -> FolderProgress:
    """Read the progress; a missing or damaged file counts as empty."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_PROGRESS_BYTES + 1)
        if len(content) > _MAX_PROGRESS_BYTES:
            return FolderProgress()
        plain = require_object(from_json(content, path.name), path.name)
        if plain.get("format") != _PROGRESS_FORMAT or plain.get("version") != _PROGRESS_VERSION:
            return FolderProgress()
        states: dict[str, ImageStatus] = {}
        for status in _KEPT:
            for row in require_list(plain.get(status.value, []), status.value, 0, _MOST):
                name = load_file_name(row if isinstance(row, dict) else {"name": row}, "name")
                if name is not None:
                    states[name] = status
        return FolderProgress(states, load_file_name(plain, "last"))
    except (OSError, SegappError):
        return FolderProgress()


def write_progress(path: Path, changes: dict[str, ImageStatus | None], last: str | None) -> None:
    """Merge changes into the file, which another window may have written meanwhile."""
    progress = read_progress(path)
    states = progress.states | {n: status for n, status in changes.items() if status is not None}
    content: dict[str, Any] = {"format": _PROGRESS_FORMAT, "version": _PROGRESS_VERSION}
    store_file_name(content, "last", last or progress.last)
    for status in _KEPT:
        content[status.value] = [
            _plain_name(name)
            for name, kept in sorted(states.items())
            if kept is status and changes.get(name, kept) is kept
        ]
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _plain_name(name: str) -> str | dict[str, Any]:
    row: dict[str, Any] = {}
    store_file_name(row, "name", name)
    return name if len(row) == 1 else row
