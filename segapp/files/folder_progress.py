"""How far the work on a folder is: which pictures are answered or done, and where one was."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from segapp.files.file_names import name_in, with_name
from segapp.values.checked import fields, from_json, listed
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

PROGRESS_NAME = "segapp-progress.json"
_FORMAT, _VERSION = "segapp progress", 1
_LARGEST = 64 << 20  # bytes; a hundred thousand pictures with long names have a third of that
_MOST = 1_000_000


class Status(Enum):
    """What has become of a picture."""

    UNTOUCHED = "untouched"
    MARKED = "marked"
    ANSWERED = "answered"
    DONE = "done"
    FAILED = "failed"


_KEPT = (Status.ANSWERED, Status.DONE)


@dataclass(frozen=True, slots=True)
class FolderProgress:
    """Names of pictures with what is kept of them, and the one that was open last."""

    states: dict[str, Status] = field(default_factory=dict)
    last: str | None = None

    def with_status(self, name: str, status: Status | None) -> FolderProgress:
        """Keep what has become of a picture; ``None`` forgets it."""
        states = {other: kept for other, kept in self.states.items() if other != name}
        if status is not None:
            states[name] = status
        return replace(self, states=states)


def read_progress(path: Path) -> FolderProgress:
    """Read the progress; a file that is missing or damaged is none, as it can be made anew."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            return FolderProgress()
        plain = fields(from_json(content, path.name), path.name)
        if plain.get("format") != _FORMAT or plain.get("version") != _VERSION:
            return FolderProgress()
        states: dict[str, Status] = {}
        for status in _KEPT:
            for row in listed(plain.get(status.value, []), status.value, 0, _MOST):
                name = name_in(row if isinstance(row, dict) else {"name": row}, "name")
                if name is not None:
                    states[name] = status
        return FolderProgress(states, name_in(plain, "last"))
    except (OSError, ValueError):
        return FolderProgress()


def write_progress(path: Path, changes: dict[str, Status | None], last: str | None) -> None:
    """Put changes into the file, on top of what another window has written meanwhile."""
    progress = read_progress(path)
    states = progress.states | {n: status for n, status in changes.items() if status is not None}
    content: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    with_name(content, "last", last or progress.last)
    for status in _KEPT:
        content[status.value] = [
            _plain_name(name)
            for name, kept in sorted(states.items())
            if kept is status and changes.get(name, kept) is kept
        ]
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _plain_name(name: str) -> str | dict[str, Any]:
    row: dict[str, Any] = {}
    with_name(row, "name", name)
    return name if len(row) == 1 else row
