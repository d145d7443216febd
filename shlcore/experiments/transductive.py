"""Fig. 1: accuracy of transductive and inductive learning on test rows."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.datasets import split, training_rows
from shlcore.experiments.journal import write_results
from shlcore.experiments.summaries import corrected_error, grouped_means
from shlcore.parameters import DECODINGS
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
    parser.add_argument(
        "--decoding", choices=DECODINGS, default="hamming", help="distance (%(default)s)"
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
        "decoding": arguments.decoding,
        "seed": arguments.seed,
    }
    cells = [
        {"run": run, "bits": bits}
        for run in range(arguments.runs)
        for bits in arguments.bits or code_lengths(len(np.unique(dataset.y)))
    ]
    write = partial(report, settings=settings)
    return options.run_experiment(arguments, NAME, settings, cells, measure, write)


def code_lengths(n_classes: int) -> range:
    """Return the paper's 4 to 15 bits, less those with fewer codewords than classes."""
    return range(max(4, (n_classes - 1).bit_length()), 16)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit both modes on one split; accuracies are those on the test rows.

    Both scale columns by all rows. Test rows in training are told by their codeword, the nearest
    one by hinge distance; with decoding by Hamming distance the modes differ in that, too.
    """
    seed = settings["seed"] + cell["run"]
    rows = split(
        options.dataset_at(path),
        n_train=settings["train"],
        n_queries=settings["test"],
        given=False,
        seed=seed,
    )
    classes, y = np.unique(rows.y, return_inverse=True)  # so that -1 is free for "unlabelled"
    X = np.concatenate([rows.X, rows.queries])
    labels = np.concatenate([y, np.full(len(rows.query_labels), UNLABELLED)])
    result: Row = {}
    answers = []
    for mode in MODES:
        started = time.process_time()
        model = SHL.paper(
            n_bits=cell["bits"],
            semi_supervised="paper" if mode == "transductive" else "none",
            decoding=settings["decoding"],
            probability=False,
            random_state=seed,
        ).fit(X, labels)
        answers.append(classes[model.transduction_[len(y) :]])
        result[mode] = float((answers[-1] == rows.query_labels).mean())
        result[f"{mode}_cpu_seconds"] = round(time.process_time() - started, 3)
    result["differing"] = float((answers[0] != answers[1]).mean())
    return result


def summarise(results: Sequence[Row], settings: Cell) -> list[Row]:
    """Return means over the runs by code length, with errors of the difference."""
    rows = [{**row, "difference": row[MODES[1]] - row[MODES[0]]} for row in results]
    means = [*MODES, "difference", "differing"]
    summary = grouped_means(rows, ["bits"], means=means, spread="difference")
    for line in summary:
        values = [row["difference"] for row in rows if row["bits"] == line["bits"]]
        line["error"] = corrected_error(values, n_train=settings["train"], n_test=settings["test"])
    return sorted(summary, key=lambda line: line["bits"])


def report(results: Sequence[Row], folder: Path, settings: Cell) -> None:
    """Write results and their summary as files, print the table, draw the figure."""
    summary = summarise(results, settings)
    write_results(folder, results, summary)
    print(markdown_table(summary))
    _draw(results[0]["dataset"], summary, folder)


def markdown_table(summary: Sequence[Row]) -> str:
    """Tabulate accuracies, bits by modes, with the mean over all bits as last row."""
    heads = ("bits", *MODES, "difference", "answers that differ")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += [
        f"| {row['bits']} | {row[MODES[0]]:.3f} | {row[MODES[1]]:.3f} "
        f"| {row['difference']:+.3f} ± {row['error']:.3f} | {row['differing']:.1%} |"
        for row in summary
    ]
    means = {
        name: np.mean([row[name] for row in summary])
        for name in (*MODES, "difference", "differing")
    }
    last = f"| mean | {means[MODES[0]]:.4f} | {means[MODES[1]]:.4f} "
    return "\n".join([*lines, f"{last}| {means['difference']:+.4f} | {means['differing']:.1%} |"])


def _draw(dataset: str, summary: Sequence[Row], folder: Path) -> None:
    canvas = plots.new_figure(1, 1, (5, 3.6))
    if canvas is None:
        return
    figure, ((axes,),) = canvas
    series = {mode: plots.line(summary, "bits", mode) for mode in MODES}
    plots.draw_lines(axes, series, x="bits", y="accuracy", title=dataset)
    axes.legend()
    plots.save_figure(figure, folder, NAME)
