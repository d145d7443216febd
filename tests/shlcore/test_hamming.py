"""Packed codes and Hamming distances against definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shlcore import hamming


def bit_arrays(n_bits):
    return hnp.arrays(
        np.uint8,
        st.tuples(st.integers(0, 7), st.just(n_bits)),
        elements={"min_value": 0, "max_value": 1},
    )


pairs = st.integers(1, 130).flatmap(
    lambda n_bits: st.tuples(bit_arrays(n_bits), bit_arrays(n_bits))
)


@given(pairs)
def test_unpack_undoes_pack(pair):
    bits, _ = pair
    np.testing.assert_array_equal(hamming.unpack(hamming.pack(bits), bits.shape[1]), bits)


@given(pairs)
def test_distances_count_the_bits_that_differ(pair):
    a, b = pair
    expected = (a[:, None, :] != b[None, :, :]).sum(axis=2)
    np.testing.assert_array_equal(hamming.distances(hamming.pack(a), hamming.pack(b)), expected)


def test_nearest_takes_the_first_on_a_tie():
    codewords = hamming.pack([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    codes = hamming.pack([[1, 1, 0], [0, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(hamming.nearest(codes, codewords), [1, 2, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hamming.pack([0, 1]), "bits: wanted an array of 2 dimensions"),
        (lambda: hamming.pack([[0, 2]]), "bits: wanted nothing but 0 and 1"),
        (lambda: hamming.unpack([[1, 2]], 5), "packed: wanted n x 1 bytes"),
        (lambda: hamming.distances(np.zeros((1, 1)), np.zeros((1, 9))), "codes of one width"),
    ],
)
def test_wrong_shapes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
