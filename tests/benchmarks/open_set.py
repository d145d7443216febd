"""Unknown classes: *SHL's codeword distance against SVC, 1-NN, forests and output codes.

    python tests/benchmarks/open_set.py --out open

A third of the classes is unseen in training: 600 training rows of the others, 900 test rows of
all. Each method gives a class and a score of being known. Measures: area under the ROC curve of
the score (AUROC), and under the curve of the share of known rows that are accepted and right over
the share of unknown rows that are accepted (OSCR). SVC is tuned by three folds, the other peers
take usual settings, *SHL its defaults. The same line again goes on after an interruption.
"""

import argparse
from itertools import product

import numpy as np
from learning_sets import Journal, add_options, at_hand, load
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from shlcore import SHL
from shlcore.baselines import ECOC
from shlcore.kernels import automatic_kernels

SETS = ("digits", "usps", "pendigits", "letter", "vowel", "satimage", "texture", "segment")
FOUR = SETS[:4]
BITS = 45


def oscr(score, right, known):
    """Return the area under the curve of right accepted over wrongly accepted rows."""
    limits = np.unique(score)[::-1]
    accepted = [(right & (score >= limit))[known].mean() for limit in limits]
    false = [(score[~known] >= limit).mean() for limit in limits]
    return float(np.trapezoid([0.0, *accepted, accepted[-1]], [0.0, *false, 1.0]))


def measure(name, seed, folder):
    X, y = load(name, folder)
    rng = np.random.default_rng([seed, 3])
    n_classes = y.max() + 1
    unseen = rng.permutation(n_classes)[: max(1, round(n_classes / 3))]
    seen = ~np.isin(y, unseen)
    order = rng.permutation(len(X))
    here = order[seen[order]][:600]
    new = rng.permutation(np.setdiff1d(order, here))[:900]
    scaler = MinMaxScaler().fit(X[here])
    X, new_X, known = scaler.transform(X[here]), scaler.transform(X[new]), seen[new]
    y, wanted = y[here], y[new]
    found = {}

    def note(method, classes, score):
        right = classes == wanted
        found[method] = {
            "auroc": float(roc_auc_score(known, score)),
            "oscr": oscr(score, right, known),
            "accuracy": float(right[known].mean()),
        }

    model = SHL(n_bits=BITS, random_state=seed).fit(X, y)
    note("*SHL", model.predict(new_X), -model.codeword_distance(new_X))
    scores = model.decision_function(new_X)
    note("*SHL, hinge distance", model.predict(new_X), scores.max(axis=1))
    rejected = np.ma.getmaskarray(model.predict(new_X, reject=0.1))
    found["*SHL"] |= {
        "rejected known": float(rejected[known].mean()),
        "rejected unknown": float(rejected[~known].mean()),
    }
    codes = ECOC(n_bits=BITS, kernels=automatic_kernels(X), cost=100.0, random_state=seed)
    gaps = codes.fit(X, y).project(new_X)[:, None] - codes.codewords_
    squares = np.square(gaps).sum(axis=2)
    note("ECOC, ridge", np.unique(y)[squares.argmin(axis=1)], -squares.min(axis=1))
    grid = {"C": [1, 10, 100], "gamma": [w / X.shape[1] for w in (0.3, 1, 3, 10, 30)]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    values = search.decision_function(new_X)
    score = np.abs(values) if values.ndim == 1 else values.max(axis=1)
    note("SVC, decision value", search.predict(new_X), score)
    distances, nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(new_X)
    note("1-NN distance", y[nearest[:, 0]], -distances[:, 0])
    forest = RandomForestClassifier(200, random_state=seed).fit(X, y)
    shares = forest.predict_proba(new_X)
    note("forest, probability", forest.classes_[shares.argmax(axis=1)], shares.max(axis=1))
    return found


def report(found, names):
    methods = list(next(iter(found.values())))
    for key in ("auroc", "oscr", "accuracy"):
        print(f"\n{key}\n\n| set | {' | '.join(methods)} |\n|---|{'---|' * len(methods)}")
        for name in names:
            rows = [row for cell, row in found.items() if cell.startswith(f"{name} ")]
            means = [np.mean([row[method][key] for row in rows]) for method in methods]
            print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
        for title, group in (("four", FOUR), ("all", SETS)):
            rows = [row for cell, row in found.items() if cell.split()[0] in group]
            if not rows:
                continue
            means = [np.mean([row[method][key] for row in rows]) for method in methods]
            print(f"| mean of {title} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |")
            texts = []
            for method in methods[1:]:
                gains = [row["*SHL"][key] - row[method][key] for row in rows]
                error = np.std(gains) / np.sqrt(max(1, len(gains) - 1))
                texts.append(f"{np.mean(gains):+.4f} ± {error:.4f}")
            print(f"| *SHL ahead by, {title} | | {' | '.join(texts)} |")
    for kind in ("known", "unknown"):
        shares = [row["*SHL"][f"rejected {kind}"] for row in found.values()]
        print(f"\npredict(X, reject=0.1): {np.mean(shares):.3f} of the {kind} rows are masked")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, 5)
    options = parser.parse_args()
    journal = Journal(options.out / "open_set.jsonl")
    names = at_hand(SETS, options)
    with threadpool_limits(1):
        for seed, name in product(range(options.seeds), names):
            journal.measure(f"{name} {seed}", measure, name, seed, options.data)
    report(journal.found, names)


if __name__ == "__main__":
    main()
