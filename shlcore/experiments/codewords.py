"""How lambda2 and S change the number of codewords that remain, and the precision."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.cells import found_cells
from shlcore.experiments.journal import write_csv, write_rows
from shlcore.experiments.methods import kernels_for
from shlcore.experiments.retrieval import hashed
from shlcore.retrieval import rank

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Row = dict[str, Any]

NAME = "codewords"
DEPTH = 10  # nearest codes that count


def add_parser(commands: Any) -> None:  # noqa: ANN401 (argparse keeps that class to itself)
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
    folder = options.output_folder(arguments, NAME)
    cells = [
        {"run": run, "codewords": count, "lambda2": lambda2}
        for run in range(arguments.runs)
        for count in arguments.codewords
        for lambda2 in arguments.lambda2
    ]
    found, failed = found_cells(
        arguments.dataset, settings, folder, cells, measure, arguments.jobs, arguments.scheduler
    )
    if found:
        write_rows(folder, "results", found)
        summary = summarise(found)
        write_csv(folder / "summary.csv", summary)
        print(markdown_table(summary))
        _draw(settings["dataset"], summary, folder)
    return 1 if failed else 0


def measure(path: Path, settings: Mapping[str, Any], cell: Mapping[str, Any]) -> Row:
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
    groups: dict[tuple[int, float], list[Row]] = {}
    for row in found:
        groups.setdefault((row["codewords"], row["lambda2"]), []).append(row)
    return [
        {
            "codewords": count,
            "lambda2": lambda2,
            "runs": len(rows),
            "remaining": float(np.mean([row["remaining"] for row in rows])),
            "precision": float(np.mean([row["precision"] for row in rows])),
            "deviation": float(np.std([row["precision"] for row in rows], ddof=len(rows) > 1)),
        }
        for (count, lambda2), rows in groups.items()
    ]


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
