"""Arguments that several experiments share."""

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
    load_dataset,
    put_aside,
    split,
    training_rows,
)
from shlcore.experiments.journal import found_cells
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
    return parser


def add_runs(parser: argparse.ArgumentParser, runs: int) -> None:
    """Add the number of runs, and where they are worked on."""
    parser.add_argument("--runs", type=positive, default=runs, help="random splits (%(default)s)")
    add_workers(parser)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add how many cells are worked on at once, and where."""
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
    """Add how training rows and queries are drawn."""
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
    """Where results go: the folder asked for, or one named after dataset and experiment."""
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
    """Measure the cells that are still missing, report what was found; return the exit code.

    ``report`` gets all rows and the folder for results, unless nothing at all was found. The cells
    are measured in ``--jobs`` processes or by ``--scheduler``, where a command has `add_workers`.
    """
    jobs = getattr(arguments, "jobs", None)
    scheduler = None if jobs is None else arguments.scheduler
    folder = output_folder(arguments, name)
    found, failed = found_cells(
        arguments.dataset, settings, folder, cells, measure, jobs or 1, scheduler
    )
    if found:
        report(found, folder)
    return 1 if failed else 0


@lru_cache(maxsize=1)
def dataset_at(path: Path) -> Dataset:
    """Read a dataset, or make one that has a name and no file; once a process."""
    make = MADE.get(str(path))
    return load_dataset(path) if make is None or path.exists() else make()


@dataclass(frozen=True, slots=True)
class Draw:
    """How one run's rows are drawn."""

    train: int
    queries: int | None
    given: bool
    seed: int
    development: int


@lru_cache(maxsize=1)
def split_of(path: Path, draw: Draw, run: int) -> Split:
    """Draw a run's split, once a process while its cells follow each other."""
    return split(
        dataset_at(path),
        n_train=draw.train,
        n_queries=draw.queries,
        given=draw.given,
        seed=draw.seed + run,
        apart=_put_aside(path, draw),
    )


@lru_cache(maxsize=1)
def _put_aside(path: Path, draw: Draw) -> Indices:
    dataset = dataset_at(path)
    return put_aside(dataset, count=draw.development, given=draw.given, seed=draw.seed)


def split_settings(arguments: argparse.Namespace, development: int = 0) -> Row:
    """Settle how rows are drawn: part of what a journal must agree with."""
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
    """Return the indices of the rows that are put aside for choices."""
    return _put_aside(path, _draw(settings))


def _draw(settings: Cell) -> Draw:
    names = ("train", "queries", "given_split", "seed", "development")
    return Draw(*(settings[name] for name in names))
