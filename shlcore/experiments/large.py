"""Table 1: *SHL by random features on large data: time, precision, memory, nodes."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shlcore.estimator import SHL
from shlcore.experiments import options
from shlcore.experiments.datasets import DatasetError, load_dataset
from shlcore.experiments.journal import write_rows
from shlcore.experiments.methods import kernels_for
from shlcore.kernels import Gaussian, Polynomial
from shlcore.parallel import connect_to_cluster, current_client
from shlcore.parameters import bytes_of
from shlcore.retrieval import rank

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.array_types import AnyArray
    from shlcore.experiments.journal import Cell, Row
    from shlcore.kernels import Kernel

NAME = "large"
SAMPLE = 10_000  # rows for the scale of the kernels, whose distances take 80 MB
DEPTH = 10  # nearest codes that count, as in the paper's table 1


@dataclass(frozen=True, slots=True, eq=False)
class LargeSplit:
    """Training rows, which may be a memory map, and queries."""

    X: AnyArray
    y: AnyArray
    queries: AnyArray
    query_labels: AnyArray


def add_parser(commands: options.Commands) -> None:
    """Add the command's arguments."""
    parser = options.add_parser(
        commands,
        NAME,
        "Training time and top-10 precision by random features on large data (table 1).",
        "mnist.npz --bits 5,25,45",
        ".npz with X, y and is_test (queries), or .npy rows with y and is_test in the .npz beside",
    )
    parser.add_argument(
        "--bits", type=_numbers, default=[5, 25, 45], metavar="B,B,...", help="(5,25,45)"
    )
    parser.add_argument(
        "--components", type=options.positive, default=6000, help="features (%(default)s)"
    )
    parser.add_argument(
        "--passes", type=options.positive, default=1, help="passes of Algorithm 2 (%(default)s)"
    )
    parser.add_argument("--memory", default="4GB", help="of the features kept (%(default)s)")
    options.add_scheduler(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure each number of bits in this process; each may use a whole cluster."""
    try:
        bytes_of(arguments.memory)
    except ValueError as error:
        raise DatasetError(f"--{error}") from error
    settings = {
        "dataset": arguments.dataset.name.split(".")[0],
        "components": arguments.components,
        "passes": arguments.passes,
        "memory": arguments.memory,
        "seed": arguments.seed,
        "scheduler": arguments.scheduler,
    }
    cells = [{"bits": bits} for bits in sorted(arguments.bits)]
    with connect_to_cluster(arguments.scheduler):
        return options.run_experiment(arguments, NAME, settings, cells, measure, report)


def report(rows: Sequence[Row], folder: Path) -> None:
    """Write results.json and print the table."""
    write_rows(folder, "results", rows)
    print(markdown_table(rows))


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Train on all training rows, hash them, and search with every query."""
    split = large_split(path)
    client = current_client()
    model = SHL(
        n_bits=cell["bits"],
        kernels=large_kernels(split.X),
        solver="random_features",
        lambda1=1000.0,
        n_components=settings["components"],
        memory=settings["memory"],
        max_iter=settings["passes"],
        random_state=settings["seed"],
    )
    started, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # The number of passes is a setting, and convergence is not expected.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(split.X, split.y)
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    ranking = rank(
        model.hash(split.queries),
        split.query_labels,
        model.hash(split.X),
        split.y,
        n_bits=cell["bits"],
    )
    return {
        "samples": len(split.X),
        "precision_at_10": float(ranking.precision_at([DEPTH])[0]),
        "train_seconds": round(seconds, 1),
        "train_cpu_seconds": round(worked, 1),
        "peak_rss_mb": peak_memory_mb(),
        "workers": 0 if client is None else len(client.scheduler_info(n_workers=-1)["workers"]),
    }


def large_split(path: Path) -> LargeSplit:
    """Read a dataset with its own test rows; a ``.npy`` file stays on disk.

    Beside ``NAME.npy`` (rows) lies ``NAME.npz`` with ``y`` and ``is_test``, as
    ``shlcore experiment infinite-mnist`` writes them.
    """
    if path.suffix == ".npy":
        beside = path.with_suffix(".npz")
        if not (path.is_file() and beside.is_file()):
            raise DatasetError(f"{path}: wanted rows there and labels in {beside.name}, got none")
        X = np.load(path, mmap_mode="r")
        with np.load(beside) as archive:
            y, is_test = archive["y"], archive["is_test"]
    else:
        dataset = load_dataset(path)
        X, y, is_test = dataset.X.astype(np.float32), dataset.y, dataset.is_test
        if is_test is None:
            raise DatasetError(f"{path}: wanted is_test, which rows are queries, got none")
    count = len(y) - int(is_test.sum())
    if is_test[:count].any():
        return LargeSplit(X[~is_test], y[~is_test], X[is_test], y[is_test])
    # Queries come last: slices copy nothing.
    return LargeSplit(X[:count], y[:count], X[count:], y[count:])


def large_kernels(X: AnyArray) -> list[Kernel]:
    """Choose few kernels at the scale of the data, as they share the features."""
    sample = np.asarray(X[:: -(-len(X) // SAMPLE)], dtype=np.float64)
    gaussians = [kernel for kernel in kernels_for(sample) if isinstance(kernel, Gaussian)]
    return [Polynomial(3), gaussians[2]]


def markdown_table(rows: Sequence[Row]) -> str:
    """Format the rows as the paper's table 1."""
    lines = ["| data | samples | bits | precision@10 | training | CPU | peak memory | workers |"]
    lines.append("|---" * 8 + "|")
    lines += [
        f"| {row['dataset']} | {row['samples']} | {row['bits']} | {row['precision_at_10']:.3f} "
        f"| {row['train_seconds']:.0f} s | {row['train_cpu_seconds']:.0f} s "
        f"| {_megabytes(row['peak_rss_mb'])} | {row['workers'] or 'none'} |"
        for row in rows
    ]
    return "\n".join(lines)


def peak_memory_mb() -> int | None:
    """Return the peak memory of this process so far; None where it is unknown."""
    try:
        import resource  # here, because Windows has no such module
    except ImportError:
        return None
    # macOS counts in bytes, all others in kilobytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def _megabytes(amount: int | None) -> str:
    return "–" if amount is None else f"{amount} MB"


def _numbers(text: str) -> list[int]:
    return [options.positive(part) for part in text.split(",")]
