"""Draw training time against the number of samples from ``results.json`` files of `large`.

python tests/benchmarks/plot_large.py assets/plots/large-time.png RESULTS.json ...
"""

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure


def draw(out, rows):
    rows = sorted(rows, key=lambda row: row["samples"])
    samples = [row["samples"] for row in rows]
    seconds = [row["train_cpu_seconds"] for row in rows]
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(samples, seconds, "o-", label="measured")
    linear = [seconds[0] * n / samples[0] for n in samples]
    axes.loglog(samples, linear, "--", color="0.6", label="linear from the first")
    axes.set_xlabel("training samples")
    axes.set_ylabel("CPU seconds of training")
    axes.set_title(f"{rows[0]['bits']} bits, deformed MNIST digits")
    axes.legend()
    figure.savefig(out, dpi=100)


if __name__ == "__main__":
    draw(sys.argv[1], [row for name in sys.argv[2:] for row in json.loads(Path(name).read_text())])
