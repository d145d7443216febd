import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as reference

from segapp.imaging.rle import _HEAD, encode_counts, pack_labels, run_lengths, unpack_labels
from segapp.model.validation import SegappError

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

masks = arrays.arrays(bool, st.tuples(st.integers(1, 20), st.integers(1, 20)))


@settings(max_examples=150, deadline=None)
@given(masks)
def test_the_text_is_what_pycocotools_writes(mask):
    expected = reference.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"]
    assert encode_counts(run_lengths(mask)) == expected.decode()


def test_long_runs():
    mask = np.zeros((3000, 3000), bool)
    mask[100:2900, 7:2999] = True
    mask[5, 5] = True
    text = encode_counts(run_lengths(mask))
    read = reference.decode({"size": [3000, 3000], "counts": text})
    assert (read == mask).all()


def test_counts_alternate_from_zeros():
    assert run_lengths(np.array([[0, 1], [0, 1]], bool)) == [2, 2]
    assert run_lengths(np.array([[1, 1], [0, 1]], bool)) == [0, 1, 1, 2]
    assert run_lengths(np.zeros((2, 2), bool)) == [4]
    assert run_lengths(np.ones((2, 2), bool)) == [0, 4]


SHAPES = st.sampled_from([(1, 1), (3, 300), (257, 2), (256, 256), (5, 7)])


@given(st.data(), SHAPES, st.sampled_from([np.uint8, np.int32]), st.sampled_from([0, 1, 2, 255]))
def test_labels_come_back(data, shape, dtype, highest):
    labels = data.draw(arrays.arrays(dtype, shape, elements=st.integers(0, highest)))
    again = unpack_labels(pack_labels(labels), shape, dtype)
    assert again.dtype == dtype
    np.testing.assert_array_equal(again, labels)


def test_negative_and_large_labels_come_back():
    labels = np.array([[-1, 2**31 - 1], [0, -(2**31)]], np.int32)
    np.testing.assert_array_equal(unpack_labels(pack_labels(labels), (2, 2), np.int32), labels)


def test_a_view_of_labels_is_packed_like_a_copy():
    labels = np.arange(400, dtype=np.uint8).reshape(20, 20)[::2, ::-3]
    assert pack_labels(labels) == pack_labels(labels.copy())


def test_a_disc_at_twelve_megapixels_takes_few_kilobytes():
    y, x = np.ogrid[:3000, :4000]
    labels = ((x - 2000) ** 2 + (y - 1500) ** 2 < 1000**2).astype(np.uint8)
    assert len(pack_labels(labels)) < 12_000


GOOD = pack_labels(np.eye(300, dtype=np.uint8))


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        GOOD[:-1],
        GOOD + b"x",
        GOOD[:3],
        _HEAD.pack(0, 0),
        _HEAD.pack(0, 2) + b"xy",
        _HEAD.pack(1, 4) + b"zlib",
        _HEAD.pack(2, 8) + zlib.compress(b""),
        _HEAD.pack(7, 8) + zlib.compress(b""),
    ],
)
def test_damage_is_told(packed):
    with pytest.raises(SegappError, match="labels"):
        unpack_labels(packed, (300, 300))


def test_a_tile_that_would_fill_the_memory_is_not_unpacked():
    bomb = zlib.compress(bytes(200 << 20), 9)
    tracemalloc.start()
    with pytest.raises(SegappError):
        unpack_labels(_HEAD.pack(2, len(bomb)) + bomb, (20, 20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
