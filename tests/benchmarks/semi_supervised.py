"""*SHL and semi-supervised peers with 1, 5 and 10 % labels.

    python tests/benchmarks/semi_supervised.py --data FOLDER --out semi

Seven sets, of at most 1000 rows, a quarter of them held out; ten seeds. The peers are tuned by
two folds of the labelled rows alone, where each class has two labels, and take their first
setting where not; *SHL takes its defaults throughout. The same line again goes on after an
interruption, and ``--report`` only prints the tables. ``--supervised`` compares the defaults, with
all labels, with a tuned SVC; ``--costs`` fits and predicts at extreme values of lambda1.
"""

import argparse
import json
import os
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from shlcore import SHL

LOADERS = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}
FILES = ("vowel", "letter", "usps", "pendigits")
SHARES = (0.01, 0.05, 0.1)
MOST_ROWS = 1000
METHODS = ("inductive *SHL", "transductive *SHL", "LabelSpreading", "SelfTraining(SVC)", "SVC")


def dataset(name, seed, folder):
    if name in LOADERS:
        X, y = LOADERS[name](return_X_y=True)
    else:
        with np.load(folder / f"{name}.npz") as archive:
            X, y = archive["X"].astype(float), archive["y"]
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    here, new = np.split(order, [int(0.75 * len(order))])
    X = MinMaxScaler().fit(X[here]).transform(X)
    return X[here], y[here], X[new], y[new]


def some_labels(y, share, seed):
    """Draw one label of each class, and the others at random."""
    rng = np.random.default_rng([seed, 7])
    first = [rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
    chosen = np.concatenate([first, rest[: max(0, round(share * len(y)) - len(first))]])
    labels = np.full(len(y), -1)
    labels[chosen] = y[chosen]
    return labels


def settings_of(method, n_columns, seed):
    """Return the settings to choose among; the first one is the default."""
    if method.endswith("*SHL"):
        mode = method.startswith("trans")
        return [SHL(transductive=mode, random_state=seed)]
    if method == "LabelSpreading":
        return [
            LabelSpreading(kernel="knn", n_neighbors=k, alpha=a, max_iter=1000)
            for k in (7, 4, 12)
            for a in (0.2, 0.8)
        ] + [
            LabelSpreading(kernel="rbf", gamma=g / n_columns, alpha=0.2, max_iter=1000)
            for g in (20.0, 100.0, 500.0)
        ]
    svcs = [
        SVC(C=cost, gamma=g / n_columns, probability=method != "SVC", random_state=seed)
        for cost in (10.0, 1.0)
        for g in (10.0, 3.0, 30.0)
    ]
    if method == "SVC":
        return svcs
    return [SelfTrainingClassifier(svc, threshold=0.8) for svc in svcs]


def trained(model, X, labels):
    known = labels != -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, SVC):
            return model.fit(X[known], labels[known])
        return model.fit(X, labels)


def answers_of(model, X):
    """Return the classes of the training rows; self-training leaves some of them open."""
    if isinstance(model, SelfTrainingClassifier) or not hasattr(model, "transduction_"):
        return model.predict(X)
    return model.transduction_


def tuned(method, X, labels, seed):
    """Choose settings by folds of the labelled rows; the other rows stay unlabelled."""
    choices = settings_of(method, X.shape[1], seed)
    known = np.flatnonzero(labels != -1)
    if len(choices) == 1 or np.bincount(labels[known]).min() < 2:
        return choices[0]
    folds = list(StratifiedKFold(2, shuffle=True, random_state=seed).split(known, labels[known]))
    scores = []
    for choice in choices:
        right = 0.0
        for _, out in folds:
            hidden = labels.copy()
            hidden[known[out]] = -1
            model = trained(choice, X, hidden)
            right += (answers_of(model, X) == labels)[known[out]].sum()
        scores.append(right)
    return choices[int(np.argmax(scores))]


def measure(name, share, seed, method, folder):
    X, y, new, wanted = dataset(name, seed, folder)
    labels = some_labels(y, share, seed)
    unknown = labels == -1
    started = time.process_time()
    model = trained(tuned(method, X, labels, seed), X, labels)
    found = answers_of(model, X)
    return {
        "here": float((found == y)[unknown].mean()),
        "new": float((model.predict(new) == wanted).mean()),
        "seconds": round(time.process_time() - started, 2),
    }


def supervised(name, seed, folder):
    X, y, new, wanted = dataset(name, seed, folder)
    grid = {"C": [0.1, 1, 10, 100], "gamma": list(np.array([0.3, 1, 3, 10, 30]) / X.shape[1])}
    svc = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    shl = SHL(random_state=seed).fit(X, y)
    return {"SVC": float(svc.score(new, wanted)), "SHL": float(shl.score(new, wanted))}


def costs(name, folder):
    X, y, new, wanted = dataset(name, 0, folder)
    found = {}
    for cost in (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3, 1e5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SHL(lambda1=cost, random_state=0).fit(X[:500], y[:500])
            found[f"{cost:g}"] = float(model.score(new, wanted))
    return found


def report(found, key):
    print(f"\n| set | labels | {' | '.join(METHODS)} |\n|---|---|{'---|' * len(METHODS)}")
    columns = {method: [] for method in METHODS}
    for name in (*LOADERS, *FILES):
        for share in SHARES:
            means = []
            for method in METHODS:
                cell = f"{name} {share} {method} "
                runs = [row[key] for place, row in found.items() if place.startswith(cell)]
                means.append(float(np.mean(runs)) if runs else float("nan"))
                columns[method].append(means[-1])
            print(f"| {name} | {share:.0%} | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    print("| mean | | " + " | ".join(f"{np.nanmean(columns[m]):.4f}" for m in METHODS) + " |")


def run_others(options, names, found, keep):
    for name in names:
        if options.costs:
            keep(f"costs {name}", costs, name)
            print(name, found.get(f"costs {name}"), flush=True)
            continue
        for seed in range(options.seeds):
            keep(f"supervised {name} {seed}", supervised, name, seed)
        runs = [row for place, row in found.items() if place.startswith(f"supervised {name} ")]
        means = {key: float(np.mean([row[key] for row in runs])) for key in ("SVC", "SHL")}
        print(name, {key: round(value, 4) for key, value in means.items()}, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("SEGAPP_DATA", Path(__file__).parents[3] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default / "hashing", help="folder of .npz")
    parser.add_argument("--out", type=Path, default=Path("semi"), help="folder for results")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--supervised", action="store_true")
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "semi.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = {entry["cell"]: entry["found"] for entry in map(json.loads, lines)}
    names = [
        name
        for name in (*LOADERS, *FILES)
        if name in LOADERS or (options.data / f"{name}.npz").exists()
    ]

    def keep(cell, action, *arguments):
        if cell not in found and not options.report:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[cell] = action(*arguments, options.data)
            with path.open("a") as file:
                file.write(json.dumps({"cell": cell, "found": found[cell]}) + "\n")

    with threadpool_limits(1):
        if options.costs or options.supervised:
            run_others(options, names, found, keep)
            return
        for seed, name, share, method in product(range(options.seeds), names, SHARES, METHODS):
            keep(f"{name} {share} {method} {seed}", measure, name, share, seed, method)
    for key, title in (("here", "unlabelled rows"), ("new", "held-out rows")):
        print(f"\nAccuracy on {title}")
        report(found, key)


if __name__ == "__main__":
    main()
