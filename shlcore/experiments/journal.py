"""What an experiment has found so far, kept so that an interrupted run goes on."""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

JOURNAL = "journal.jsonl"

Row = dict[str, Any]
"""What was found, as JSON: every experiment has keys of its own."""

Cell = Mapping[str, Any]
"""What sets a cell apart from the others, or the settings that all share."""


class JournalError(ValueError):
    """A folder that holds something else; the message is one sentence for the user."""


class Journal:
    """One line per finished cell, written as soon as it is finished.

    The first line holds the settings: cells found with others must not be mixed with these.
    A line cut off by an interruption is dropped.
    """

    def __init__(self, folder: Path, settings: Cell) -> None:
        self.path = folder / JOURNAL
        self.cells: dict[str, Row] = {}
        folder.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        entries = [entry for line in lines if (entry := _parsed(line)) is not None]
        if not entries:
            self._rewrite([{"settings": settings}])
            return
        if entries[0].get("settings") != json.loads(json.dumps(settings)):
            raise JournalError(
                f"{folder}: wanted an empty folder or results of the same settings, "
                f"got those of {entries[0].get('settings')}"
            )
        self.cells = {entry["cell"]: entry["found"] for entry in entries[1:]}
        if len(entries) != len(lines):
            self._rewrite(entries)

    def add(self, cell: str, found: Row) -> None:
        """Keep a finished cell."""
        self.cells[cell] = found
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"cell": cell, "found": found}) + "\n")

    def _rewrite(self, entries: list[Row]) -> None:
        write_text(self.path, "".join(json.dumps(entry) + "\n" for entry in entries))


def _parsed(line: str) -> Row | None:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) else None


def settings_in(folder: Path) -> Row:
    """Return the settings that a folder's journal begins with."""
    path = folder / JOURNAL
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return dict((_parsed(file.readline()) or {}).get("settings", {}))


def versions() -> dict[str, str]:
    """Return what results may depend on."""
    found = {"python": platform.python_version()}
    for name in ("segapp", "numpy", "scipy", "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def write_rows(folder: Path, name: str, rows: Sequence[Cell]) -> None:
    """Write rows as ``name.json``, with versions and settings, and as ``name.csv``."""
    content = {"versions": versions(), "settings": settings_in(folder), "rows": list(rows)}
    write_text(folder / f"{name}.json", json.dumps(content, indent=1) + "\n")
    write_csv(folder / f"{name}.csv", rows)


def write_results(folder: Path, rows: Sequence[Cell], summary: Sequence[Cell]) -> None:
    """Write all rows as ``results`` and their summary as CSV."""
    write_rows(folder, "results", rows)
    write_csv(folder / "summary.csv", summary)


def write_csv(path: Path, rows: Iterable[Cell]) -> None:
    """Write rows of the same keys as CSV."""
    rows = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
