"""Supervised Discrete Hashing: its objective and its discrete steps."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shlcore.baselines import SDH
from shlcore.baselines.sdh import _cyclic_descent


def test_the_objective_falls_every_round():
    X, y = load_digits(return_X_y=True)
    method = SDH(n_bits=12, n_anchors=60, random_state=0).fit(X[:300], y[:300])
    assert method.n_iter_ == 5
    assert (np.diff(method.objectives_) <= 1e-9 * method.objectives_[0]).all()
    assert method.objectives_[-1] < 0.6 * method.objectives_[0]


@pytest.mark.parametrize("seed", range(5))
def test_no_single_bit_can_be_improved_after_the_descent(seed):
    rng = np.random.default_rng(seed)
    W, Q = rng.normal(size=(4, 3)), rng.normal(size=(6, 4))
    start = rng.choice([-1.0, 1.0], (6, 4))

    def loss(B):
        return ((B @ W) ** 2).sum() - 2 * (B * Q).sum()

    found = _cyclic_descent(start, W, Q)
    assert loss(found) <= loss(start)
    for row, bit in itertools.product(range(6), range(4)):
        other = found.copy()
        other[row, bit] *= -1
        assert loss(found) <= loss(other) + 1e-9
