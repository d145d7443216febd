"""Command line arguments, splits and the run of an experiment."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from shlcore.experiments.datasets import (
    MADE,
    Dataset,
    Split,
    hold_out,
    load_dataset,
    split,
    training_rows,
)
from shlcore.experiments.journal import measure_cells
from shlcore.experiments.methods import METHODS, method_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shlcore.array_types import Indices
    from shlcore.experiments.journal import Cell, Row

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


FORMATS = (
    ".npz with X, y and optionally is_test; IDX, LIBSVM (.libsvm), CSV; "
    f"or one that needs no file: {', '.join(MADE)}"
)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"wanted a whole number of at least 1, got {text!r}")
    return number


def method(text: str) -> str:
    """Read the name of a method."""
    try:
        return method_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_parser(
    commands: Commands, name: str, summary: str, example: str, formats: str = FORMATS
) -> argparse.ArgumentParser:
    """Add an experiment's command with the dataset and the folder for its results."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"example:\n  shlcore experiment {name} {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "dataset",
        type=Path,
        metavar="DATASET",
        help=formats,
    )
    parser.add_argument(
        "--out",
        "--output",
        dest="output",
        type=Path,
        metavar="DIR",
        help=f"folder for results (DATASET-{name})",
    )
    parser.add_argument("--seed", type=int, default=0, help="first seed; run r takes seed + r")
    add_verbose(parser)
    return parser


def add_verbose(parser: argparse.ArgumentParser, *, default: object = argparse.SUPPRESS) -> None:
    """Add ``-v``; without a default, that of the command before the experiment counts."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=default,
        help="log passes, sweeps and tracebacks of this process on standard error",
    )


def add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    """Add the number of runs, and the processes or cluster for them."""
    parser.add_argument("--runs", type=positive, default=runs, help="random splits (%(default)s)")
    add_workers(parser)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the number of processes, and the address of a cluster."""
    parser.add_argument(
        "--jobs", type=positive, default=1, help="processes (%(default)s); resumes either way"
    )
    add_scheduler(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add the address of a Dask cluster."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="send the work to this Dask scheduler (tcp://host:8786); its workers see the files",
    )


def add_split(parser: argparse.ArgumentParser) -> None:
    """Add the settings of the split."""
    parser.add_argument(
        "--train",
        type=positive,
        metavar="N",
        help="training rows (as in the paper, or a third of the rows)",
    )
    parser.add_argument(
        "--queries", type=positive, metavar="N", help="test rows that ask (all of the rest)"
    )
    parser.add_argument(
        "--given-split",
        action="store_true",
        help="draw training rows and queries on their side of the dataset's own is_test",
    )


def add_methods(parser: argparse.ArgumentParser, default: Sequence[str] = tuple(METHODS)) -> None:
    """Add the choice of methods."""
    parser.add_argument(
        "--methods",
        nargs="+",
        type=method,
        default=list(default),
        metavar="METHOD",
        help=f"some of {', '.join(METHODS)} ({'all' if len(default) == len(METHODS) else 'most'})",
    )


def output_folder(arguments: argparse.Namespace, experiment: str) -> Path:
    """Return the folder for results, by default named after dataset and experiment."""
    folder: Path | None = arguments.output
    return folder or Path(f"{arguments.dataset.name.split('.')[0]}-{experiment}")


def run_experiment(
    arguments: argparse.Namespace,
    name: str,
    settings: Cell,
    cells: Sequence[Cell],
    measure: Callable[[Path, Cell, Cell], Row],
    report: Callable[[list[Row], Path], None],
) -> int:
    """Measure the missing cells, report all results; return the exit code.

    ``report`` gets all rows and the folder for results, unless there is no row. The cells are
    measured in ``--jobs`` processes or by ``--scheduler``, if a command has `add_workers`.
    """
    jobs = getattr(arguments, "jobs", None)
    scheduler = None if jobs is None else arguments.scheduler
    folder = output_folder(arguments, name)
    results, failed = measure_cells(
        arguments.dataset, settings, folder, cells, measure, jobs or 1, scheduler
    )
    if results:
        report(results, folder)
    return 1 if failed else 0


@lru_cache(maxsize=1)
def dataset_at(path: Path) -> Dataset:
    """Read or generate a dataset, once per process."""
    make = MADE.get(str(path))
    return load_dataset(path) if make is None or path.exists() else make()


@dataclass(frozen=True, slots=True)
class Draw:
    """Settings of a random split."""

    train: int
    queries: int | None
    given: bool
    seed: int
    development: int


@lru_cache(maxsize=1)
def split_of(path: Path, draw: Draw, run: int) -> Split:
    """Draw a run's split, cached for the consecutive cells of the run."""
    return split(
        dataset_at(path),
        n_train=draw.train,
        n_queries=draw.queries,
        given=draw.given,
        seed=draw.seed + run,
        apart=_hold_out(path, draw),
    )


@lru_cache(maxsize=1)
def _hold_out(path: Path, draw: Draw) -> Indices:
    dataset = dataset_at(path)
    return hold_out(dataset, count=draw.development, given=draw.given, seed=draw.seed)


def split_settings(arguments: argparse.Namespace, development: int = 0) -> Row:
    """Return the settings of the splits, a part of those in the journal."""
    dataset = dataset_at(arguments.dataset)
    return {
        "dataset": dataset.name,
        "rows": len(dataset.X),
        "train": arguments.train or training_rows(dataset),
        "queries": arguments.queries,
        "given_split": arguments.given_split,
        "seed": arguments.seed,
        "development": development,
    }


def run_split(path: Path, settings: Cell, run: int) -> Split:
    """Draw the split of one run."""
    return split_of(path, _draw(settings), run)


def development_rows(path: Path, settings: Cell) -> Indices:
    """Return the indices of the development rows."""
    return _hold_out(path, _draw(settings))


def _draw(settings: Cell) -> Draw:
    names = ("train", "queries", "given_split", "seed", "development")
    return Draw(*(settings[name] for name in names))
