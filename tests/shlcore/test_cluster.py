"""Training on a real cluster of two worker processes."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest

from shlcore import SHL
from shlcore.parallel import ClusterError, connect_to_cluster, map_on_cluster
from shlcore.row_blocks import ClusterBlocks

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # A worker that dies leaves sockets and loops behind in this process.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:SHL stopped after max_iter"),
]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 250)
    X = rng.random((4, 6))[y] + 0.2 * rng.standard_normal((1000, 6))
    order = rng.permutation(1000)
    return X[order].astype(np.float32), y[order]


def model():
    return SHL(
        solver="random_features",
        n_bits=8,
        n_components=100,
        lambda1=1000.0,  # a choice among costs would compute kernels in blocks of one row
        max_iter=1,
        random_state=0,
    )


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("shlcore.row_blocks.BLOCK_BYTES", 110_000)


def test_the_cluster_learns_the_same(cluster, data):
    X, y = data
    alone = model().fit(X, y)
    wanted = alone.project(X)
    with distributed.Client(cluster):
        for rows in (X, da.from_array(X, chunks=(260, 6))):
            together = model().fit(rows, y)
            np.testing.assert_array_equal(together.codewords_, alone.codewords_)
            np.testing.assert_array_equal(together.predict(rows), alone.predict(X))
            np.testing.assert_allclose(together.project(rows), wanted, atol=5e-3)


def test_a_worker_reads_a_memory_map_by_itself(cluster, data, tmp_path):
    X, y = data
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with distributed.Client(cluster):
        together = model().fit(rows[100:900], y[100:900])
    alone = model().fit(X[100:900], y[100:900])
    np.testing.assert_array_equal(together.predict(X), alone.predict(X))


def test_a_worker_that_dies_costs_time_but_not_the_result(cluster, data, monkeypatch):
    X, y = data
    alone = model().fit(X, y)
    advanced = []
    advance = ClusterBlocks.advance

    def counted(self, function, shared):
        advanced.append(function)
        if len(advanced) == 4:
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
        return advance(self, function, shared)

    monkeypatch.setattr(ClusterBlocks, "advance", counted)
    with distributed.Client(cluster) as client:
        together = model().fit(X, y)
    assert len(advanced) > 4
    np.testing.assert_array_equal(together.codewords_, alone.codewords_)
    np.testing.assert_array_equal(together.predict(X), alone.predict(X))


def test_a_stopped_fit_leaves_the_cluster_clean(cluster, data):
    X, y = data
    with distributed.Client(cluster) as client:
        steps = model().iter_fit(X, y)
        next(steps)
        steps.close()
        del steps
        assert emptied(client)


def emptied(client):
    """Whether the workers' memory is free of our tasks within some seconds."""
    for _ in range(50):
        if not any(client.has_what().values()):
            return True
        time.sleep(0.1)
    return False


def test_items_come_back_as_they_are_done(cluster):
    with connect_to_cluster(cluster.scheduler_address) as client:
        found = dict(map_on_cluster(client, abs, [-1, 2, -3]))
    assert found == {-1: 1, 2: 2, -3: 3}


def test_no_scheduler_is_one_clear_sentence(monkeypatch):
    monkeypatch.setattr("shlcore.parallel._CONNECT_TIMEOUT", "1s")
    with (
        pytest.raises(ClusterError, match="wanted a Dask scheduler there"),
        connect_to_cluster("tcp://127.0.0.1:9"),
    ):
        pass
    assert threading.active_count() < 50
