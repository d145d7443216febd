"""How a method ranks a database: by Hamming distance of codes, or by a class's score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shlcore.retrieval import Ranking, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array
    from shlcore.experiments.datasets import Split
    from shlcore.experiments.methods import Hasher

AT_ONCE = 2000  # rows, so that kernels to all training rows fit in memory


def hashed(hasher: Hasher, rows: Array) -> NDArray[np.uint8]:
    """Hash rows, so many at once."""
    starts = range(0, len(rows), AT_ONCE)
    return np.concatenate([hasher.hash(rows[start : start + AT_ONCE]) for start in starts])


def ranked(
    hasher: Hasher, split: Split, *, by_score: bool = False, unseen: bool = False
) -> Ranking:
    """Rank the training rows, or rows that no method has seen, for every query."""
    database, labels = (split.unseen, split.unseen_labels) if unseen else (split.X, split.y)
    if by_score:
        scores = hasher.project(database), hasher.project(split.queries)
        return rank_by_score(scores[1], split.wanted, scores[0], labels)
    codes = hashed(hasher, database)
    n_bits = hasher.project(database[:1]).shape[1]
    return rank(hashed(hasher, split.queries), split.wanted, codes, labels, n_bits=n_bits)


def rank_by_score(
    queries: Array, query_labels: AnyArray, database: Array, labels: AnyArray
) -> Ranking:
    """Rank rows by their score for the class that the query has its largest score for.

    Parameters
    ----------
    queries, database
        ``m x C`` and ``n x C``, one score for each class.
    """
    places = np.argsort(-database.T, axis=1, kind="stable")
    order = places[queries.argmax(axis=1)]
    relevant = (labels[order] == query_labels[:, None]).astype(np.int64)
    return Ranking(np.ones_like(relevant), relevant)
