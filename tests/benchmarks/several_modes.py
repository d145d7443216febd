"""Several codewords a class where functions are linear and classes have several modes.

    python tests/benchmarks/several_modes.py

Digits of pendigits (`--sets usps`, letter) are even or odd, so that each class has five modes or
more. 1000 training rows, 2000 others. Accuracy, mean and standard deviation over the seeds.
"""

import argparse
import time

import numpy as np
from learning_sets import add_options, at_hand, split
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shlcore import SHL

METHODS = {
    "logistic regression": None,
    "S = 1": {"n_codewords": 1},
    "S = 5, fixed": {"n_codewords": 5, "codewords": "spread"},
    "S = 5": {"n_codewords": 5},
    "S = 8": {"n_codewords": 8},
    'S = "auto"': {"n_codewords": "auto"},
}


def measure(name, seed, folder):
    """Return the accuracy, number of codewords and CPU seconds of each method."""
    X, y, new, wanted = split(name, folder, seed, n_train=1000, n_test=2000)
    y, wanted = y % 2, wanted % 2
    found = {}
    for method, settings in METHODS.items():
        started = time.process_time()
        if settings is None:
            model, count = LogisticRegression(C=100.0, max_iter=2000).fit(X, y), 1.0
        else:
            model = SHL(kernels="linear", random_state=seed, **settings).fit(X, y)
            count = float(model.n_codewords_.mean())
        found[method] = model.score(new, wanted), count, time.process_time() - started
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 3)
    parser.set_defaults(sets=["pendigits"])
    options = parser.parse_args()
    print("| set | functions | accuracy | codewords of a class | CPU s |\n|---|---|---|---|---|")
    with threadpool_limits(1):
        for name in at_hand(("pendigits", "usps", "letter"), options):
            rows = [measure(name, seed, options.data) for seed in range(options.seeds)]
            for method in METHODS:
                accuracy, counts, seconds = np.array([row[method] for row in rows]).T
                print(
                    f"| {name} | {method} | {accuracy.mean():.3f} ± {accuracy.std():.3f} "
                    f"| {counts.mean():.1f} | {seconds.mean():.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
