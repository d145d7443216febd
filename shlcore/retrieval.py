"""Retrieval metrics of Hamming rankings: precision@k, precision-recall, mAP.

With few bits most Hamming distances are tied, so that metrics that depend on the order within ties
are replaced by their expected values over all orders, in closed form. They follow from two small
tables: the numbers of rows and of relevant rows at each distance of each query. These are counted
between *distinct* codes, block by block, without a queries x database array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore import hamming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from shlcore.array_types import Array, Indices

BLOCK = 1 << 20  # pairs of distinct codes in one step: some 10 MB of temporary arrays


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Numbers of database rows at each Hamming distance of each query.

    Attributes
    ----------
    retrieved, relevant : (queries, n_bits + 1) arrays
        Rows at that distance, and those among them that carry the query's label.
    """

    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]

    def precision_at(self, ks: Sequence[int]) -> Array:
        """Return the mean precision@k for each k, in expectation over ties."""
        size = int(self.retrieved[0].sum())
        if not len(ks) or min(ks) < 1 or max(ks) > size:
            raise ValueError(f"ks: wanted values from 1 to {size} (the database), got {list(ks)}")
        return np.array([self._expected_hits(k).mean() / k for k in ks])

    def _expected_hits(self, k: int) -> Array:
        """Return the expected number of relevant rows among the k nearest."""
        ends = self.retrieved.cumsum(axis=1)
        taken = np.clip(k - (ends - self.retrieved), 0, self.retrieved)
        share = taken / np.maximum(self.retrieved, 1)
        return np.asarray((share * self.relevant).sum(axis=1))

    def precision_recall(self) -> tuple[Array, Array]:
        """Return precision and recall within each radius 0..n_bits, pooled over queries.

        Precision is 1 by convention at a radius without any row.
        """
        retrieved = self.retrieved.sum(axis=0).cumsum()
        hits = self.relevant.sum(axis=0).cumsum()
        precision = np.where(retrieved > 0, hits / np.maximum(retrieved, 1), 1.0)
        return precision, hits / max(int(hits[-1]), 1)

    def lookup_precision(self, radius: int) -> float:
        """Return the mean precision within a radius; an empty result counts as 0."""
        if radius < 0:
            raise ValueError(f"radius: wanted 0 or more, got {radius}")
        retrieved = self.retrieved[:, : radius + 1].sum(axis=1)
        hits = self.relevant[:, : radius + 1].sum(axis=1)
        return float((hits / np.maximum(retrieved, 1)).mean())

    def mean_average_precision(self) -> float:
        """Return the mean average precision, in expectation over ties.

        Within a tie of n rows, r of them relevant, each rank holds a relevant row with
        probability r/n, and given that, an earlier rank of the tie does with (r-1)/(n-1).
        A query without any relevant row counts as 0.
        """
        starts = self.retrieved.cumsum(axis=1) - self.retrieved
        hits_before = self.relevant.cumsum(axis=1) - self.relevant
        harmonic = np.concatenate(
            ([0.0], np.cumsum(1.0 / np.arange(1, 1 + self.retrieved[0].sum())))
        )
        reciprocals = harmonic[starts + self.retrieved] - harmonic[starts]  # sum of 1/(start+i)
        earlier = (self.relevant - 1) / np.maximum(self.retrieved - 1, 1)
        # sum over i of (hits + 1 + (i-1) e) / (start + i), with i = (start + i) - start
        sums = (hits_before + 1 - earlier * (starts + 1)) * reciprocals + earlier * self.retrieved
        expected = (self.relevant / np.maximum(self.retrieved, 1) * sums).sum(axis=1)
        return float((expected / np.maximum(self.relevant.sum(axis=1), 1)).mean())


def rank(
    queries: ArrayLike,
    query_labels: ArrayLike,
    database: ArrayLike,
    database_labels: ArrayLike,
    *,
    n_bits: int,
) -> Ranking:
    """Count the database rows at each Hamming distance of each query.

    Parameters
    ----------
    queries, database : (m, n_bytes) and (n, n_bytes) arrays
        Packed codes of `shlcore.hamming.pack` or ``SHL.hash``.
    query_labels, database_labels : arrays of m and n classes
        A row is relevant to a query of the same class.
    n_bits : int
        Length of the codes.
    """
    codes, rows = _codes(queries, n_bits, "queries"), _codes(database, n_bits, "database")
    of_queries, of_rows = np.asarray(query_labels), np.asarray(database_labels)
    if of_queries.shape != (len(codes),) or of_rows.shape != (len(rows),):
        raise ValueError(
            f"labels: wanted one for each of {len(codes)} queries and {len(rows)} rows, "
            f"got {of_queries.shape} and {of_rows.shape}"
        )
    classes, labels = np.unique(np.concatenate([of_queries, of_rows]), return_inverse=True)
    distinct, members = np.unique(rows, axis=0, return_inverse=True)
    counts = np.zeros((len(distinct), len(classes)))
    np.add.at(counts, (members.ravel(), labels[len(codes) :]), 1)
    # Queries with equal code and class have equal counts; the class is appended as bytes.
    distinct_queries, inverse = np.unique(
        np.column_stack([codes, labels[: len(codes)].view(np.uint8).reshape(len(codes), -1)]),
        axis=0,
        return_inverse=True,
    )
    query_classes = (
        np.ascontiguousarray(distinct_queries[:, codes.shape[1] :]).view(np.intp).ravel()
    )
    retrieved, relevant = _histograms(
        distinct_queries[:, : codes.shape[1]], query_classes, distinct, counts, n_bits
    )
    return Ranking(retrieved[inverse.ravel()], relevant[inverse.ravel()])


def _codes(codes: ArrayLike, n_bits: int, name: str) -> NDArray[np.uint8]:
    array = np.asarray(codes)
    wanted = (n_bits + 7) // 8
    if array.ndim != 2 or array.shape[1] != wanted or not len(array) or array.dtype != np.uint8:
        raise ValueError(
            f"{name}: wanted at least one packed code of {wanted} bytes for {n_bits} bits, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array


def _histograms(
    codes: NDArray[np.uint8],
    query_classes: Indices,
    distinct: NDArray[np.uint8],
    counts: Array,
    n_bits: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count rows and relevant rows at each distance, for queries of the given classes."""
    width = n_bits + 1
    retrieved = np.empty((len(codes), width), dtype=np.int64)
    relevant = np.empty_like(retrieved)
    totals = counts.sum(axis=1)
    step = max(1, BLOCK // len(distinct))
    for start in range(0, len(codes), step):
        block = slice(start, min(start + step, len(codes)))
        size = block.stop - start
        cells = hamming.distances(codes[block], distinct) + width * np.arange(size)[:, None]
        for table, weights in (
            (retrieved, np.broadcast_to(totals, cells.shape)),
            (relevant, counts.T[query_classes[block]]),
        ):
            summed = np.bincount(cells.ravel(), weights.ravel(), minlength=size * width)
            table[block] = summed.reshape(size, width)
    return retrieved, relevant
