"""Exact search against brute force, files and memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlcore import hamming, index
from shlcore.index import HammingIndex


@st.composite
def code_sets(draw):
    n_bits = draw(st.sampled_from([1, 5, 8, 45, 64, 65, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    pool = rng.integers(0, 2, (4, n_bits))
    database = pool[rng.integers(0, 4, draw(st.integers(1, 60)))]
    database[rng.random(database.shape) < 0.1] ^= 1
    return database, rng.integers(0, 2, (draw(st.integers(0, 4)), n_bits))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(index, "FIRST_BLOCK", 3)
    monkeypatch.setattr(index, "BLOCK", 17)


@settings(deadline=None)
@given(code_sets(), st.integers(1, 60), st.sampled_from([None, 1, 3]))
def test_kneighbors_is_a_stable_sort_by_distance(codes, k, n_jobs):
    database, queries = codes
    k = min(k, len(database))
    search = HammingIndex(n_jobs=n_jobs).fit(hamming.pack(database))
    distances, rows = search.kneighbors(hamming.pack(queries), k)
    true = (queries[:, None] != database[None]).sum(axis=2)
    expected = np.argsort(true, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(distances, np.take_along_axis(true, expected, axis=1))


@settings(deadline=None)
@given(code_sets(), st.integers(0, 320))
def test_radius_neighbors_finds_exactly_the_rows_within(codes, radius):
    database, queries = codes
    search = HammingIndex().fit(hamming.pack(database))
    found = search.radius_neighbors(hamming.pack(queries), radius)
    true = (queries[:, None] != database[None]).sum(axis=2)
    for distances, rows, expected in zip(*found, true, strict=True):
        order = np.argsort(expected, kind="stable")
        np.testing.assert_array_equal(rows, order[: (expected <= radius).sum()])
        np.testing.assert_array_equal(distances, expected[rows])


def test_a_loaded_index_equals_the_saved_one(tmp_path):
    rng = np.random.default_rng(0)
    codes = hamming.pack(rng.integers(0, 2, (50, 21)))
    saved = HammingIndex().fit(codes)
    saved.save(tmp_path / "codes.index")
    loaded = HammingIndex.load(tmp_path / "codes.index")
    for before, after in zip(saved.kneighbors(codes), loaded.kneighbors(codes), strict=True):
        np.testing.assert_array_equal(before, after)
    assert [file.name for file in tmp_path.iterdir()] == ["codes.index"]


def test_memory_does_not_grow_with_queries_times_rows(monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    search = HammingIndex(n_jobs=2).fit(rng.integers(0, 256, (200_000, 8), dtype=np.uint8))
    queries = rng.integers(0, 256, (50, 8), dtype=np.uint8)
    tracemalloc.start()
    search.kneighbors(queries, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 * 50 / 2  # bytes: under half of a table of one byte a pair


def write_array(path):
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def write_foreign(path):
    with path.open("wb") as file:
        np.savez(file, format="other", version=1)


def write_newer(path):
    with path.open("wb") as file:
        np.savez(file, format=index.FORMAT, version=99, codes=np.zeros((1, 1), dtype=np.uint8))


def write_damaged(path):
    HammingIndex().fit(np.zeros((99, 9), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:300])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"nothing of the kind"), "wanted a saved Hamming index"),
        (lambda path: path.write_bytes(b""), "wanted a saved Hamming index"),
        (write_damaged, "wanted a saved Hamming index"),
        (write_array, "wanted a saved Hamming index"),
        (write_foreign, "got 'other'"),
        (write_newer, "wanted version 1 of the index file, got 99"),
    ],
)
def test_other_files_are_refused(tmp_path, write, message):
    write(tmp_path / "file")
    with pytest.raises(ValueError, match=message):
        HammingIndex.load(tmp_path / "file")


ONE = np.zeros((1, 1), dtype=np.uint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HammingIndex(n_jobs=0), "n_jobs: wanted None or at least 1"),
        (lambda: HammingIndex().fit([[0.5]]), "codes: wanted packed codes"),
        (lambda: HammingIndex().fit(ONE[:0]), "codes: wanted at least one code"),
        (lambda: HammingIndex().kneighbors(ONE), "wanted a call of fit before"),
        (lambda: HammingIndex().save("nowhere"), "wanted a call of fit before"),
        (lambda: HammingIndex().fit(ONE).kneighbors(ONE, 2), "n_neighbors: wanted 1 to 1"),
        (lambda: HammingIndex().fit(ONE).kneighbors(np.hstack([ONE, ONE])), "wanted 1 bytes"),
        (lambda: HammingIndex().fit(ONE).radius_neighbors(ONE, -1), "radius: wanted 0 or more"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
