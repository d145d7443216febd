"""Kernel matrices of low rank against dense ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shlcore import Grams
from shlcore.gram_matrices import LowRank
from shlcore.kernels import Gaussian

KERNELS = [Gaussian(1.4), Gaussian(0.35)]


def on_a_line(n=60, seed=0):
    """Return rows whose two columns mirror each other."""
    values = np.random.default_rng(seed).random(n)
    return np.stack((values, 1 - values), axis=1)


def test_entries_are_exact_to_single_precision():
    rows = on_a_line()
    few = LowRank.from_kernels(KERNELS, rows, 32)
    for matrix, kernel in zip(few, KERNELS, strict=True):
        assert_allclose(matrix, kernel.of(rows, rows), atol=1e-6)
        assert (matrix == matrix.T).all()


def test_equal_rows_have_rank_one():
    few = LowRank.from_kernels(KERNELS, np.full((5, 2), 0.3), 1)
    assert_allclose(list(few), np.ones((2, 5, 5)), atol=1e-7)


@pytest.mark.parametrize("most", [1, 8])
def test_too_high_rank_gives_none(most):
    assert LowRank.from_kernels(KERNELS, on_a_line(), most) is None
    assert LowRank.from_kernels([Gaussian(0.01)], on_a_line(), 32) is None


@pytest.mark.parametrize("count", [3, 25, 40, 60])
def test_low_rank_matrices_mix_with_dense_ones(count):
    rng = np.random.default_rng(count)
    rows, other = on_a_line(), rng.random((60, 3))
    kept = Grams(Gaussian(0.5).of(other, other)[None].astype(np.float32))
    few = LowRank.from_kernels(KERNELS, rows, 32)
    whole = np.stack([*kept, *(kernel.of(rows, rows) for kernel in KERNELS)])
    grams = Grams(kept, LowRank.concatenate([few]))
    chosen = np.sort(rng.choice(60, count, replace=False))
    weights, a = rng.random(3), rng.normal(size=count)
    among = whole[:, chosen[:, None], chosen]
    total = np.tensordot(weights, among, axes=1)
    assert len(grams) == 3
    assert_allclose(grams.weighted_sum(weights, chosen), total, atol=1e-5)
    assert_allclose(grams.products(chosen, a), whole[:, :, chosen] @ a, atol=1e-4)
    assert_allclose(grams.kernel_rows(chosen), whole[:, chosen], atol=1e-5)
    assert_allclose(list(grams.submatrices(chosen)), among, atol=1e-5)
