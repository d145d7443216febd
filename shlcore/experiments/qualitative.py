"""Figs. 7 and 8: query images and the images each method retrieves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shlcore.experiments import options, plots
from shlcore.experiments.datasets import DatasetError
from shlcore.experiments.journal import write_rows
from shlcore.experiments.methods import METHODS, hash_rows
from shlcore.index import HammingIndex

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.experiments.datasets import Split
    from shlcore.experiments.journal import Cell, Row

NAME = "qualitative"


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "A query image and the images each method retrieves, wrong ones framed red "
        "(figs. 7 and 8).",
        "mnist.npz --query 4 --bits 45",
    )
    parser.add_argument(
        "--query", type=int, nargs="+", default=[0], metavar="N", help="numbers of test rows"
    )
    parser.add_argument("--bits", type=options.positive, default=45, metavar="B")
    parser.add_argument("--count", type=options.positive, default=15, help="images retrieved")
    parser.add_argument(
        "--shape",
        type=options.positive,
        nargs=2,
        metavar=("HEIGHT", "WIDTH"),
        help="of an image (a square)",
    )
    options.add_methods(parser, [name for name in METHODS if not METHODS[name].one_hot])
    options.add_split(parser)
    options.add_workers(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit all methods, search, write the figures; return the exit code."""
    settings = {
        **options.split_settings(arguments),
        "bits": arguments.bits,
        "count": arguments.count,
        "query": arguments.query,
    }
    split = options.run_split(arguments.dataset, settings, 0)
    shape = image_shape(split.X.shape[1], arguments.shape)
    outside = [query for query in arguments.query if not 0 <= query < len(split.queries)]
    if outside:
        raise DatasetError(f"--query: wanted 0 to {len(split.queries) - 1}, got {outside[0]}")
    if arguments.count > len(split.X):
        raise DatasetError(f"--count: wanted at most {len(split.X)}, got {arguments.count}")
    cells = [{"method": method} for method in arguments.methods]

    def report(results: Sequence[Row], folder: Path) -> None:
        rows = [{"method": cell["method"], **row} for cell in results for row in cell["answers"]]
        write_rows(folder, "results", rows)
        for cell in results:
            print(f"{cell['method']}: {sum(row['right'] for row in cell['answers'])} right")
        for query in arguments.query:
            _draw(folder, split, [row for row in rows if row["query"] == query], shape)

    return options.run_experiment(arguments, NAME, settings, cells, measure, report)


def image_shape(n_features: int, shape: list[int] | None) -> tuple[int, int]:
    """Return the height and width of the rows' images."""
    height, width = shape or (math.isqrt(n_features), math.isqrt(n_features))
    if height * width != n_features:
        raise DatasetError(
            f"--shape: wanted a height and width of {n_features} pixels, got {height} x {width}"
        )
    return height, width


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Search with one method: the answers to each query, nearest first."""
    split = options.run_split(path, settings, 0)
    hasher = METHODS[cell["method"]].hasher(settings["bits"], settings["seed"], split.X)
    hasher.fit(split.X, split.y)
    index = HammingIndex().fit(hash_rows(hasher, split.X))
    codes = hasher.hash(split.queries[settings["query"]])
    distances, answers = index.kneighbors(codes, settings["count"])
    return {
        "answers": [
            {
                "query": query,
                "rank": index + 1,
                "row": int(row),
                "distance": int(distance),
                "right": bool(split.y[row] == split.query_labels[query]),
            }
            for query, near, far in zip(settings["query"], answers, distances, strict=True)
            for index, (row, distance) in enumerate(zip(near, far, strict=True))
        ]
    }


def _draw(folder: Path, split: Split, rows: Sequence[Row], shape: tuple[int, int]) -> None:
    """Draw the answers to one query, a line a method."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    count = max(row["rank"] for row in rows)
    size = (0.62 * (count + 2), 0.62 * len(by_method))
    canvas = plots.new_figure(len(by_method), count + 1, size)
    if canvas is None:
        return
    figure, axes = canvas
    query = rows[0]["query"]
    for line, (method, answers) in zip(axes, by_method.items(), strict=True):
        plots.draw_image(line[0], np.reshape(split.queries[query], shape))
        line[0].set_ylabel(method, rotation=0, ha="right", va="center")
        for axis, row in zip(line[1:], answers, strict=True):
            plots.draw_image(axis, np.reshape(split.X[row["row"]], shape), wrong=not row["right"])
    plots.save_figure(figure, folder, f"query-{query}")
