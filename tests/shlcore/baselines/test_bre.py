"""Binary Reconstructive Embedding: its loss and its exact line search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from shlcore.baselines import BRE
from shlcore.baselines.bre import _best_step


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 999))
def test_the_best_step_is_that_of_a_fine_grid(n, seed):
    rng = np.random.default_rng(seed)
    values, slope, gains = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, n))
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, 0)

    def total(step):
        signs = np.where(values + step * slope > 0, 1, -1)
        return signs @ gains @ signs

    ends = np.sort(-values / slope)
    middles = np.concatenate([[ends[0] - 1], (ends[1:] + ends[:-1]) / 2, [ends[-1] + 1]])
    step = _best_step(values, slope, gains.astype(np.float32))
    assert total(step) == pytest.approx(max(total(m) for m in middles), rel=1e-4, abs=1e-4)


def test_the_weight_of_a_zero_kernel_stays():
    assert _best_step(np.ones(3), np.zeros(3), np.ones((3, 3), dtype=np.float32)) == 0


@pytest.mark.parametrize("supervised", [True, False])
def test_the_loss_falls_and_is_the_reconstruction_error(supervised):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    method = BRE(n_bits=6, n_anchors=15, random_state=0).fit(X, y if supervised else None)
    assert (np.diff(method.losses_) <= 0).all()
    assert method.losses_[-1] < 0.95 * method.losses_[0]
    codes = method.transform(X).astype(float)
    distance = (codes[:, None] != codes[None]).mean(axis=2)
    rows = X - X.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    wanted = (y[:, None] != y) if supervised else ((rows[:, None] - rows) ** 2).sum(axis=2) / 2
    assert method.losses_[-1] == pytest.approx(((wanted - distance) ** 2).sum(), rel=1e-6)
