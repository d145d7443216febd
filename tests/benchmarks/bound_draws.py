"""Margin bounds over draws of training samples, against the error on new ones.

    python tests/benchmarks/bound_draws.py --draws 1000

Labels are clean, noisy or pure noise; kernels narrow or wide; 50 to 500 samples.
"""

import argparse
import warnings

import numpy as np

from shlcore import SHL, Gaussian, Linear
from shlcore.bound import margin_bound, theorem_1


def draw(rng, n, noise):
    X = rng.random((n, 2))
    y = (X.sum(axis=1) > 1).astype(int)
    return X, np.where(rng.random(n) < noise, rng.integers(0, 2, n), y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    failed = {"theorem_1, as printed": 0, "margin_bound": 0}
    slack = []
    for seed in range(draws):
        noise = float(rng.choice([0.0, 0.2, 1.0]))
        X, y = draw(rng, int(rng.choice([50, 200, 500])), noise)
        new, wanted = draw(rng, 2000, noise)
        kernels = [Gaussian(float(rng.choice([0.02, 0.1, 0.5, 2.0]))), Linear()]
        model = SHL(
            n_bits=3,
            kernels=kernels,
            scale=None,
            lambda1=float(rng.choice([1.0, 1000.0])),
            random_state=seed,
        ).fit(X, y)
        words = model.codewords_[wanted, 0] > 0
        error = float((model.transform(new).astype(bool) != words).mean())
        failed["theorem_1, as printed"] += theorem_1(model, X, y).total < error
        failed["margin_bound"] += (total := margin_bound(model, X, y).total) < error
        slack.append(total - error)
    print(f"{draws} draws at delta = 0.05; below the true error:", failed)
    print(f"smallest distance of margin_bound from the error: {min(slack):.3f}")


if __name__ == "__main__":
    main()
