"""Figs. 2 to 6: precision of the k nearest codes, and precision-recall, by method and bits."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.atomic_file import write_text
from shlcore.experiments import choices, options, retrieval_tables
from shlcore.experiments.journal import write_csv, write_results
from shlcore.experiments.methods import METHODS
from shlcore.experiments.ranking import ranked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.experiments.journal import Cell, Row

NAME = "retrieval"
DEPTHS = tuple(range(10, 51, 5))  # k in the paper
MOST_DEVELOPMENT = 1500


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Precision@k and precision-recall of all methods over code lengths (figs. 2 to 6). "
        "Kernels and costs are chosen on development rows that no split sees.",
        "usps.npz --train 1500 --queries 1000 --bits 5 15 45 --runs 5 --jobs 2",
    )
    parser.add_argument(
        "--bits", nargs="+", type=options.positive, default=[5, 15, 25, 35, 45], metavar="B"
    )
    parser.add_argument(
        "--development",
        type=options.positive,
        metavar="N",
        help=f"rows put aside for choices (a quarter, at most {MOST_DEVELOPMENT})",
    )
    options.add_methods(parser)
    options.add_runs(parser, 5)
    options.add_split(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Settle what is open, measure all cells, write tables and figures; return the exit code."""
    dataset = options.dataset_at(arguments.dataset)
    development = arguments.development or min(MOST_DEVELOPMENT, len(dataset.X) // 4)
    settings = options.split_settings(arguments, development)
    folder = options.output_folder(arguments, NAME)
    choice, tried = choices.chosen(arguments, settings, folder)
    n_classes = len(np.unique(dataset.y))
    cells = [
        choices.with_choice({"run": run, "method": method, "bits": bits}, choice)
        for run in range(arguments.runs)
        for method in arguments.methods
        for bits in ([n_classes] if METHODS[method].one_hot else arguments.bits)
    ]
    write = partial(report, settings=settings, choice={**choice, "tried": tried})
    return options.run_experiment(arguments, NAME, settings, cells, measure, write)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit one method on one split, and search with every query; times are those of the CPU."""
    split = options.run_split(path, settings, cell["run"])
    method = METHODS[cell["method"]]
    seed = settings["seed"] + cell["run"]
    started = time.process_time()
    hasher = method.hasher(cell["bits"], seed, split.X, cell["bank"], cell["cost"])
    hasher.fit(split.X, split.y)
    seconds = time.process_time() - started
    started = time.process_time()
    hasher.hash(split.queries)
    hashing = time.process_time() - started
    ranking = ranked(hasher, split, by_score=method.by_score)
    depths = [k for k in DEPTHS if k <= len(split.X)]
    precision, recall = ranking.precision_recall()
    found: Row = {
        "cpu_seconds": round(seconds, 3),
        "hash_cpu_seconds": round(hashing, 3),
        "n_queries": len(split.queries),
        "mean_average_precision": ranking.mean_average_precision(),
        "precision_at": dict(zip(map(str, depths), ranking.precision_at(depths), strict=True)),
        # By class scores every row is a radius of its own: no curve over a few.
        "curve": None if method.by_score else [precision.tolist(), recall.tolist()],
        "parameters": {name: repr(value) for name, value in hasher.get_params().items()},
        "unseen_precision": None,
        "unseen_mean_average_precision": None,
    }
    if len(split.unseen) >= DEPTHS[0]:
        among = ranked(hasher, split, by_score=method.by_score, unseen=True)
        found["unseen_precision"] = float(among.precision_at([DEPTHS[0]])[0])
        found["unseen_mean_average_precision"] = among.mean_average_precision()
    return found


def report(found: Sequence[Row], folder: Path, settings: Cell, choice: Cell) -> None:
    """Write results.json, CSV tables, the tables as Markdown and figures, and print the tables."""
    rows = retrieval_tables.precision_rows(found)
    n_test = round(float(np.mean([cell["n_queries"] for cell in found])))
    sizes = {"n_train": settings["train"], "n_test": n_test}
    summary = retrieval_tables.summarise(rows, **sizes)
    fits = [
        {name: cell[name] for name in ("method", "bits", "run", "bank", "cost", "parameters")}
        for cell in found
    ]
    write_results(folder, rows, summary, choices=choice, fits=fits)
    write_csv(folder / "curves.csv", retrieval_tables.curve_rows(found))
    text = retrieval_tables.page(rows, choice, **sizes)
    write_text(folder / "tables.md", text + "\n")
    print(text)
    retrieval_tables.draw(found, summary, folder)
