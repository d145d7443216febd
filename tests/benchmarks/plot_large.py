"""Plot of training time against samples, from ``results.json`` files of `large`.

python tests/benchmarks/plot_large.py assets/plots/large-time.png RESULTS.json ...
"""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

from shlcore.atomic_file import atomic_write


def draw(out, rows):
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for colour, bits in enumerate(sorted({row["bits"] for row in rows})):
        points = sorted((r["samples"], r["train_cpu_seconds"]) for r in rows if r["bits"] == bits)
        samples, seconds = zip(*points, strict=True)
        axes.loglog(samples, seconds, "o-", color=f"C{colour}", label=f"{bits} bits")
        linear = [seconds[0] * n / samples[0] for n in samples]
        axes.loglog(samples, linear, "--", color="0.7", zorder=0)
    axes.plot([], [], "--", color="0.7", label="linear from the first")
    axes.set_xlabel("training samples (deformed MNIST digits)")
    axes.set_ylabel("CPU seconds of training")
    axes.legend()
    with atomic_write(out) as file:
        figure.savefig(file, dpi=100, format=Path(out).suffix[1:])


if __name__ == "__main__":
    files = [json.loads(Path(name).read_text()) for name in sys.argv[2:]]
    draw(sys.argv[1], [row for file in files for row in file["rows"]])
