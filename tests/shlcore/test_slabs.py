"""Rows cut into slabs: nothing lost, nothing read too early."""

import dask.array as da
import numpy as np
import pytest

from shlcore import row_blocks as module
from shlcore.row_blocks import MappedRows, picklable, row_chunks, rows_per_block


@pytest.fixture
def rows():
    return np.arange(40.0).reshape(20, 2)


@pytest.mark.parametrize("chosen", [np.arange(20), np.array([0, 3, 4, 11, 19]), np.array([7])])
def test_slabs_hold_the_chosen_rows_in_order(rows, chosen):
    for table in (rows, da.from_array(rows, chunks=(6, 1))):
        cut = row_chunks(table, chosen, 6)
        assert sum(slab.size for slab in cut) == len(chosen)
        np.testing.assert_array_equal(np.concatenate([s.read() for s in cut]), rows[chosen])


def test_a_memory_map_travels_as_a_place_in_its_file(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for slab in row_chunks(mapped, np.arange(2, 20), 5):
        sent = picklable(slab)
        assert isinstance(sent.source, MappedRows)
        np.testing.assert_array_equal(sent.read(), slab.read())
    in_memory = picklable(row_chunks(rows, np.arange(20), 20)[0])
    assert isinstance(in_memory.source, np.ndarray)
    assert picklable(sent) is sent


def test_blocks_have_so_many_bytes_but_some_rows_at_least(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    assert rows_per_block(10) == 100
    assert rows_per_block(5000) == 1
    assert rows_per_block(5000, 64) == 64
