"""Journal of an experiment's finished cells, and the run of the missing ones."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import platform
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from shlcore.atomic_file import write_text
from shlcore.model_file import printable
from shlcore.parallel import connect_to_cluster, map_in_processes, map_on_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


LOG = logging.getLogger(__name__)
JOURNAL = "journal.jsonl"
_SHORT = Repr()
_SHORT.maxdict = 20

Row = dict[str, Any]
"""The result of a cell, as JSON; each experiment has its own keys."""

Cell = Mapping[str, Any]
"""The settings of one cell, or those that all cells share."""

Measure = Callable[[Cell], Row]


class JournalError(ValueError):
    """A folder with other content; the message is one sentence for the user."""


class Journal:
    """One line per finished cell, written as soon as it is finished.

    The first line holds the settings, because cells of other settings must not be mixed with
    these. A line cut off by an interruption is dropped; so are damaged ones, with a warning.
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
                f"got those of {printable(_SHORT.repr(begin['settings']))}"
            )
        entries = {line: entry for line in lines if (entry := _cell(line)) is not None}
        self.cells = {entry["cell"]: entry["found"] for entry in entries.values()}
        damaged = [number for number, line in enumerate(lines, start=2) if line not in entries]
        if damaged:
            write_text(self.path, b"".join(line + b"\n" for line in (first, *entries)).decode())
        if damaged not in ([], [len(lines) + 1]):
            warnings.warn(
                f"{self.path}: left out {len(damaged)} damaged lines, the first is line "
                f"{damaged[0]}; their cells are measured again",
                UserWarning,
                stacklevel=2,
            )

    def add(self, cell: str, result: Row) -> None:
        """Add the result of a finished cell."""
        self.cells[cell] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"cell": cell, "found": result}) + "\n")


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
    """Return the settings of the journal in a folder."""
    first, *_ = _lines(folder / JOURNAL) or [b""]
    settings = (_parsed(first) or {}).get("settings")
    return settings if isinstance(settings, dict) else {}


def versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    names = {"python": platform.python_version()}
    for name in ("segapp", "numpy", "scipy", "scikit-learn"):
        try:
            names[name] = version(name)
        except PackageNotFoundError:
            names[name] = "unknown"
    return names


def write_rows(folder: Path, name: str, rows: Sequence[Cell], **more: object) -> None:
    """Write rows as ``name.json``, with versions and settings, and as ``name.csv``."""
    content = {"versions": versions(), "settings": settings_in(folder), **more}
    content["rows"] = list(rows)
    write_text(folder / f"{name}.json", json.dumps(content, indent=1) + "\n")
    write_csv(folder / f"{name}.csv", rows)


def write_results(
    folder: Path, rows: Sequence[Cell], summary: Sequence[Cell], **more: object
) -> None:
    """Write rows as ``results`` (see `write_rows`), and their summary as CSV."""
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


def cell_name(cell: Cell) -> str:
    """Return the name of a cell in the journal and in messages."""
    return " ".join(f"{key}={value}" for key, value in cell.items())


def measure_cells(
    path: Path,
    settings: Cell,
    folder: Path,
    cells: Sequence[Cell],
    measure: Callable[[Path, Cell, Cell], Row],
    jobs: int = 1,
    scheduler: str | None = None,
) -> tuple[list[Row], int]:
    """Measure cells missing in the folder's journal; return all rows and failures.

    A row is the dataset's name, the cell's settings and its result.
    """
    journal = Journal(folder, settings)
    failed = run_cells(cells, partial(measure, path, settings), journal, jobs, scheduler)
    rows = [
        {"dataset": settings["dataset"], **cell, **journal.cells[cell_name(cell)]}
        for cell in cells
        if cell_name(cell) in journal.cells
    ]
    return rows, failed


def run_cells(
    cells: Sequence[Cell],
    measure: Measure,
    journal: Journal,
    jobs: int,
    scheduler: str | None = None,
) -> int:
    """Measure all cells missing in the journal; return the number of failures.

    In this process, in several (``jobs``), or on the Dask cluster of a scheduler's address.

    The error of a cell goes to standard error, and the other cells still run.
    """
    missing = [cell for cell in cells if cell_name(cell) not in journal.cells]
    failed = 0
    progress = tqdm(total=len(cells), initial=len(cells) - len(missing), unit="cell")
    with progress:
        for cell, result in _results(missing, measure, jobs, scheduler):
            if isinstance(result, ValueError):
                failed += 1
                progress.write(f"{cell_name(cell)}: {result}", file=sys.stderr)
            else:
                journal.add(cell_name(cell), result)
            progress.set_postfix_str(cell_name(cell), refresh=False)
            progress.update()
    return failed


def _results(
    cells: Sequence[Cell], measure: Measure, jobs: int, scheduler: str | None
) -> Iterator[tuple[Cell, Row | ValueError]]:
    if scheduler is not None:
        with connect_to_cluster(scheduler) as client:
            yield from map_on_cluster(client, partial(_guarded, measure), cells)
        return
    if jobs == 1:
        for cell in cells:
            yield cell, _guarded(measure, cell)
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    yield from map_in_processes(partial(_unless_stopped, measure), cells, jobs, threads=threads)


def _unless_stopped(measure: Measure, cell: Cell, stopped: Callable[[], bool]) -> Row | ValueError:
    return ValueError("Stopped.") if stopped() else _guarded(measure, cell)


def _guarded(measure: Measure, cell: Cell) -> Row | ValueError:
    """Return a ValueError as a value, so that the other cells still run."""
    try:
        return measure(cell)
    except ValueError as error:
        LOG.info("%s failed", cell_name(cell), exc_info=True)
        return error
