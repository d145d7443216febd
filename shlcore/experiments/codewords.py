"""When learning codewords pays: where they begin, how many a class has, wrong labels, kernels."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.codeword_starts import learn
from shlcore.experiments.journal import write_results
from shlcore.experiments.methods import kernels_for
from shlcore.experiments.summaries import corrected_error, grouped_means
from shlcore.kernels import Linear
from shlcore.retrieval import rank

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.array_types import AnyArray
    from shlcore.experiments.journal import Cell, Row

NAME = "codewords"
DEPTH = 10  # nearest codes that count, the smallest k of the paper
KERNELS = ("auto", "linear")
VARIANTS = (
    "random fixed",
    "random learnt",
    "spread fixed",
    "spread learnt",
    "similar fixed",
    "similar learnt",
)
_SETTING = ("kernels", "lambda1", "lambda2", "codewords", "noise")


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Accuracy and top-10 precision with codewords that are fixed or learnt, begin at random, "
        "spread or by the similarity of classes, over codewords a class and wrong labels.",
        "pendigits.npz --train 400 --queries 1000 --codewords 1 2 3 4 --noise 0 0.1 0.2 0.3",
    )
    parser.add_argument("--bits", type=options.positive, default=12, metavar="B")
    parser.add_argument(
        "--codewords",
        nargs="+",
        type=options.positive,
        default=[1, 2, 3, 4],
        metavar="S",
        help="codewords per class to begin with (where no label is wrong)",
    )
    parser.add_argument(
        "--noise",
        nargs="+",
        type=_share,
        default=[0.0, 0.1, 0.2, 0.3],
        metavar="SHARE",
        help="of training labels that are wrong (where classes have one codeword)",
    )
    for name, default, text in (
        ("lambda1", 1.0, "cost of a margin violation"),
        ("lambda2", 0.0, "pull between codewords of a class"),
    ):
        parser.add_argument(
            f"--{name}", nargs="+", type=float, default=[default], metavar="L", help=text
        )
    parser.add_argument(
        "--kernels", nargs="+", choices=KERNELS, default=list(KERNELS), help="(both)"
    )
    options.add_runs(parser, 5)
    options.add_split(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure all cells, write tables and the figure; return the exit code."""
    settings = {**options.split_settings(arguments), "bits": arguments.bits}
    counts_and_shares = dict.fromkeys(
        [(count, 0.0) for count in arguments.codewords] + [(1, share) for share in arguments.noise]
    )
    cells = [
        {
            "run": run,
            "kernels": kernels,
            "lambda1": lambda1,
            "lambda2": lambda2,
            "codewords": count,
            "noise": noise,
            "variant": variant,
        }
        for run in range(arguments.runs)
        for kernels in arguments.kernels
        for lambda1 in arguments.lambda1
        for lambda2 in arguments.lambda2
        for count, noise in counts_and_shares
        for variant in VARIANTS
    ]
    write = partial(report, settings=settings)
    return options.run_experiment(arguments, NAME, settings, cells, measure, write)


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit *SHL once; the labels of queries and database are the right ones."""
    split = options.run_split(path, settings, cell["run"])
    seed = settings["seed"] + cell["run"]
    kernels = [Linear()] if cell["kernels"] == "linear" else kernels_for(split.X)
    model = SHL(
        n_bits=settings["bits"],
        n_codewords=cell["codewords"],
        lambda1=cell["lambda1"],
        lambda2=cell["lambda2"],
        kernels=kernels,
        unlabelled=None,
        probability=False,
        random_state=seed,
    )
    source, learning = cell["variant"].split()
    started = time.process_time()
    with warnings.catch_warnings():
        # That a descent has not ended after 50 passes is part of the answer, not of the log.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = with_noise(split.y, cell["noise"], seed)
        outcome = learn(model, split.X, labels, source, learnt=learning == "learnt")
    seconds = round(time.process_time() - started, 3)
    codes = outcome.hash(split.queries), outcome.hash(split.X)
    ranking = rank(codes[0], split.wanted, codes[1], split.y, n_bits=settings["bits"])
    return {
        "n_queries": len(split.queries),
        "accuracy": float((outcome.predict(split.queries) == split.wanted).mean()),
        "precision": float(ranking.precision_at([DEPTH])[0]),
        "moved": outcome.moved,
        "remaining": float(np.mean(outcome.record.n_codewords)),
        "cpu_seconds": seconds,
    }


def with_noise(y: AnyArray, share: float, seed: int) -> AnyArray:
    """Return labels of which a share is wrong: drawn among the other classes."""
    rng = np.random.default_rng([seed, 1])
    classes, labels = np.unique(y, return_inverse=True)
    wrong = rng.choice(len(labels), round(share * len(labels)), replace=False)
    labels[wrong] += rng.integers(1, len(classes), size=len(wrong))
    return np.asarray(classes[labels % len(classes)])


def report(found: Sequence[Row], folder: Path, settings: Cell) -> None:
    """Write results and their summary as files, print the table, draw the figure."""
    means = ["accuracy", "precision", "moved", "remaining", "cpu_seconds"]
    summary = grouped_means(found, [*_SETTING, "variant"], means=means, spread="accuracy")
    write_results(folder, found, summary)
    print(markdown_table(found, settings))
    _draw(found[0]["dataset"], summary, folder)


def markdown_table(found: Sequence[Row], settings: Cell) -> str:
    """Lay accuracies out, variants across; then what learning adds to spread codewords."""
    names = ("kernels", "lambda1", "S", "wrong labels", *VARIANTS, "learnt − fixed", "bits moved")
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in found:
        groups.setdefault(tuple(row[name] for name in _SETTING), []).append(row)
    for (kernels, lambda1, _, count, noise), rows in groups.items():
        by_variant = {
            variant: [row["accuracy"] for row in rows if row["variant"] == variant]
            for variant in VARIANTS
        }
        texts = [f"{np.mean(values):.3f}" if values else "–" for values in by_variant.values()]
        gains = np.subtract(by_variant["spread learnt"], by_variant["spread fixed"]).tolist()
        error = corrected_error(gains, n_train=settings["train"], n_test=rows[0]["n_queries"])
        moved = np.mean([row["moved"] for row in rows if row["variant"] == "spread learnt"])
        first = f"| {kernels} | {lambda1:g} | {count} | {noise:.0%} | "
        last = f" | {np.mean(gains):+.3f} ± {error:.3f} | {moved:.1%} |"
        lines.append(first + " | ".join(texts) + last)
    return "\n".join(lines)


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError(text)
    return value


def _draw(dataset: str, summary: Sequence[Row], folder: Path) -> None:
    kernels = list(dict.fromkeys(row["kernels"] for row in summary))
    canvas = plots.new_figure(len(kernels), 2, (9, 3.4 * len(kernels)))
    if canvas is None:
        return
    figure, axes = canvas
    for line, kind in zip(axes, kernels, strict=True):
        for place, x, fixed, value in (
            (line[0], "codewords", "noise", 0.0),
            (line[1], "noise", "codewords", 1),
        ):
            rows = [row for row in summary if row["kernels"] == kind and row[fixed] == value]
            series = {
                variant: plots.line(
                    sorted((row for row in rows if row["variant"] == variant), key=lambda r: r[x]),
                    x,
                    "accuracy",
                    "deviation",
                )
                for variant in VARIANTS
            }
            plots.draw_lines(place, series, x=x, y="accuracy", title=f"{dataset}, {kind}")
            place.set_xticks(sorted({row[x] for row in rows}))
    axes[0][0].legend(fontsize="small")
    plots.save_figure(figure, folder, NAME)
