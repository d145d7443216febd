"""What an experiment has found so far, kept so that an interrupted run goes on."""

from __future__ import annotations

import csv
import io
import json
import platform
import warnings
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from shlcore.atomic_file import write_text
from shlcore.model_file import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

JOURNAL = "journal.jsonl"
_SHORT = Repr()
_SHORT.maxdict = 20

Row = dict[str, Any]
"""What was found, as JSON: every experiment has keys of its own."""

Cell = Mapping[str, Any]
"""What sets a cell apart from the others, or the settings that all share."""


class JournalError(ValueError):
    """A folder that holds something else; the message is one sentence for the user."""


class Journal:
    """One line per finished cell, written as soon as it is finished.

    The first line holds the settings: cells found with others must not be mixed with these.
    A line cut off by an interruption is dropped; so are damaged ones, with a warning.
    """

    def __init__(self, folder: Path, settings: Cell) -> None:
        self.path = folder / JOURNAL
        self.cells: dict[str, Row] = {}
        folder.mkdir(parents=True, exist_ok=True)
        first, *lines = _lines(self.path) or [b""]
        begin = _parsed(first)
        if begin is None and not lines:
            write_text(self.path, json.dumps({"settings": settings}) + "\n")
            return
        if begin is None or "settings" not in begin:
            raise JournalError(f"{self.path}: wanted settings in its first line, got none")
        if begin["settings"] != json.loads(json.dumps(settings)):
            raise JournalError(
                f"{folder}: wanted an empty folder or results of the same settings, "
                f"got those of {shown(_SHORT.repr(begin['settings']))}"
            )
        entries = {line: entry for line in lines if (entry := _cell(line)) is not None}
        self.cells = {entry["cell"]: entry["found"] for entry in entries.values()}
        damaged = [number for number, line in enumerate(lines, start=2) if line not in entries]
        if damaged:
            write_text(self.path, b"".join(line + b"\n" for line in (first, *entries)).decode())
        if damaged not in ([], [len(lines) + 1]):
            warnings.warn(
                f"{self.path}: left out {len(damaged)} damaged lines, the first is line "
                f"{damaged[0]}; what they told is measured again",
                UserWarning,
                stacklevel=2,
            )

    def add(self, cell: str, found: Row) -> None:
        """Keep a finished cell."""
        self.cells[cell] = found
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"cell": cell, "found": found}) + "\n")


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def _parsed(line: bytes) -> Row | None:
    try:
        entry = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _cell(line: bytes) -> Row | None:
    entry = _parsed(line)
    whole = entry is not None and isinstance(entry.get("cell"), str) and "found" in entry
    return entry if whole else None


def settings_in(folder: Path) -> Row:
    """Return the settings that a folder's journal begins with."""
    first, *_ = _lines(folder / JOURNAL) or [b""]
    settings = (_parsed(first) or {}).get("settings")
    return settings if isinstance(settings, dict) else {}


def versions() -> dict[str, str]:
    """Return what results may depend on."""
    found = {"python": platform.python_version()}
    for name in ("segapp", "numpy", "scipy", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def write_rows(folder: Path, name: str, rows: Sequence[Cell], **more: object) -> None:
    """Write rows as ``name.json``, with versions, settings and more, and as ``name.csv``."""
    content = {"versions": versions(), "settings": settings_in(folder), **more}
    content["rows"] = list(rows)
    write_text(folder / f"{name}.json", json.dumps(content, indent=1) + "\n")
    write_csv(folder / f"{name}.csv", rows)


def write_results(
    folder: Path, rows: Sequence[Cell], summary: Sequence[Cell], **more: object
) -> None:
    """Write all rows (and more, see `write_rows`) as ``results``, and their summary as CSV."""
    write_rows(folder, "results", rows, **more)
    write_csv(folder / "summary.csv", summary)


def write_csv(path: Path, rows: Iterable[Cell]) -> None:
    """Write rows of the same keys as CSV."""
    rows = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
