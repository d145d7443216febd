"""Figs. 2 to 6: precision of the k nearest codes, and precision-recall, by method and bits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shlcore.experiments import options, plots
from shlcore.experiments.journal import write_csv, write_results
from shlcore.experiments.methods import METHODS, Hasher
from shlcore.experiments.summaries import grouped_means
from shlcore.retrieval import rank

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shlcore.array_types import Array
    from shlcore.experiments.journal import Cell, Row

NAME = "retrieval"
DEPTHS = tuple(range(10, 51, 5))  # k in the paper
HASHED_AT_ONCE = 2000  # rows, so that kernels to all training rows fit in memory


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Precision@k and precision-recall of all methods over code lengths (figs. 2 to 6).",
        "usps.npz --bits 5 25 45 --methods SHL KSH --runs 5 --jobs 2",
    )
    parser.add_argument(
        "--bits", nargs="+", type=options.positive, default=[5, 15, 25, 35, 45], metavar="B"
    )
    options.add_methods(parser)
    options.add_runs(parser, 5)
    options.add_split(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure all cells, write tables and figures; return the exit code."""
    settings = options.split_settings(arguments)
    cells = [
        {"run": run, "method": method, "bits": bits}
        for run in range(arguments.runs)
        for method in arguments.methods
        for bits in arguments.bits
    ]
    return options.run_experiment(arguments, NAME, settings, cells, measure, report)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit one method on one split, and search with every query."""
    split = options.run_split(path, settings, cell["run"])
    started = time.perf_counter()
    hasher = METHODS[cell["method"]](cell["bits"], settings["seed"] + cell["run"], split.X)
    hasher.fit(split.X, split.y)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    database, queries = (hashed(hasher, rows) for rows in (split.X, split.queries))
    hashing = time.perf_counter() - started
    ranking = rank(queries, split.wanted, database, split.y, n_bits=cell["bits"])
    depths = [k for k in DEPTHS if k <= len(split.X)]
    precision, recall = ranking.precision_recall()
    return {
        "seconds": round(seconds, 3),
        "hash_seconds": round(hashing, 3),
        "mean_average_precision": ranking.mean_average_precision(),
        "precision_at": dict(zip(map(str, depths), ranking.precision_at(depths), strict=True)),
        "curve": [precision.tolist(), recall.tolist()],
    }


def hashed(hasher: Hasher, rows: Array) -> NDArray[np.uint8]:
    """Hash rows, so many at once."""
    starts = range(0, len(rows), HASHED_AT_ONCE)
    return np.concatenate([hasher.hash(rows[start : start + HASHED_AT_ONCE]) for start in starts])


def report(found: Sequence[Row], folder: Path) -> None:
    """Write results.json, CSV tables and figures, and print top-10 precision."""
    rows = precision_rows(found)
    summary = summarise(rows)
    write_results(folder, rows, summary)
    write_csv(folder / "curves.csv", curve_rows(found))
    print(markdown_table([row for row in summary if row["k"] == min(DEPTHS)]))
    _draw(found, summary, folder)


def precision_rows(found: Sequence[Row]) -> list[Row]:
    """One row for each cell and k."""
    keys = ("dataset", "method", "bits", "run")
    return [
        {
            **{key: cell[key] for key in keys},
            "k": int(k),
            "precision": precision,
            "seconds": cell["seconds"],
            "mean_average_precision": cell["mean_average_precision"],
        }
        for cell in found
        for k, precision in cell["precision_at"].items()
    ]


def curve_rows(found: Sequence[Row]) -> list[Row]:
    """One row for each cell and Hamming radius."""
    keys = ("dataset", "method", "bits", "run")
    return [
        {**{key: cell[key] for key in keys}, "radius": radius, "precision": p, "recall": r}
        for cell in found
        for radius, (p, r) in enumerate(zip(*cell["curve"], strict=True))
    ]


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Mean and deviation over the runs of each method, bits and k."""
    keys = ["dataset", "method", "bits", "k"]
    return grouped_means(rows, keys, means=["precision", "seconds"], spread="precision")


def markdown_table(summary: Sequence[Row]) -> str:
    """Methods down, bits across: mean and deviation of top-k precision; the best in bold.

    A cell that rests on fewer runs than others says on how many.
    """
    bits = sorted({row["bits"] for row in summary})
    cells = {(row["method"], row["bits"]): row for row in summary}
    most = max(row["runs"] for row in summary)
    best = {b: max(row["precision"] for row in summary if row["bits"] == b) for b in bits}
    lines = [
        "| method | " + " | ".join(f"{b} bits" for b in bits) + " |",
        "|---" * (len(bits) + 1) + "|",
    ]
    for method in dict.fromkeys(row["method"] for row in summary):
        texts = []
        for b in bits:
            row = cells.get((method, b))
            if row is None:
                texts.append("–")
                continue
            mean = f"{row['precision']:.3f}"
            mean = f"**{mean}**" if row["precision"] == best[b] else mean
            spread = f" ± {row['deviation']:.3f}" if row["runs"] > 1 else ""
            few = f" ({row['runs']})" if row["runs"] < most else ""
            texts.append(mean + spread + few)
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _draw(found: Sequence[Row], summary: Sequence[Row], folder: Path) -> None:
    """Draw the three panels of the paper: over bits, over k and over the radius."""
    canvas = plots.new_figure(1, 3, (12, 3.8))
    if canvas is None:
        return
    figure, ((left, middle, right),) = canvas
    methods = list(dict.fromkeys(row["method"] for row in summary))
    longest = max(row["bits"] for row in summary)

    for axes, x, fixed, value, title in (
        (left, "bits", "k", min(DEPTHS), f"Top-{min(DEPTHS)} precision"),
        (middle, "k", "bits", longest, f"Top-k, {longest} bits"),
    ):
        chosen = [row for row in summary if row[fixed] == value]
        by_method = {m: [row for row in chosen if row["method"] == m] for m in methods}
        lines = {m: plots.line(r, x, "precision", "deviation") for m, r in by_method.items()}
        plots.draw_lines(axes, lines, x=x, y="precision", title=title)
    curves: dict[str, plots.Line] = {}
    for method in methods:
        pairs = [c["curve"] for c in found if (c["method"], c["bits"]) == (method, longest)]
        if pairs:
            precision, recall = np.mean(pairs, axis=0)
            curves[method] = (recall, precision, None)
    plots.draw_lines(
        right, curves, x="recall", y="precision", title=f"Hamming radius, {longest} bits"
    )
    left.legend(fontsize="small")
    figure.suptitle(str(found[0]["dataset"]))
    plots.save_figure(figure, folder, NAME)
