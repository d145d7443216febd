"""Exact 10-nearest search in 64-bit codes: ours beside faiss's flat binary index.

Run it from the project's root, with the extra ``bench`` installed::

    python tests/benchmarks/binary_index.py

Both get the same codes in one process, one thread each and then all threads each; the best
of three rounds counts. Both answers are compared, so that speed is not bought with errors.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import faiss
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from shlcore.index import HammingIndex


def best_of_three(search):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        answer = search()
        times.append(time.perf_counter() - start)
    return min(times), answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--bits", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--neighbours", type=int, default=10)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| bits | threads | shlcore s | faiss s | ratio |\n|---|---|---|---|---|")
    for bits in arguments.bits:
        codes = rng.integers(0, 256, (arguments.rows, bits // 8), dtype=np.uint8)
        queries = rng.integers(0, 256, (arguments.queries, bits // 8), dtype=np.uint8)
        peer = faiss.IndexBinaryFlat(bits)
        peer.add(codes)
        for threads in sorted({1, os.cpu_count() or 1}):
            faiss.omp_set_num_threads(threads)
            ours = HammingIndex(n_jobs=threads).fit(codes)
            mine, (distances, _) = best_of_three(
                lambda: ours.kneighbors(queries, arguments.neighbours)  # noqa: B023 (called at once)
            )
            theirs, (expected, _) = best_of_three(
                lambda: peer.search(queries, arguments.neighbours)  # noqa: B023 (called at once)
            )
            np.testing.assert_array_equal(distances, expected)
            print(f"| {bits} | {threads} | {mine:.2f} | {theirs:.2f} | {mine / theirs:.2f} |")


if __name__ == "__main__":
    main()
