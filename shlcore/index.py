"""Exact search in packed codes: nearest neighbours, or all within a radius.

The database is scanned in blocks that fit the cache. A query keeps its k best rows so far, and
only rows nearer than the worst of these are taken from a block. They are few, so that most of the
time goes into xor and popcount, which release the interpreter's lock. Queries are distributed
over threads.
"""

from __future__ import annotations

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from shlcore import hamming
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Distances = NDArray[np.unsignedinteger]
    Neighbours = tuple[Distances, NDArray[np.int64]]
    Search = Callable[[NDArray[np.uint64]], list[Neighbours]]

BLOCK = 1 << 16  # rows scanned at once: 512 KB of 64-bit words
FIRST_BLOCK = 1 << 10  # small, so that a bound on the distance is known early
FORMAT, VERSION = "shlcore-hamming-index", 1


class HammingIndex:
    """Search in packed codes by Hamming distance, exactly.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads; None takes all processors.

    Examples
    --------
    >>> from shlcore.hamming import pack
    >>> from shlcore.index import HammingIndex
    >>> index = HammingIndex().fit(pack([[0, 0, 0], [0, 1, 1], [1, 1, 1]]))
    >>> distances, rows = index.kneighbors(pack([[0, 0, 1]]), n_neighbors=2)
    >>> distances.tolist(), rows.tolist()
    ([[1, 1]], [[0, 1]])
    """

    def __init__(self, *, n_jobs: int | None = None) -> None:
        if n_jobs is not None and n_jobs < 1:
            raise ValueError(f"n_jobs: wanted None or at least 1 thread, got {n_jobs}")
        self.n_jobs = n_jobs

    def fit(self, codes: ArrayLike) -> Self:
        """Store the database: an ``n x n_bytes`` array of packed codes (of ``SHL.hash``)."""
        self.codes_ = _packed(codes)
        if not len(self.codes_):
            raise ValueError("codes: wanted at least one code, got none")
        # One contiguous column per 64-bit word.
        self._words = np.asfortranarray(hamming.words(self.codes_))
        return self

    def kneighbors(self, codes: ArrayLike, n_neighbors: int = 5) -> Neighbours:
        """Return distances and indices of the nearest rows, nearest first.

        Rows at the same distance come in the database's order.
        """
        words = self._query_words(codes)
        if not 1 <= n_neighbors <= len(self._words):
            raise ValueError(
                f"n_neighbors: wanted 1 to {len(self._words)} (the rows), got {n_neighbors}"
            )
        results = self._in_threads(words, lambda share: self._nearest(share, n_neighbors))
        distances = np.array([d for d, _ in results], dtype=self._distance_type())
        rows = np.array([r for _, r in results], dtype=np.int64)
        return distances.reshape(-1, n_neighbors), rows.reshape(-1, n_neighbors)

    def radius_neighbors(
        self, codes: ArrayLike, radius: int
    ) -> tuple[list[Distances], list[NDArray[np.int64]]]:
        """Return distances and indices of all rows within a radius, nearest first.

        One array per query, since their lengths may differ.
        """
        words = self._query_words(codes)
        if radius < 0:
            raise ValueError(f"radius: wanted 0 or more, got {radius}")
        results = self._in_threads(words, lambda share: self._within(share, radius))
        return [d for d, _ in results], [r for _, r in results]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file, a NumPy archive."""
        self._check_fitted()
        with atomic_write(path) as file:
            np.savez(file, format=FORMAT, version=VERSION, codes=self.codes_)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Self:
        """Load an index from a file of `save`; raise a ValueError for any other file."""
        try:
            # Opened here, because np.load leaves a damaged file open.
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
                kind, version = str(archive["format"]), int(archive["version"])
                if kind == FORMAT and version == VERSION:
                    return cls(n_jobs=n_jobs).fit(archive["codes"])
        except (
            ValueError,
            KeyError,
            EOFError,
            TypeError,
            IndexError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(f"{path}: wanted a saved Hamming index, got another file") from error
        if kind != FORMAT:
            raise ValueError(f"{path}: wanted a saved Hamming index, got {kind!r}")
        raise ValueError(f"{path}: wanted version {VERSION} of the index file, got {version}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "codes_"):
            raise ValueError("HammingIndex: wanted a call of fit before, got none")

    def _query_words(self, codes: ArrayLike) -> NDArray[np.uint64]:
        self._check_fitted()
        queries = _packed(codes)
        if queries.shape[1] != self.codes_.shape[1]:
            raise ValueError(
                f"codes: wanted {self.codes_.shape[1]} bytes a code as in fit, "
                f"got {queries.shape[1]}"
            )
        return hamming.words(queries)

    def _in_threads(self, words: NDArray[np.uint64], search: Search) -> list[Neighbours]:
        threads = min(self.n_jobs or os.cpu_count() or 1, max(len(words), 1))
        if threads == 1:
            return search(words)
        with ThreadPoolExecutor(threads) as pool:
            shares = pool.map(search, np.array_split(words, threads))
            return [result for share in shares for result in share]

    def _distance_type(self) -> type[np.unsignedinteger]:
        return np.uint8 if 64 * self._words.shape[1] <= np.iinfo(np.uint8).max else np.uint16

    def _nearest(self, queries: NDArray[np.uint64], k: int) -> list[Neighbours]:
        best = [_empty(self._distance_type()) for _ in queries]
        bounds = [np.iinfo(self._distance_type()).max] * len(queries)
        for scan in self._blocks():
            for query, words in enumerate(queries):
                if bounds[query] == 0:  # k equal codes are the nearest possible
                    continue
                hits = scan.closer(words, bounds[query])
                if not len(hits[0]):
                    continue
                distances = np.concatenate([best[query][0], hits[0]])
                rows = np.concatenate([best[query][1], hits[1]])
                order = np.argsort(distances, kind="stable")[:k]
                best[query] = distances[order], rows[order]
                if len(order) == k:
                    bounds[query] = int(best[query][0][-1])
        return best

    def _within(self, queries: NDArray[np.uint64], radius: int) -> list[Neighbours]:
        hits: list[list[Neighbours]] = [[] for _ in queries]
        for scan in self._blocks():
            for pieces, words in zip(hits, queries, strict=True):
                pieces.append(scan.closer(words, radius + 1))
        results = []
        for pieces in hits:
            distances, rows = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
            order = np.argsort(distances, kind="stable")
            results.append((distances[order], rows[order]))
        return results

    def _blocks(self) -> Iterator[_Scan]:
        start, size = 0, FIRST_BLOCK
        while start < len(self._words):
            yield _Scan(self._words[start : start + size], start, self._distance_type())
            start, size = start + size, min(4 * size, BLOCK)


class _Scan:
    """One block of the database, with buffers for all queries of a thread."""

    def __init__(
        self, words: NDArray[np.uint64], start: int, kind: type[np.unsignedinteger]
    ) -> None:
        self.words, self.start = words, start
        self.differing = np.empty(len(words), dtype=np.uint64)
        self.counts = np.empty(len(words), dtype=np.uint8)
        self.distances: Distances = np.empty(len(words), dtype=kind)

    def closer(self, query: NDArray[np.uint64], bound: int) -> Neighbours:
        """Return distances and indices of the rows nearer to the query than the bound."""
        for column, word in enumerate(query):
            np.bitwise_xor(self.words[:, column], word, out=self.differing)
            if column == 0:
                np.bitwise_count(self.differing, out=self.distances)
            else:
                np.bitwise_count(self.differing, out=self.counts)
                np.add(self.distances, self.counts, out=self.distances)
        local = np.flatnonzero(self.distances < bound)
        return self.distances[local], local + self.start


def _empty(kind: type[np.unsignedinteger]) -> Neighbours:
    return np.empty(0, dtype=kind), np.empty(0, dtype=np.int64)


def _packed(codes: ArrayLike) -> NDArray[np.uint8]:
    array = np.asarray(codes)
    if array.ndim != 2 or array.dtype != np.uint8 or not array.shape[1]:
        raise ValueError(
            "codes: wanted packed codes, an n x n_bytes array of uint8, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array)
