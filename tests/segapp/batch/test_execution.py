"""Batches in processes and on a Dask cluster give what they give here."""

import os
import signal
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.batch.cases import find_cases
from segapp.batch.execution import run_tasks, run_tasks_remotely
from segapp.batch.task import Cancelled, Task, run_case
from segapp.model.settings import SettingsChoice
from shlcore.parallel import ClusterError
from tests.segapp.batch.discs import make_case, masks, run, tasks
from tests.segapp.fake_segmenter import Deadly, NearestColour, Slow, Unhurried


@pytest.mark.slow
def test_jobs_do_not_change_the_results(folder, tmp_path):
    one = run(folder, tmp_path / "one", jobs=1, robot=3)
    two = run(folder, tmp_path / "two", jobs=2, robot=3)
    assert [replace(o, seconds=()) for o in one] == [replace(o, seconds=()) for o in two]
    assert masks(tmp_path / "one") == masks(tmp_path / "two")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_process_that_dies_costs_its_image_alone(folder, tmp_path):
    make_case(folder, "deadly", corner=(255, 0, 0))
    results = run(folder, tmp_path / "out", jobs=2, learner=Deadly)
    errors = {outcome.name: outcome.error for outcome in results}
    assert errors.pop("deadly").startswith("Its process ended unexpectedly")
    assert set(errors.values()) == {""}


def test_a_stop_is_seen_between_two_steps(folder, tmp_path):

    asked = iter([False, True])
    with pytest.raises(Cancelled):
        run_case(tasks(folder, tmp_path / "out")[0], NearestColour, lambda: next(asked))
    assert not (tmp_path / "out" / "masks").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGALRM")
def test_an_interrupt_stops_the_processes(folder, tmp_path):
    make_case(folder, "d")
    start = time.perf_counter()
    results = run_tasks(tasks(folder, tmp_path / "out"), Slow, 2)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 3.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(results)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - start < 120  # not the ten minutes: a busy machine starts slowly
    assert not (tmp_path / "out" / "masks").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_masks_do_not_depend_on_where_they_are_made(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("a", "b", "broken"):
        pixels = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(f"{name}.png")
        strokes = np.zeros((20, 30), np.uint8)
        strokes[2:4], strokes[10:12] = 1, 2
        Image.fromarray(strokes).save(f"{name}-strokes.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    cases = find_cases(".")

    def of(out):
        return [Task(case, tmp_path / out, SettingsChoice()) for case in cases]

    here = {outcome.name: outcome for outcome in run_tasks(of("here"), NearestColour)}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        there = {o.name: o for o in run_tasks_remotely(of("there"), NearestColour, address)}
    assert there.keys() == here.keys()
    assert there["broken"].error == here["broken"].error != ""
    for name in ("a", "b"):
        files = [tmp_path / out / "masks" / f"{name}.png" for out in ("here", "there")]
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_worker_that_is_killed_in_the_middle_costs_no_mask(folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    for name in "defgh":
        make_case(folder, name)
    run(folder, tmp_path / "here")
    wanted = tasks(folder, tmp_path / "there")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        outcomes = run_tasks_remotely(wanted, Unhurried, cluster.scheduler_address)
        found = [next(outcomes)]
        victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        found += outcomes
    assert {outcome.name: outcome.error for outcome in found} == {
        task.case.name: "" for task in wanted
    }
    assert masks(tmp_path / "there") == masks(tmp_path / "here")


def test_no_cluster_is_one_clear_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("shlcore.parallel._CONNECT_TIMEOUT", "1s")
    with pytest.raises(ClusterError, match="wanted a Dask scheduler there"):
        list(run_tasks_remotely([], NearestColour, "tcp://127.0.0.1:9"))
