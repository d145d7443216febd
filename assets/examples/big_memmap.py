"""A table on disk that is never read as a whole: memory against rows.

python big_memmap.py --out .

Rows are written to a file and mapped; SHL reads them block by block (solver="random_features").
The picture shows the size of the table and the memory that the fit took at its peak.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from shlcore import SHL

COLUMNS, CLASSES = 512, 4
BLUE, INK = "#3367a8", "#333333"


def write_table(path: Path, rows: int) -> NDArray[np.intp]:
    """Write noisy samples of four classes, a block at a time; returns their classes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 0.25, (CLASSES, COLUMNS))
    y = rng.integers(0, CLASSES, rows)
    table = np.lib.format.open_memmap(path, "w+", np.float32, (rows, COLUMNS))
    for first in range(0, rows, 5000):
        part = y[first : first + 5000]
        table[first : first + 5000] = centres[part] + rng.standard_normal((len(part), COLUMNS))
    table.flush()
    return y


def measure(path: Path, y: NDArray[np.intp], rows: int) -> tuple[float, float]:
    """Fit on the first rows; returns the peak of memory in MB, and the accuracy on the last."""
    table = np.load(path, mmap_mode="r")
    tracemalloc.start()
    model = SHL(solver="random_features", n_components=100, memory="64MB", random_state=0)
    model.fit(table[:rows], y[:rows])
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak, float(model.score(table[-1000:], y[-1000:]))


def main() -> None:
    """Write, fit at four sizes, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    parser.add_argument("--rows", type=int, default=40_000, help="of the largest table")
    options = parser.parse_args()
    sizes = [options.rows // 8, options.rows // 4, options.rows // 2, options.rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        y = write_table(path, options.rows + 1000)
        found = [measure(path, y, rows) for rows in sizes]
    weights = [4e-6 * COLUMNS * rows for rows in sizes]
    for rows, weight, (peak, right) in zip(sizes, weights, found, strict=True):
        print(
            f"{rows} rows: {weight:.0f} MB on disk, {peak:.0f} MB at the peak, {right:.3f} right"
        )
    figure, axes = plt.subplots(figsize=(5.6, 3.0), layout="constrained")
    thousands = [rows / 1000 for rows in sizes]
    axes.plot(thousands, weights, color="#999999", marker="o", label="table on disk")
    axes.plot(
        thousands, [peak for peak, _ in found], color=BLUE, marker="o", label="memory of the fit"
    )
    axes.set(xlabel="thousand rows", ylabel="MB", ylim=(0, None), xlim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(options.out / "big_memmap.png", dpi=100)


if __name__ == "__main__":
    main()
