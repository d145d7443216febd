"""Fig. 1: accuracy on test rows that take part in training, against those that do not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.datasets import split, training_rows
from shlcore.experiments.summaries import grouped_means
from shlcore.problem import UNLABELLED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.experiments.journal import Cell, Row

NAME = "transductive"
ROWS = {"vowel": (330, 220), "letter": (300, 200)}  # training and test rows, sect. 6.2
MODES = ("inductive", "transductive")


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Accuracy of *SHL with the test rows in training, unlabelled, and without (fig. 1).",
        "vowel.npz --runs 20 --jobs 2",
    )
    parser.add_argument(
        "--bits",
        nargs="+",
        type=options.positive,
        metavar="B",
        help="code lengths (4 to 15, from where each class can have a codeword)",
    )
    parser.add_argument("--train", type=options.positive, metavar="N", help="labelled rows")
    parser.add_argument("--test", type=options.positive, metavar="N", help="rows to be labelled")
    options.add_runs(parser, 20)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure all cells, write tables and the figure; return the exit code."""
    dataset = options.dataset_at(arguments.dataset)
    third = training_rows(dataset)
    train, test = ROWS.get(dataset.name, (third, third // 2))
    settings = {
        "dataset": dataset.name,
        "rows": len(dataset.X),
        "train": arguments.train or train,
        "test": arguments.test or test,
        "seed": arguments.seed,
    }
    cells = [
        {"run": run, "bits": bits, "mode": mode}
        for run in range(arguments.runs)
        for bits in arguments.bits or code_lengths(len(np.unique(dataset.y)))
        for mode in MODES
    ]
    report = options.reporter(summarise, markdown_table, _draw)
    return options.run_experiment(arguments, NAME, settings, cells, measure, report)


def code_lengths(n_classes: int) -> range:
    """Return the paper's 4 to 15 bits, less those with fewer codewords than classes."""
    return range(max(4, (n_classes - 1).bit_length()), 16)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit one mode on one split; the accuracy is that on the test rows."""
    seed = settings["seed"] + cell["run"]
    rows = split(
        options.dataset_at(path),
        n_train=settings["train"],
        n_queries=settings["test"],
        given=False,
        seed=seed,
    )
    classes, y = np.unique(rows.y, return_inverse=True)  # so that -1 is free for "unlabelled"
    started = time.perf_counter()
    model = SHL(n_bits=cell["bits"], kernels="paper", random_state=seed)
    if cell["mode"] == "transductive":
        labels = np.concatenate([y, np.full(len(rows.wanted), UNLABELLED)])
        model.fit(np.concatenate([rows.X, rows.queries]), labels)
        answers = model.transduction_[len(y) :]
    else:
        answers = model.fit(rows.X, y).predict(rows.queries)
    seconds = round(time.perf_counter() - started, 3)
    return {"accuracy": float((classes[answers] == rows.wanted).mean()), "seconds": seconds}


def summarise(found: Sequence[Row]) -> list[Row]:
    """Mean and deviation over the runs of each mode and code length."""
    summary = grouped_means(found, ["bits", "mode"], means=["accuracy"], spread="accuracy")
    lengths = list(dict.fromkeys(row["bits"] for row in found))
    return sorted(summary, key=lambda row: (lengths.index(row["bits"]), MODES.index(row["mode"])))


def markdown_table(summary: Sequence[Row]) -> str:
    """Bits down, modes across, and the mean over all bits last."""
    lines = ["| bits | " + " | ".join(MODES) + " |", "|---|---|---|"]
    cells = {(row["bits"], row["mode"]): row for row in summary}
    for bits in dict.fromkeys(row["bits"] for row in summary):
        texts = [
            f"{cells[bits, mode]['accuracy']:.3f} ± {cells[bits, mode]['deviation']:.3f}"
            if (bits, mode) in cells
            else "–"
            for mode in MODES
        ]
        lines.append(f"| {bits} | " + " | ".join(texts) + " |")
    means = [[row["accuracy"] for row in summary if row["mode"] == mode] for mode in MODES]
    texts = [f"{np.mean(values):.4f}" if values else "–" for values in means]
    return "\n".join([*lines, "| mean | " + " | ".join(texts) + " |"])


def _draw(dataset: str, summary: Sequence[Row], folder: Path) -> None:
    canvas = plots.new_figure(1, 1, (5, 3.6))
    if canvas is None:
        return
    figure, ((axes,),) = canvas
    series = {
        mode: plots.line(
            [row for row in summary if row["mode"] == mode], "bits", "accuracy", "deviation"
        )
        for mode in MODES
    }
    plots.draw_lines(axes, series, x="bits", y="accuracy", title=dataset)
    axes.legend()
    plots.save_figure(figure, folder, NAME)
