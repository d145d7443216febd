"""Limits of threads, and processes that fail or stop."""

import os
import signal
import subprocess
import sys
import time

import pytest
from threadpoolctl import threadpool_info

from shlcore.parallel import ProcessDied, limit_threads, map_in_processes

NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

more_than_one_core = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2, reason="on one core all libraries have one thread anyway"
)


def loaded_and_asked():
    """Load what brings threads of its own, and tell how many each has."""
    import scipy.linalg  # noqa: F401
    import sklearn.svm  # noqa: F401

    return {library["filepath"]: library["num_threads"] for library in threadpool_info()}


def of_a_fresh_process(limit):
    """Return how many threads libraries have in a process that loads them when limited."""
    words = f"""
from contextlib import nullcontext
from shlcore.parallel import limit_threads
with {limit}:
    import scipy.linalg, sklearn.svm
    from threadpoolctl import threadpool_info
    print(*{{library["num_threads"] for library in threadpool_info()}})
"""
    found = subprocess.run(
        [sys.executable, "-c", words],
        env={name: value for name, value in os.environ.items() if name not in NAMES},
        capture_output=True,
        check=True,
    )
    return {int(word) for word in found.stdout.split()}


def asked(item, stopped):
    return loaded_and_asked()


@more_than_one_core
def test_without_a_limit_there_is_more_than_one():
    assert of_a_fresh_process("nullcontext()") != {1}


def test_libraries_loaded_within_the_block_are_limited():
    assert of_a_fresh_process("limit_threads(1)") == {1}


def test_loaded_libraries_are_limited_within_the_block():
    with limit_threads(2):
        before = loaded_and_asked()
        with limit_threads(1):
            assert set(loaded_and_asked().values()) == {1}
        assert loaded_and_asked() == before


@pytest.mark.parametrize("value", [None, "7"])
def test_the_environment_is_left_as_it_was(monkeypatch, value):
    for name in NAMES:
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    with limit_threads(2):
        assert [os.environ[name] for name in NAMES] == ["2"] * 3
    assert [os.environ.get(name) for name in NAMES] == [value] * 3


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=more_than_one_core)])
def test_each_process_of_a_pool_has_its_threads(monkeypatch, threads):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for _, found in map_in_processes(asked, [0, 1, 2], 2, threads=threads):
        assert set(found.values()) == {threads}


def squared(item, stopped):
    return item * item


def deadly(item, stopped):
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return -item


def patient(item, stopped):
    until = time.monotonic() + 60
    while not stopped() and time.monotonic() < until:
        time.sleep(0.01)
    return item


def refusing(item, stopped):
    raise ValueError("no")


def test_every_item_has_its_result():
    assert dict(map_in_processes(squared, range(7), 2)) == {k: k * k for k in range(7)}
    assert list(map_in_processes(squared, [], 2)) == []


def test_a_dying_process_loses_its_own_item_only():
    found = dict(map_in_processes(deadly, range(5), 2))
    assert isinstance(found.pop(3), ProcessDied)
    assert found == {0: 0, 1: -1, 2: -2, 4: -4}


def test_closing_stops_the_processes():
    running = map_in_processes(squared, [1, 2], 2)
    next(running)
    running.close()
    start = time.monotonic()
    waiting = map_in_processes(patient_but_first, [0, 1, 2], 2)
    next(waiting)
    waiting.close()
    assert time.monotonic() - start < 30


def patient_but_first(item, stopped):
    return item if item == 0 else patient(item, stopped)


def test_errors_of_the_work_reach_the_caller():
    with pytest.raises(ValueError, match="no"):
        list(map_in_processes(refusing, [1], 1))
