"""Bytes that ADMM sends per sweep, by workers, features and bits.

    python tests/benchmarks/cluster_traffic.py [--quick]

The sum of the bytes that workers count (sent to each other and to this process) and of the input
that this process sends. LARGE.md has the resulting model.
"""

import argparse
import pickle
import sys
import time
import warnings

import distributed
import numpy as np

from shlcore import SHL, row_blocks
from shlcore.row_blocks import ClusterBlocks

ROWS, COLUMNS, CLASSES = 4000, 20, 6


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def measure(n_workers, n_components, n_bits):
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=ROWS)
    X = rng.random((CLASSES, COLUMNS))[y] + 0.3 * rng.standard_normal((ROWS, COLUMNS))
    model = SHL(
        solver="random_features",
        n_components=n_components,
        n_bits=n_bits,
        max_iter=1,
        random_state=0,
    )
    before, queries, sweeps = [], [], []
    advance = ClusterBlocks.advance
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as c,
        distributed.Client(c) as client,
    ):

        def counted(self, function, shared):
            before.append(sum(client.run(sent).values()))
            queries.append(len(pickle.dumps(shared)))
            started = time.perf_counter()
            answer = advance(self, function, shared)
            sweeps.append(time.perf_counter() - started)
            return answer

        ClusterBlocks.advance = counted
        try:
            model.fit(X.astype(np.float32), y)
        finally:
            ClusterBlocks.advance = advance
    width = model._result.hash.map.n_features
    return width, np.median(np.diff(before)), np.median(queries), np.median(sweeps)


RUNS = ((1, 500, 20), (2, 500, 20), (2, 1000, 20), (4, 500, 20))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small run, to see that it works")
    runs = ((1, 20, 3),) if parser.parse_args().quick else RUNS
    warnings.simplefilter("ignore")
    row_blocks.BLOCK_BYTES = 800_000  # some twenty blocks
    print("| workers | features | bits | query sent | workers sent per sweep | sweep |")
    print("|---|---|---|---|---|---|")
    for n_workers, n_components, n_bits in runs:
        width, traffic, query, seconds = measure(n_workers, n_components, n_bits)
        print(
            f"| {n_workers} | {width} | {n_bits} | {query / 1e3:.0f} kB | {traffic / 1e3:.0f} kB "
            f"| {1e3 * seconds:.0f} ms |"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
