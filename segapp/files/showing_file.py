"""How a folder's pictures are shown, in one small file beside them, and in projects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from segapp.files.pages import file_of
from segapp.values.checked import field, fields, from_json, listed, number, text, whole
from segapp.values.colour_maps import ColourMap
from segapp.values.levels import Levels
from segapp.values.showing import AS_IT_COMES, MOST_CHANNELS, Showing
from segapp.values.wording import quoted, reason, shown
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

SHOWING_NAME = "segapp-view.json"
_FORMAT, _VERSION = "segapp view", 1
_LARGEST = 1 << 20  # bytes; thousands of channels with levels have a third of that


class ShowingError(ValueError):
    """How pictures are shown cannot be read; the message is one sentence that says why."""


def showing_to_plain(showing: Showing) -> dict[str, Any]:
    """Return what JSON can hold; channels are counted from 1 there."""
    return {
        "channels": [None if index is None else index + 1 for index in showing.channels],
        "levels": [
            None if one is None else {"black": one.black, "white": one.white, "gamma": one.gamma}
            for one in showing.levels
        ],
        "colour map": showing.colour_map.value,
    }


def showing_from_plain(plain: object) -> Showing:
    """Make a value of it, or a `ValueError` that names the field that is wrong."""
    told = fields(plain, "showing")
    channels = listed(told.get("channels", []), "channels", 0, 3)
    levels = listed(told.get("levels", []), "levels", 0, MOST_CHANNELS)
    name = text(told.get("colour map", ColourMap.GREY.value), "colour map")
    if name not in [one.value for one in ColourMap]:
        raise ValueError(f"colour map: wanted one that is known, got {quoted(name)}")
    return Showing(
        tuple(None if one is None else whole(one, "channels", 1) - 1 for one in channels),
        tuple(None if one is None else _levels(fields(one, "levels")) for one in levels),
        ColourMap(name),
    )


def _levels(plain: dict[str, Any]) -> Levels:
    return Levels(
        number(field(plain, "black"), "black"),
        number(field(plain, "white"), "white"),
        number(plain.get("gamma", 1.0), "gamma"),
    )


def write_showing(folder: Path, showing: Showing) -> None:
    """Let the pictures of a folder be shown so; as they come, the file goes away."""
    path = folder / SHOWING_NAME
    if showing == AS_IT_COMES:
        path.unlink(missing_ok=True)
        return
    content = {"format": _FORMAT, "version": _VERSION} | showing_to_plain(showing)
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_showing(folder: Path) -> Showing:
    """Read how the pictures of a folder are shown; without a file, as they come."""
    path = folder / SHOWING_NAME
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return AS_IT_COMES
    except OSError as error:
        told = shown(error.strerror) if error.strerror else reason(error)
        raise ShowingError(f"{shown(path)} cannot be read: {told}.") from error
    try:
        return _read(content)
    except ValueError as error:
        raise ShowingError(f"{SHOWING_NAME} is no view of pictures: {reason(error)}.") from error


def _read(content: bytes) -> Showing:
    if len(content) > _LARGEST:
        raise ValueError(f"wanted at most {_LARGEST} bytes")
    plain = fields(from_json(content, SHOWING_NAME), SHOWING_NAME)
    if plain.get("format") != _FORMAT:
        raise ValueError(f"wanted the format {quoted(_FORMAT)}")
    if whole(field(plain, "version"), "version", 1) > _VERSION:
        raise ValueError("it was made by a newer version, update segapp to read it")
    return showing_from_plain(plain)


def showing_beside(image: Path) -> Showing:
    """Return how an image is shown that has no project: as the others of its folder."""
    return read_showing(file_of(image).parent)
