import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as reference

from segapp.imaging.rle import encode_counts, run_lengths

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
