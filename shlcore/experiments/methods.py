"""The compared methods, their kernels and costs, and their rankings of a database."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shlcore.baselines import (
    BRE,
    ECOC,
    ITQ,
    KSH,
    LSH,
    SDH,
    AnchorGraphHashing,
    SpectralHashing,
)
from shlcore.estimator import SHL
from shlcore.kernels import Gaussian, automatic_kernels, paper_kernels, squared_distances
from shlcore.retrieval import Ranking, rank
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array
    from shlcore.experiments.datasets import Split
    from shlcore.kernels import Kernel


BANKS = ("auto", "gaussian", "paper")
"""Kernel banks that the methods share: that of ``SHL()``, the Gaussian of KSH and SDH (of the root
mean square distance of rows), and the paper's eleven kernels."""

OWN = "own"  # the bank of a method with kernels of its own, or without any


class Hasher(Protocol):
    """The interface of a method for experiments."""

    def fit(self, X: Array, y: AnyArray) -> Hasher:
        """Learn."""

    def hash(self, X: Array) -> NDArray[np.uint8]:
        """Return packed codes."""

    def project(self, X: Array) -> Array:
        """Return real values whose signs are the bits."""

    def get_params(self) -> dict[str, object]:
        """Return the parameters."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method with the costs to choose among.

    Parameters
    ----------
    make
        Constructor of ``n_bits``, ``random_state`` and, with ``costs``, ``kernels`` and the cost.
    cost_name
        Name of the parameter for the cost.
    costs
        Costs to try on development rows, by default the first; empty: no choice.
    one_hot
        Whether codes have one bit for each class instead of the given length.
    by_score
        Whether rows are ranked by their score for the query's class instead of by codes.
    """

    make: Callable[..., Hasher]
    cost_name: str = ""
    costs: tuple[float, ...] = field(default=())
    one_hot: bool = False
    by_score: bool = False

    def hasher(
        self, n_bits: int, seed: int, X: Array, bank: str = "auto", cost: float | None = None
    ) -> Hasher:
        """Make the method, with the bank's kernels at the scale of the training rows."""
        settings: dict[str, object] = {"n_bits": n_bits, "random_state": seed}
        if self.costs:
            settings["kernels"] = kernels_for(X, bank)
            settings[self.cost_name] = self.costs[0] if cost is None else cost
        return self.make(**settings)


_MARGIN_COSTS = (1000.0, 30.0, 1.0)
_RIDGES = (1e-9, 1e-7, 1e-5)  # shares of a trace: a thousandth of a row and less
_RIDGE_COSTS = (100.0, 10.0, 1.0)

_CODES = partial(SHL, probability=False)
_ALL = partial(KSH, n_labelled=None)  # the labels of all rows, as for the other methods
_TWO_LAYERS = partial(AnchorGraphHashing, n_layers=2)
_QUICK_BRE = partial(
    BRE, n_train=500, max_iter=5
)  # published: 1000 rows, 20 sweeps; 15 times slower
_SVM = partial(ECOC, learner="svm")
_ONE_HOT = partial(ECOC, codebook="one-hot")
_ONE_HOT_SVM = partial(_ONE_HOT, learner="svm")

METHODS: dict[str, Method] = {
    "*SHL": Method(_CODES, "lambda1", _MARGIN_COSTS),
    "*SHL-paper": Method(partial(SHL.paper, probability=False)),
    "ECOC-SVM": Method(_SVM, "cost", _MARGIN_COSTS),
    "ECOC-ridge": Method(ECOC, "cost", _RIDGE_COSTS),
    "SDH-same": Method(partial(SDH, n_anchors=None), "ridge", _RIDGES),
    "SDH": Method(SDH),
    "KSH-same": Method(partial(_ALL, n_anchors=None), "ridge", _RIDGES),
    "KSH": Method(_ALL),
    "BRE": Method(_QUICK_BRE),
    "1-AGH": Method(AnchorGraphHashing),
    "2-AGH": Method(_TWO_LAYERS),
    "ITQ": Method(ITQ),
    "SPH": Method(SpectralHashing),
    "LSH": Method(LSH),
    "one-hot-SVM": Method(_ONE_HOT_SVM, "cost", _MARGIN_COSTS, one_hot=True),
    "one-hot-ridge": Method(_ONE_HOT, "cost", _RIDGE_COSTS, one_hot=True),
    "score-SVM": Method(_ONE_HOT_SVM, "cost", _MARGIN_COSTS, one_hot=True, by_score=True),
    "score-ridge": Method(_ONE_HOT, "cost", _RIDGE_COSTS, one_hot=True, by_score=True),
}


def kernels_for(X: Array, bank: str = "auto") -> list[Kernel]:
    """Return a bank's kernels for these rows, once their columns are scaled to [0, 1]."""
    if bank == "paper":
        return list(paper_kernels())
    rows = learn_scaling("minmax", summarise(X, np.ones(len(X)))).apply(X)
    if bank == "auto":
        return list(automatic_kernels(rows))
    if bank == "gaussian":
        return [Gaussian(float(np.sqrt(squared_distances(rows, rows).mean())) or 1.0)]
    raise ValueError(f"bank: wanted one of {', '.join(BANKS)}, got {bank!r}")


def method_name(text: str) -> str:
    """Find a method by name, ignoring case and the star of *SHL."""
    for name in METHODS:
        if text.lower().lstrip("*") == name.lower().lstrip("*"):
            return name
    raise ValueError(f"methods: wanted some of {', '.join(METHODS)}, got {text!r}")


def open_methods(names: Sequence[str]) -> list[str]:
    """Return the methods whose kernels and cost are chosen on development rows."""
    return [name for name in names if METHODS[name].costs]


BATCH_ROWS = 2000  # so that the kernels with all training rows fit in memory


def hash_rows(hasher: Hasher, rows: Array) -> NDArray[np.uint8]:
    """Hash rows in batches."""
    starts = range(0, len(rows), BATCH_ROWS)
    return np.concatenate([hasher.hash(rows[start : start + BATCH_ROWS]) for start in starts])


def ranked(
    hasher: Hasher, split: Split, *, by_score: bool = False, unseen: bool = False
) -> Ranking:
    """Rank the training rows, or unseen rows, for every query."""
    database, labels = (split.unseen, split.unseen_labels) if unseen else (split.X, split.y)
    if by_score:
        scores = hasher.project(database), hasher.project(split.queries)
        return rank_by_score(scores[1], split.query_labels, scores[0], labels)
    codes = hash_rows(hasher, database)
    n_bits = hasher.project(database[:1]).shape[1]
    return rank(hash_rows(hasher, split.queries), split.query_labels, codes, labels, n_bits=n_bits)


def rank_by_score(
    queries: Array, query_labels: AnyArray, database: Array, labels: AnyArray
) -> Ranking:
    """Rank rows by their score for the most likely class of each query.

    Parameters
    ----------
    queries, database
        ``m x C`` and ``n x C``, one score for each class.
    """
    places = np.argsort(-database.T, axis=1, kind="stable")
    order = places[queries.argmax(axis=1)]
    relevant = (labels[order] == query_labels[:, None]).astype(np.int64)
    return Ranking(np.ones_like(relevant), relevant)
