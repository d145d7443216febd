"""Ablation of codewords: initial or fixed ones, number per class, label noise.

`shlcore.SHL` starts from spread codewords; `learn` also starts from other ones, and learns them or
keeps them fixed.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from shlcore import hamming
from shlcore.baselines.base import KernelMean
from shlcore.estimator import SHL
from shlcore.experiments import options, plots
from shlcore.experiments.journal import write_results
from shlcore.experiments.methods import kernels_for
from shlcore.experiments.summaries import corrected_error, grouped_means
from shlcore.hinge import class_scores
from shlcore.kernel_data import RowHash
from shlcore.kernels import KernelBank, Linear
from shlcore.parameters import Parameters
from shlcore.retrieval import rank
from shlcore.samples import ColumnInfo, SampleRows
from shlcore.scaling import learn_scaling, summarise
from shlcore.training_data import prepare_training_data

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array, Indices
    from shlcore.experiments.journal import Cell, Row
    from shlcore.fit_result import FitResult

    Codewords = NDArray[np.int8]


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
        "Accuracy and top-10 precision with codewords that are fixed or learnt, from a random, "
        "spread or similarity-based start, over codewords per class and wrong labels.",
        "pendigits.npz --train 400 --queries 1000 --codewords 1 2 3 4 --noise 0 0.1 0.2 0.3",
    )
    parser.add_argument("--bits", type=options.positive, default=12, metavar="B")
    parser.add_argument(
        "--codewords",
        nargs="+",
        type=options.positive,
        default=[1, 2, 3, 4],
        metavar="S",
        help="initial codewords per class (without wrong labels)",
    )
    parser.add_argument(
        "--noise",
        nargs="+",
        type=_share,
        default=[0.0, 0.1, 0.2, 0.3],
        metavar="SHARE",
        help="share of wrong training labels (with one codeword per class)",
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
    """Fit *SHL once; labels of queries and database have no noise."""
    split = options.run_split(path, settings, cell["run"])
    seed = settings["seed"] + cell["run"]
    kernels = [Linear()] if cell["kernels"] == "linear" else kernels_for(split.X)
    model = SHL(
        n_bits=settings["bits"],
        n_codewords=cell["codewords"],
        codewords="learnt",
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
        # A descent that does not converge in 50 passes is a valid result here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = with_noise(split.y, cell["noise"], seed)
        outcome = learn(model, split.X, labels, source, learnt=learning == "learnt")
    seconds = round(time.process_time() - started, 3)
    codes = outcome.hash(split.queries), outcome.hash(split.X)
    ranking = rank(codes[0], split.query_labels, codes[1], split.y, n_bits=settings["bits"])
    return {
        "n_queries": len(split.queries),
        "accuracy": float((outcome.predict(split.queries) == split.query_labels).mean()),
        "precision": float(ranking.precision_at([DEPTH])[0]),
        "moved": outcome.moved,
        "remaining": float(np.mean(outcome.record.n_codewords)),
        "cpu_seconds": seconds,
    }


def with_noise(y: AnyArray, share: float, seed: int) -> AnyArray:
    """Replace a share of the labels by random other classes."""
    rng = np.random.default_rng([seed, 1])
    classes, labels = np.unique(y, return_inverse=True)
    wrong = rng.choice(len(labels), round(share * len(labels)), replace=False)
    labels[wrong] += rng.integers(1, len(classes), size=len(wrong))
    return np.asarray(classes[labels % len(classes)])


def report(results: Sequence[Row], folder: Path, settings: Cell) -> None:
    """Write results and their summary as files, print the table, draw the figure."""
    means = ["accuracy", "precision", "moved", "remaining", "cpu_seconds"]
    summary = grouped_means(results, [*_SETTING, "variant"], means=means, spread="accuracy")
    write_results(folder, results, summary)
    print(markdown_table(results, settings))
    _draw(results[0]["dataset"], summary, folder)


def markdown_table(results: Sequence[Row], settings: Cell) -> str:
    """Tabulate accuracies by variant, and the gain of learning spread codewords."""
    names = ("kernels", "lambda1", "S", "wrong labels", *VARIANTS, "learnt − fixed", "bits moved")
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in results:
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
        for panel, x, fixed, value in (
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
            plots.draw_lines(panel, series, x=x, y="accuracy", title=f"{dataset}, {kind}")
            panel.set_xticks(sorted({row[x] for row in rows}))
    axes[0][0].legend(fontsize="small")
    plots.save_figure(figure, folder, NAME)


Source = Literal["random", "spread", "similar"]
_FLIPPED = 8  # number of the weakest bits of a word, whose flips are tried for a distinct word


@dataclass(frozen=True, slots=True, eq=False)
class LearnedCodewords:
    """The result of a fit and its initial codewords."""

    record: FitResult
    first: Codewords

    @property
    def moved(self) -> float:
        """Share of codeword bits that changed."""
        return float((self.record.codewords != self.first).mean())

    def predict(self, X: Array) -> AnyArray:
        """Return classes, by hinge distance."""
        scores = class_scores(self._project(X), self.record.codewords)
        return np.asarray(self.record.classes[scores.argmax(axis=1)])

    def hash(self, X: Array) -> NDArray[np.uint8]:
        """Return packed codes."""
        return hamming.pack((self._project(X) >= 0).astype(np.uint8))

    def _project(self, X: Array) -> Array:
        functions = self.record.hash
        if not isinstance(functions, RowHash):
            raise TypeError(f"kernels: wanted functions of rows, got {type(functions).__name__}")
        return functions.project(SampleRows(X))


def learn(model: SHL, X: Array, y: AnyArray, source: Source, *, learnt: bool) -> LearnedCodewords:
    """Fit with a model's parameters, from other codewords or without block 3.

    All rows have a label, the model a list of kernels. The same seed gives the spread codewords of
    ``model.fit``.
    """
    parameters = Parameters(**{f.name: getattr(model, f.name) for f in fields(Parameters)})
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    samples, columns = SampleRows(X), ColumnInfo(X.shape[1])
    data = prepare_training_data(samples, columns, (y, None), parameters, "exact", rng)
    start = data.cold_start(np.random.default_rng(seed))
    if source != "spread":
        shape = start.codewords.shape
        values = rng.standard_normal((shape[0] * shape[1], shape[2]))
        if source == "similar":
            values = _similarity_root(model, X, start.members[data.rows.row_of_sample]) @ values
        start = replace(start, codewords=distinct_signs(values).reshape(shape))
    problem = replace(data.problem, fixed_codewords=not learnt)
    *_, last = replace(data, problem=problem).fit_states(start, parameters)
    return LearnedCodewords(last.result(), start.codewords)


def similarities(gram: Array, members: Indices) -> Array:
    """Return the cosines of the groups' centred means in kernel space."""
    shares = np.eye(int(members.max()) + 1)[members]
    shares /= np.maximum(shares.sum(axis=0), 1)
    shares -= 1 / len(members)
    products = shares.T @ gram @ shares
    lengths = np.sqrt(np.maximum(np.diagonal(products), np.finfo(float).tiny))
    return np.asarray(products / lengths[:, None] / lengths)


def _similarity_root(model: SHL, X: Array, members: Indices) -> Array:
    """Return A with A A' the groups' similarity.

    The signs of A z, with z normal, agree for two groups with probability
    ``1 - arccos(similarity) / pi``.
    """
    scaling = learn_scaling("minmax", summarise(X, np.ones(len(X))))
    gram = KernelMean(KernelBank(model.kernels, X.shape[1]), scaling, scaling.apply(X)).of(X)
    values, vectors = np.linalg.eigh(similarities(gram, members))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def distinct_signs(values: Array) -> Codewords:
    """Return the signs of each row; later ones of equal words flip their weakest bits."""
    words = np.where(values >= 0, 1, -1).astype(np.int8)
    taken: set[bytes] = set()
    for word, row in zip(words, np.abs(values), strict=True):
        weakest = np.argsort(row, kind="stable")[:_FLIPPED]
        masks = np.array(list(product([False, True], repeat=len(weakest))))
        for mask in masks[np.argsort(masks @ row[weakest], kind="stable")]:
            flipped = word.copy()
            flipped[weakest[mask]] *= -1
            if flipped.tobytes() not in taken:
                word[:] = flipped
                break
        taken.add(word.tobytes())
    return words
