"""Runs the independent cells of an experiment, one after another or in processes."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from tqdm import tqdm

from shlcore.cluster import as_they_come, connected
from shlcore.experiments.journal import Journal
from shlcore.process_pool import in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from shlcore.experiments.journal import Cell, Row

    Measure = Callable[[Cell], Row]


def cell_name(cell: Cell) -> str:
    """Name a cell in the journal and in messages."""
    return " ".join(f"{key}={value}" for key, value in cell.items())


def found_cells(
    path: Path,
    settings: Cell,
    folder: Path,
    cells: Sequence[Cell],
    measure: Callable[[Path, Cell, Cell], Row],
    jobs: int = 1,
    scheduler: str | None = None,
) -> tuple[list[Row], int]:
    """Measure the cells that the folder's journal lacks; return all rows, and how many failed.

    A row is the dataset's name, the cell, and what was found there.
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
    """Measure all cells that the journal lacks; return how many failed.

    In this process, in several (``jobs``), or on the Dask cluster of a scheduler's address.

    A cell that fails is told on standard error and does not keep the others from running.
    """
    missing = [cell for cell in cells if cell_name(cell) not in journal.cells]
    failed = 0
    progress = tqdm(total=len(cells), initial=len(cells) - len(missing), unit="cell")
    with progress:
        for cell, found in _results(missing, measure, jobs, scheduler):
            if isinstance(found, ValueError):
                failed += 1
                progress.write(f"{cell_name(cell)}: {found}", file=sys.stderr)
            else:
                journal.add(cell_name(cell), found)
            progress.set_postfix_str(cell_name(cell), refresh=False)
            progress.update()
    return failed


def _results(
    cells: Sequence[Cell], measure: Measure, jobs: int, scheduler: str | None
) -> Iterator[tuple[Cell, Row | ValueError]]:
    if scheduler is not None:
        with connected(scheduler) as client:
            yield from as_they_come(client, partial(_guarded, measure), cells)
        return
    if jobs == 1:
        for cell in cells:
            yield cell, _guarded(measure, cell)
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    yield from in_processes(partial(_unless_stopped, measure), cells, jobs, threads=threads)


def _unless_stopped(measure: Measure, cell: Cell, stopped: Callable[[], bool]) -> Row | ValueError:
    return ValueError("Stopped.") if stopped() else _guarded(measure, cell)


def _guarded(measure: Measure, cell: Cell) -> Row | ValueError:
    """Bring a clear refusal (ValueError) back as a value: the other cells still count."""
    try:
        return measure(cell)
    except ValueError as error:
        return error
