"""Folder-wide files: display settings, pixel size and progress."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from segapp.io.control_files import read_control, turn, write_control
from segapp.io.pages import page_file
from segapp.model.display import DEFAULT_DISPLAY, MAX_CHANNELS, ColourMap, DisplaySettings, Levels
from segapp.model.picture import Scale
from segapp.model.validation import (
    Message,
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
    write_control(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_display(folder: Path) -> DisplaySettings:
    """Read the display settings of a folder; without a file, the default ones."""
    path = folder / DISPLAY_FILE
    try:
        content = read_control(path, _MAX_DISPLAY_BYTES)
        return DEFAULT_DISPLAY if content is None else _read(content)
    except OSError as error:
        message = sanitize(error.strerror) if error.strerror else reason(error)
        raise DisplaySettingsError("{} cannot be read: {}.", sanitize(path), message) from error
    except SegappError as error:
        raise DisplaySettingsError(
            "{} is not a file of display settings: {}.", DISPLAY_FILE, reason(error)
        ) from error


def _read(content: bytes) -> DisplaySettings:
    plain = require_object(from_json(content, DISPLAY_FILE), DISPLAY_FILE)
    if plain.get("format") != _DISPLAY_FORMAT:
        raise SegappError(f"wanted the format {short_repr(_DISPLAY_FORMAT)}")
    if require_int(require_field(plain, "version"), "version", 1) > _DISPLAY_VERSION:
        raise SegappError("it was made by a newer version, update segapp to read it")
    return display_from_plain(plain)


def folder_display(image: Path) -> DisplaySettings:
    """Return the display settings of an image without a project: its folder's."""
    return read_display(page_file(image).parent)


SCALE_FILE = "segapp-scale.json"
_SCALE_FORMAT, _SCALE_VERSION = "segapp scale", 1
_MAX_UNIT = 40


def write_scale(folder: Path, scale: Scale) -> None:
    """Write the size of a pixel in all images of a folder."""
    content = {"format": _SCALE_FORMAT, "version": _SCALE_VERSION}
    content |= {"pixel": scale.pixel, "unit": scale.unit}
    write_control(folder / SCALE_FILE, json.dumps(content, ensure_ascii=False) + "\n")


def folder_scale(image: Path) -> Scale | None:
    """Return the size of a pixel that an image's folder tells, if it does."""
    path = page_file(image).parent / SCALE_FILE
    try:
        content = read_control(path, _MAX_DISPLAY_BYTES)
        return None if content is None else _scale_of(content)
    except (OSError, SegappError) as error:
        raise DisplaySettingsError(
            "{} does not tell the size of a pixel: {}.", SCALE_FILE, reason(error)
        ) from error


def _scale_of(content: bytes) -> Scale:
    plain = require_object(from_json(content, SCALE_FILE), SCALE_FILE)
    if plain.get("format") != _SCALE_FORMAT or plain.get("version") != _SCALE_VERSION:
        raise SegappError(f"wanted the format {short_repr(_SCALE_FORMAT)}")
    return Scale(
        require_number(require_field(plain, "pixel"), "pixel"),
        require_text(require_field(plain, "unit"), "unit", _MAX_UNIT),
        Message("the folder"),
    )


PROGRESS_FILE = "segapp-progress.json"
_PROGRESS_FORMAT, _PROGRESS_VERSION = "segapp progress", 1
# Bytes; a hundred thousand pictures with long names have a third of that.
_MAX_PROGRESS_BYTES = 64 << 20
_MOST = 1_000_000


class ImageStatus(Enum):
    """Progress of one image."""

    UNTOUCHED = "untouched"
    MARKED = "marked"
    ANSWERED = "answered"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FolderProgress:
    """The names of a folder's images with a result, of those done, and the last one.

    An image that is done may have a result, or none.
    """

    answered: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    last: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressChanges:
    """Flags that are set or removed, each with the name of its image."""

    answered: dict[str, bool] = field(default_factory=dict)
    done: dict[str, bool] = field(default_factory=dict)
    last: str | None = None

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.answered or self.done or self.last)

    def then(self, later: ProgressChanges) -> ProgressChanges:
        """Return these changes followed by later ones."""
        return ProgressChanges(
            self.answered | later.answered, self.done | later.done, later.last or self.last
        )

    def applied_to(self, progress: FolderProgress) -> FolderProgress:
        """Return the progress with these changes."""
        return FolderProgress(
            _changed(progress.answered, self.answered),
            _changed(progress.done, self.done),
            self.last or progress.last,
        )


def _changed(names: frozenset[str], changes: dict[str, bool]) -> frozenset[str]:
    added = {name for name, is_set in changes.items() if is_set}
    return (names - changes.keys()) | added


class ProgressError(SegappError):
    """The progress cannot be read, and is therefore never replaced."""


def read_progress(path: Path) -> FolderProgress:
    """Read the progress; without a file there is none.

    Raises
    ------
    ProgressError
        When there is a file that cannot be read.
    """
    try:
        content = read_control(path, _MAX_PROGRESS_BYTES)
        return FolderProgress() if content is None else _progress(content)
    except OSError as error:
        message = sanitize(error.strerror) if error.strerror else reason(error)
        raise ProgressError("{} cannot be read: {}.", sanitize(path), message) from error
    except SegappError as error:
        raise ProgressError(
            "{} is not a file of progress: {}.", sanitize(path.name), reason(error)
        ) from error


def _progress(content: bytes) -> FolderProgress:
    plain = require_object(from_json(content, PROGRESS_FILE), PROGRESS_FILE)
    if plain.get("format") != _PROGRESS_FORMAT:
        raise SegappError(f"wanted the format {short_repr(_PROGRESS_FORMAT)}")
    if require_int(require_field(plain, "version"), "version", 1) > _PROGRESS_VERSION:
        raise SegappError("it was made by a newer version, update segapp to read it")
    answered, done = (
        frozenset(
            name
            for row in require_list(plain.get(flag, []), flag, 0, _MOST)
            if (name := load_file_name(row if isinstance(row, dict) else {"name": row}, "name"))
        )
        for flag in ("answered", "done")
    )
    return FolderProgress(answered, done, load_file_name(plain, "last"))


def update_progress(path: Path, changes: ProgressChanges) -> FolderProgress:
    """Write changes on top of those of other windows, which take turns; return all.

    Raises
    ------
    ProgressError, OSError
        When they are not written: a file that cannot be read is left as it is.
    """
    with turn(path):
        before = read_progress(path)
        progress = changes.applied_to(before)
        if progress != before:
            content: dict[str, Any] = {"format": _PROGRESS_FORMAT, "version": _PROGRESS_VERSION}
            store_file_name(content, "last", progress.last)
            for flag, names in (("answered", progress.answered), ("done", progress.done)):
                content[flag] = [_plain_name(name) for name in sorted(names)]
            write_control(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return progress


def _plain_name(name: str) -> str | dict[str, Any]:
    row: dict[str, Any] = {}
    store_file_name(row, "name", name)
    return name if len(row) == 1 else row
