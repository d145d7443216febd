"""The defaults of *SHL against a tuned SVC, with right and with wrong labels.

    python tests/benchmarks/supervised.py --out supervised

At most 750 training and 1000 test rows. The SVC's cost and bandwidth (35 combinations) are chosen
by three folds; its log loss is that of its decision values, divided by a temperature that five
folds determine. A share of the training labels is flipped; test labels are right. The same line
again goes on after an interruption.
"""

import argparse
import time
from itertools import product

import numpy as np
from learning_sets import Journal, add_options, at_hand, flipped, split
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from shlcore import SHL
from shlcore.calibration import learn_temperature, log_probabilities

SETS = (
    "digits",
    "wine",
    "breast_cancer",
    "vowel",
    "pendigits",
    "spambase",
    "vehicle",
    "phoneme",
    "segment",
    "satimage",
)
NOISE = (0.0, 0.1, 0.2, 0.3)
GRID = {"C": [0.1, 1, 10, 100, 1000]}
WIDTHS = (0.03, 0.1, 0.3, 1, 3, 10, 30)


def class_scores(values):
    """Return one column for each class."""
    return np.stack([-values, values], axis=1) if values.ndim == 1 else values


def tuned_svc(X, y, new):
    """Return the predictions and the temperature-scaled probabilities of a tuned SVC."""
    grid = GRID | {"gamma": [width / X.shape[1] for width in WIDTHS]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    model = SVC(**search.best_params_)
    held_out = class_scores(cross_val_predict(model, X, y, cv=5, method="decision_function"))
    temperature = learn_temperature(held_out, y, np.ones(len(y)))
    scores = class_scores(model.fit(X, y).decision_function(new))
    return model.predict(new), np.exp(log_probabilities(scores, temperature))


def measure(name, noise, seed, folder):
    X, y, new, wanted = split(name, folder, seed, n_test=1000)
    y = flipped(y, noise, seed)
    started = time.process_time()
    predicted, shares = tuned_svc(X, y, new)
    between = time.process_time()
    model = SHL(random_state=seed).fit(X, y)
    ended = time.process_time()
    labels = np.arange(shares.shape[1])
    return {
        "svc": float((predicted == wanted).mean()),
        "shl": float(model.score(new, wanted)),
        "svc_loss": float(log_loss(wanted, shares, labels=labels)),
        "shl_loss": float(log_loss(wanted, model.predict_proba(new), labels=labels)),
        "lambda1": float(model.stage_costs_[-1]),
        "svc_seconds": round(between - started, 2),
        "shl_seconds": round(ended - between, 2),
    }


def report(found, names):
    print(
        "\n| set | wrong labels | tuned SVC | SHL() | difference | log loss, SVC "
        "| log loss, SHL() | lambda1 |\n|---|---|---|---|---|---|---|---|"
    )
    keys = ("svc", "shl", "svc_loss", "shl_loss")
    means = {}
    for name, noise in product(names, NOISE):
        rows = [row for cell, row in found.items() if cell.startswith(f"{name} {noise} ")]
        if not rows:
            continue
        svc, shl, svc_loss, shl_loss = (np.mean([row[key] for row in rows]) for key in keys)
        means[name, noise] = svc, shl, svc_loss, shl_loss
        gaps = [row["shl"] - row["svc"] for row in rows]
        error = np.std(gaps) / np.sqrt(max(1, len(gaps) - 1))
        costs = np.median([row["lambda1"] for row in rows])
        print(
            f"| {name} | {noise:.0%} | {svc:.3f} | {shl:.3f} | {shl - svc:+.3f} ± {error:.3f} "
            f"| {svc_loss:.3f} | {shl_loss:.3f} | {costs:.2g} |"
        )
    for noise in NOISE:
        rows = [row for (_, share), row in means.items() if share == noise]
        if rows:
            svc, shl, svc_loss, shl_loss = np.mean(rows, axis=0)
            worst = min(row[1] - row[0] for row in rows)
            print(
                f"| mean | {noise:.0%} | {svc:.4f} | {shl:.4f} | {shl - svc:+.4f}, least "
                f"{worst:+.3f} | {svc_loss:.4f} | {shl_loss:.4f} | |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 3)
    options = parser.parse_args()
    journal = Journal(options.out / "supervised.jsonl")
    names = at_hand(SETS, options)
    with threadpool_limits(1):
        for seed, name, noise in product(range(options.seeds), names, NOISE):
            cell = f"{name} {noise} {seed}"
            journal.measure(cell, measure, name, noise, seed, options.data)
    report(journal.found, names)


if __name__ == "__main__":
    main()
