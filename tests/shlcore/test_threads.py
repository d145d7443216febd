import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

from shlcore.parallel import limit_threads, map_in_processes

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


def test_libraries_that_are_loaded_meanwhile_are_limited_too():
    assert of_a_fresh_process("limit_threads(1)") == {1}


def test_libraries_that_are_there_are_limited_for_the_time_of_the_block():
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


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=more_than_one_core)])
def test_each_process_of_a_pool_has_its_threads(monkeypatch, threads):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for _, found in map_in_processes(asked, [0, 1, 2], 2, threads=threads):
        assert set(found.values()) == {threads}
