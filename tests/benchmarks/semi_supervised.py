"""*SHL and semi-supervised peers with 1, 5 and 10 % labels, on 17 sets.

    python tests/benchmarks/semi_supervised.py --out semi

Sets of at most 1000 rows, a quarter of them held out. *SHL takes its defaults but for
``semi_supervised``. The peers are tuned by two folds of the labelled rows alone, where each class
has two labels, and take their first setting where not. "Spread labels + SVC" gives the labels that
*SHL spreads to an SVC: the control that says what is label spreading. The same line again goes on
after an interruption, and ``--report`` only prints the tables.
"""

import argparse
import time
from itertools import product

import numpy as np
from learning_sets import TUNED, UNTUNED, Journal, add_options, at_hand, split
from sklearn.model_selection import StratifiedKFold
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from shlcore import SHL
from shlcore.hinge import hinge_distances
from shlcore.kernels import KernelBank
from shlcore.semi_supervised import NeighbourGraph, spread_labels

SHARES = (0.01, 0.05, 0.1)
MODES = ("none", "paper", "spreading", "leave_one_out", "auto")
PEERS = ("spread labels + SVC", "LabelSpreading", "SVC")
METHODS = (*MODES, *PEERS)


def some_labels(y, share, seed):
    """Draw one label of each class, and the others at random."""
    rng = np.random.default_rng([seed, 7])
    first = [rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
    chosen = np.concatenate([first, rest[: max(0, round(share * len(y)) - len(first))]])
    labels = np.full(len(y), -1)
    labels[chosen] = y[chosen]
    return labels


def settings_of(method, n_columns):
    """Return the settings to choose among; the first one is the default."""
    if method == "LabelSpreading":
        return [
            LabelSpreading(kernel="knn", n_neighbors=k, alpha=a, max_iter=1000)
            for k in (7, 4, 12)
            for a in (0.2, 0.8)
        ] + [
            LabelSpreading(kernel="rbf", gamma=g / n_columns, alpha=0.2, max_iter=1000)
            for g in (20.0, 100.0, 500.0)
        ]
    return [SVC(C=cost, gamma=g / n_columns) for cost in (10.0, 1.0) for g in (10.0, 3.0, 30.0)]


def trained(model, X, labels):
    known = labels != -1
    if isinstance(model, SVC):
        return model.fit(X[known], labels[known])
    return model.fit(X, labels)


def tuned(method, X, labels, seed):
    """Choose settings by folds of the labelled rows; the other rows stay unlabelled."""
    choices = settings_of(method, X.shape[1])
    known = np.flatnonzero(labels != -1)
    if np.bincount(labels[known]).min() < 2:
        return choices[0]
    folds = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(known, labels[known]))
    scores = []
    for choice in choices:
        right = 0.0
        for _, out in folds:
            hidden = labels.copy()
            hidden[known[out]] = -1
            right += (trained(choice, X, hidden).predict(X) == labels)[known[out]].sum()
        scores.append(right)
    return choices[int(np.argmax(scores))]


def spread_by(model, X, labels):
    """Return the labels that *SHL spreads, given the model of the labelled rows."""
    gram = sum(KernelBank(model.kernels_, X.shape[1]).cross_kernels(X, X))
    distances = hinge_distances(model.project(X), model.codewords_).min(axis=2)
    classes = np.searchsorted(model.classes_, labels)
    known = np.where(labels == -1, -1, classes)
    graph = NeighbourGraph.from_gram(gram)
    return model.classes_[spread_labels(graph, known, np.ones(len(X)), distances)]


def measure(name, share, seed, folder):
    """Return the accuracies of all methods on unlabelled and on held-out rows."""
    X, y, new, wanted = split(name, folder, seed)
    labels = some_labels(y, share, seed)
    unknown = labels == -1
    found = {}

    def note(method, here, there, seconds):
        accuracy = float((here == y)[unknown].mean()), float((there == wanted).mean())
        found[method] = {"here": accuracy[0], "new": accuracy[1], "seconds": round(seconds, 2)}

    for mode in MODES:
        started = time.process_time()
        model = SHL(semi_supervised=mode, random_state=seed).fit(X, labels)
        seconds = time.process_time() - started
        note(mode, model.transduction_, model.predict(new), seconds)
        if mode == "none":
            spread = spread_by(model, X, labels)
        if mode == "auto":
            found[mode]["left out"] = bool(model.stage_weights_[-1] == 0.0)
    for peer in PEERS:
        started = time.process_time()
        told = spread if peer.startswith("spread") else labels
        if peer.startswith("spread"):
            model = SVC(C=10.0, gamma="scale").fit(X, spread)
        else:
            model = trained(tuned(peer, X, labels, seed), X, labels)
        here = told if peer.startswith("spread") else model.predict(X)
        note(peer, here, model.predict(new), time.process_time() - started)
    return found


def report(found, names, key):
    print(f"\n| set | labels | {' | '.join(METHODS)} |\n|---|---|{'---|' * len(METHODS)}")
    groups = {"tuned sets": TUNED, "untuned sets": UNTUNED, "all": (*TUNED, *UNTUNED)}
    cells = {}
    for name, share in product(names, SHARES):
        rows = [row for cell, row in found.items() if cell.startswith(f"{name} {share} ")]
        if rows:
            means = [np.mean([row[method][key] for row in rows]) for method in METHODS]
            cells[name, share] = means
            print(f"| {name} | {share:.0%} | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    for title, group in groups.items():
        for share in (*SHARES, None):
            chosen = [m for (n, s), m in cells.items() if n in group and share in (s, None)]
            if chosen:
                means = " | ".join(f"{m:.4f}" for m in np.mean(chosen, axis=0))
                print(f"| mean, {title} | {'' if share is None else f'{share:.0%}'} | {means} |")
    for title, group in groups.items():
        differences = [
            row["auto"][key] - row["none"][key]
            for cell, row in found.items()
            if cell.split()[0] in group
        ]
        if differences:
            error = np.std(differences) / np.sqrt(len(differences))
            print(f"\n{title}: auto − none {np.mean(differences):+.4f} ± {error:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    journal = Journal(options.out / "semi.jsonl")
    names = at_hand((*TUNED, *UNTUNED), options)
    if not options.report:
        with threadpool_limits(1):
            for seed, name, share in product(range(options.seeds), names, SHARES):
                journal.measure(f"{name} {share} {seed}", measure, name, share, seed, options.data)
    for key, title in (("here", "unlabelled rows"), ("new", "held-out rows")):
        print(f"\nAccuracy on {title}")
        report(journal.found, names, key)


if __name__ == "__main__":
    main()
