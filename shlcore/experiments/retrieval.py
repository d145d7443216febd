"""Figs. 2 to 6: precision@k and precision-recall of all methods, with tables."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shlcore.atomic_file import write_text
from shlcore.experiments import model_selection, options, plots
from shlcore.experiments.journal import write_csv, write_results
from shlcore.experiments.methods import METHODS, ranked
from shlcore.experiments.summaries import corrected_error, grouped_means, verdict

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
    """Select kernels and costs, measure, write the report; return the exit code."""
    dataset = options.dataset_at(arguments.dataset)
    development = arguments.development or min(MOST_DEVELOPMENT, len(dataset.X) // 4)
    settings = options.split_settings(arguments, development)
    folder = options.output_folder(arguments, NAME)
    choice, tried = model_selection.select(arguments, settings, folder)
    n_classes = len(np.unique(dataset.y))
    cells = [
        model_selection.with_choice({"run": run, "method": method, "bits": bits}, choice)
        for run in range(arguments.runs)
        for method in arguments.methods
        for bits in ([n_classes] if METHODS[method].one_hot else arguments.bits)
    ]
    write = partial(report, settings=settings, choice={**choice, "tried": tried})
    return options.run_experiment(arguments, NAME, settings, cells, measure, write)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit one method on one split, and search with every query; measure CPU times."""
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
    result: Row = {
        "cpu_seconds": round(seconds, 3),
        "hash_cpu_seconds": round(hashing, 3),
        "n_queries": len(split.queries),
        "mean_average_precision": ranking.mean_average_precision(),
        "precision_at": dict(zip(map(str, depths), ranking.precision_at(depths), strict=True)),
        # By class scores there are as many radii as rows, and no curve over a few.
        "curve": None if method.by_score else [precision.tolist(), recall.tolist()],
        "parameters": {name: repr(value) for name, value in hasher.get_params().items()},
        "unseen_precision": None,
        "unseen_mean_average_precision": None,
    }
    if len(split.unseen) >= DEPTHS[0]:
        among = ranked(hasher, split, by_score=method.by_score, unseen=True)
        result["unseen_precision"] = float(among.precision_at([DEPTHS[0]])[0])
        result["unseen_mean_average_precision"] = among.mean_average_precision()
    return result


def report(results: Sequence[Row], folder: Path, settings: Cell, choice: Cell) -> None:
    """Write results as JSON, CSV, Markdown tables and figures; print the tables."""
    rows = precision_rows(results)
    n_test = round(float(np.mean([cell["n_queries"] for cell in results])))
    sizes = {"n_train": settings["train"], "n_test": n_test}
    summary = summarise(rows, **sizes)
    fits = [
        {name: cell[name] for name in ("method", "bits", "run", "bank", "cost", "parameters")}
        for cell in results
    ]
    write_results(folder, rows, summary, choices=choice, fits=fits)
    write_csv(folder / "curves.csv", curve_rows(results))
    text = page(rows, choice, **sizes)
    write_text(folder / "tables.md", text + "\n")
    print(text)
    draw(results, summary, folder)


OURS = "*SHL"
TOP = 10  # nearest rows, the smallest k of the paper
MEASURES = {
    "precision": f"Precision@{TOP}",
    "mean_average_precision": "Area under precision-recall (mean average precision)",
    "unseen_mean_average_precision": "The same, in a database that no method has seen",
    "cpu_seconds": "CPU seconds of a fit",
}
_KEYS = ("dataset", "method", "bits", "run")
_KEPT = (
    "mean_average_precision",
    "unseen_precision",
    "unseen_mean_average_precision",
    "cpu_seconds",
    "hash_cpu_seconds",
)


def precision_rows(results: Sequence[Row]) -> list[Row]:
    """Return one row for each cell and k."""
    return [
        {
            **{key: cell[key] for key in (*_KEYS, "bank", "cost")},
            "k": int(k),
            "precision": precision,
            **{name: cell[name] for name in _KEPT},
        }
        for cell in results
        for k, precision in cell["precision_at"].items()
    ]


def curve_rows(results: Sequence[Row]) -> list[Row]:
    """Return one row for each cell and Hamming radius."""
    return [
        {**{key: cell[key] for key in _KEYS}, "radius": radius, "precision": p, "recall": r}
        for cell in results
        if cell["curve"] is not None
        for radius, (p, r) in enumerate(zip(*cell["curve"], strict=True))
    ]


def summarise(rows: Sequence[Row], *, n_train: int, n_test: int) -> list[Row]:
    """Return means over the runs by method, bits and k, with errors of the precision."""
    keys = ["dataset", "method", "bits", "k"]
    means = [name for name in ("precision", *_KEPT) if _known(rows, name)]
    summary = grouped_means(rows, keys, means=means, spread="precision")
    for line in summary:
        values = _values(rows, "precision", line["method"], line["bits"], line["k"])
        line["error"] = corrected_error(values, n_train=n_train, n_test=n_test)
    return summary


def _known(rows: Sequence[Row], name: str) -> bool:
    return all(row[name] is not None for row in rows)


def _values(rows: Sequence[Row], name: str, method: str, bits: int, k: int = TOP) -> list[float]:
    """Return one value for each run, in the order of the runs."""
    chosen = [row for row in rows if (row["method"], row["bits"], row["k"]) == (method, bits, k)]
    return [row[name] for row in sorted(chosen, key=lambda row: row["run"])]


