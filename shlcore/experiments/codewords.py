"""How lambda2 and S change the number of codewords that remain, and the precision."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.methods import kernels_for
from shlcore.experiments.retrieval import hashed
from shlcore.experiments.summaries import grouped_means
from shlcore.retrieval import rank

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.experiments.journal import Cell, Row

NAME = "codewords"
DEPTH = 10  # nearest codes that count, the smallest k of the paper


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Codewords that remain, and top-10 precision, over lambda2 and codewords per class.",
        "pendigits.npz --codewords 1 2 3 --lambda2 0 2e4 2e6 --train 1000",
    )
    parser.add_argument("--bits", type=options.positive, default=15, metavar="B")
    parser.add_argument(
        "--codewords",
        nargs="+",
        type=options.positive,
        default=[1, 2, 3],
        metavar="S",
        help="codewords per class to begin with",
    )
    parser.add_argument(
        "--lambda2",
        nargs="+",
        type=float,
        default=[0, 2e3, 2e4, 2e5, 2e6],
        metavar="L",
        help="pull between codewords of a class, on the scale of lambda1 times their rows",
    )
    options.add_runs(parser, 3)
    options.add_split(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure all cells, write tables and the figure; return the exit code."""
    settings = {**options.split_settings(arguments), "bits": arguments.bits}
    cells = [
        {"run": run, "codewords": count, "lambda2": lambda2}
        for run in range(arguments.runs)
        for count in arguments.codewords
        for lambda2 in arguments.lambda2
    ]
    report = options.reporter(summarise, markdown_table, _draw)
    return options.run_experiment(arguments, NAME, settings, cells, measure, report)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit *SHL once; count the distinct codewords of a class, and search."""
    split = options.run_split(path, settings, cell["run"])
    started = time.perf_counter()
    model = SHL(
        n_bits=settings["bits"],
        n_codewords=cell["codewords"],
        lambda2=cell["lambda2"],
        kernels=kernels_for(split.X),
        random_state=settings["seed"] + cell["run"],
    ).fit(split.X, split.y)
    seconds = round(time.perf_counter() - started, 3)
    database, queries = hashed(model, split.X), hashed(model, split.queries)
    ranking = rank(queries, split.wanted, database, split.y, n_bits=settings["bits"])
    return {
        "remaining": float(np.mean(model.n_codewords_)),
        "precision": float(ranking.precision_at([DEPTH])[0]),
        "seconds": seconds,
    }


def summarise(found: Sequence[Row]) -> list[Row]:
    """Mean over the runs of each setting, and the deviation of the precision."""
    return grouped_means(
        found, ["codewords", "lambda2"], means=["remaining", "precision"], spread="precision"
    )


def markdown_table(summary: Sequence[Row]) -> str:
    """One line a setting."""
    lines = ["| S | lambda2 | remaining per class | top-10 precision |", "|---|---|---|---|"]
    lines += [
        f"| {row['codewords']} | {row['lambda2']:g} | {row['remaining']:.2f} "
        f"| {row['precision']:.3f}" + (f" ± {row['deviation']:.3f} |" if row["runs"] > 1 else " |")
        for row in summary
    ]
    return "\n".join(lines)


def _draw(dataset: str, summary: Sequence[Row], folder: Path) -> None:
    canvas = plots.new_figure(1, 2, (8, 3.4))
    if canvas is None:
        return
    figure, ((left, right),) = canvas
    for axes, key in ((left, "remaining"), (right, "precision")):
        series = {
            f"S = {count}": plots.line(
                [row for row in summary if row["codewords"] == count], "lambda2", key
            )
            for count in dict.fromkeys(row["codewords"] for row in summary)
        }
        plots.draw_lines(axes, series, x="lambda2", y=key, title=f"{dataset}: {key}")
        axes.set_xscale("symlog", linthresh=100)
    left.legend()
    plots.save_figure(figure, folder, NAME)