def page(rows: Sequence[Row], choice: Cell, *, n_train: int, n_test: int) -> str:
    """Write all tables as Markdown."""
    asked = [row for row in rows if not METHODS[row["method"]].one_hot]
    one_hot = [row for row in rows if METHODS[row["method"]].one_hot]
    sizes = {"n_train": n_train, "n_test": n_test}
    parts = []
    if "bank" in choice:
        costs = ", ".join(f"{method} {cost:g}" for method, cost in choice["costs"].items())
        parts.append(f"Chosen on development rows: kernels {choice['bank']}; costs: {costs}.")
    for name, title in MEASURES.items():
        if asked and _known(asked, name):
            parts.append(f"**{title}**\n\n{table(asked, name, **sizes)}")
    if one_hot:
        parts.append(f"**One bit for each class**\n\n{one_hot_table(one_hot, **sizes)}")
    if any(row["method"] == OURS for row in rows) and len({row["method"] for row in asked}) > 1:
        parts.append(
            f"**Against the others: precision@{TOP} / area**\n\n{verdicts(asked, **sizes)}"
        )
    return "\n\n".join(parts)


def table(rows: Sequence[Row], name: str, *, n_train: int, n_test: int) -> str:
    """Tabulate mean and corrected standard error, methods by bits; the best in bold.

    A cell with fewer runs than others shows their number.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    bits = sorted({row["bits"] for row in rows})
    cells = {(m, b): found for m in methods for b in bits if (found := _values(rows, name, m, b))}
    most = max(map(len, cells.values()))
    time = name == "cpu_seconds"
    lines = [
        "| method | " + " | ".join(f"{b} bits" for b in bits) + " |",
        "|---" * (len(bits) + 1) + "|",
    ]
    for method in methods:
        texts = []
        for b in bits:
            values = cells.get((method, b))
            if values is None:
                texts.append("–")
                continue
            means = [np.mean(cells[m, b]) for m in methods if (m, b) in cells]
            mean = f"{np.mean(values):.2f}" if time else f"{np.mean(values):.3f}"
            if not time and np.mean(values) == max(means):
                mean = f"**{mean}**"
            few = f" ({len(values)})" if len(values) < most else ""
            texts.append(mean + _error(values, n_train, n_test, time=time) + few)
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _error(values: Sequence[float], n_train: int, n_test: int, *, time: bool = False) -> str:
    if time or len(values) < 2:
        return ""
    return f" ± {corrected_error(values, n_train=n_train, n_test=n_test):.3f}"


def one_hot_table(rows: Sequence[Row], *, n_train: int, n_test: int) -> str:
    """Tabulate the methods with one bit for each class, or ranking by class scores."""
    names = [name for name in MEASURES if _known(rows, name)]
    heads = [MEASURES[name].split(" (")[0] for name in names]
    lines = ["| method | bits | " + " | ".join(heads) + " |", "|---" * (len(names) + 2) + "|"]
    for method, bits in dict.fromkeys((row["method"], row["bits"]) for row in rows):
        texts = []
        for name in names:
            values = _values(rows, name, method, bits)
            time = name == "cpu_seconds"
            mean = f"{np.mean(values):.2f}" if time else f"{np.mean(values):.3f}"
            texts.append(mean + _error(values, n_train, n_test, time=time))
        shown = "–" if METHODS[method].by_score else bits
        lines.append(f"| {method} | {shown} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def verdicts(rows: Sequence[Row], *, n_train: int, n_test: int) -> str:
    """Tabulate wins, ties and losses of *SHL by method: precision, then area.

    By the corrected resampled t-test at 5 % on the same splits.
    """
    bits = sorted({row["bits"] for row in rows})
    names = ("precision", "mean_average_precision")
    lines = [
        "| against | " + " | ".join(f"{b} bits" for b in bits) + " |",
        "|---" * (len(bits) + 1) + "|",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        if method == OURS:
            continue
        texts = []
        for b in bits:
            pairs = [
                (_values(rows, name, OURS, b), _values(rows, name, method, b)) for name in names
            ]
            alike = all(ours and len(ours) == len(theirs) for ours, theirs in pairs)
            outcomes = (
                [verdict(ours, theirs, n_train=n_train, n_test=n_test) for ours, theirs in pairs]
                if alike
                else ["–"]
            )
            texts.append(outcomes[0] if len(set(outcomes)) == 1 else " / ".join(outcomes))
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def draw(results: Sequence[Row], summary: Sequence[Row], folder: Path) -> None:
    """Draw the three panels of the paper: over bits, over k and over the radius."""
    canvas = plots.new_figure(1, 3, (13, 4.6))
    shown = [row for row in summary if not METHODS[row["method"]].one_hot]
    if canvas is None or not shown:
        return
    figure, ((left, middle, right),) = canvas
    methods = list(dict.fromkeys(row["method"] for row in shown))
    longest = max(row["bits"] for row in shown)
    for axes, x, fixed, value, title in (
        (left, "bits", "k", TOP, f"Top-{TOP} precision"),
        (middle, "k", "bits", longest, f"Top-k, {longest} bits"),
    ):
        chosen = [row for row in shown if row[fixed] == value]
        by_method = {m: [row for row in chosen if row["method"] == m] for m in methods}
        lines = {m: plots.line(r, x, "precision", "error") for m, r in by_method.items()}
        plots.draw_lines(axes, lines, x=x, y="precision", title=title)
    curves: dict[str, plots.Line] = {}
    for method in methods:
        pairs = [c["curve"] for c in results if (c["method"], c["bits"]) == (method, longest)]
        if pairs:
            precision, recall = np.mean(pairs, axis=0)
            curves[method] = (recall, precision, None)
    plots.draw_lines(
        right, curves, x="recall", y="precision", title=f"Hamming radius, {longest} bits"
    )
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize="small")
    figure.suptitle(str(results[0]["dataset"]))
    plots.save_figure(figure, folder, "retrieval")
