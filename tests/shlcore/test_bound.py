"""Theorem 1 as printed, and the valid bound."""

import numpy as np
import pytest

from shlcore import SHL, Gaussian, Linear
from shlcore.bound import margin_bound, theorem_1


def learnt(X, y, kernels, n_bits=3, seed=0, lambda1=10.0):
    return SHL(
        n_bits=n_bits,
        kernels=kernels,
        scale=None,
        unlabelled=None,
        lambda1=lambda1,
        random_state=seed,
    ).fit(X, y)


def true_error(model, X, y):
    words = model.codewords_[np.searchsorted(model.classes_, y), 0] > 0
    return float((model.transform(X).astype(bool) != words).mean())


def test_the_counterexample_to_theorem_1():
    rng = np.random.default_rng(0)
    X, new = rng.random((2000, 10)), rng.random((4000, 10))
    y, wanted = rng.integers(0, 2, 2000), rng.integers(0, 2, 4000)
    model = learnt(X, y, [Gaussian(0.02)], n_bits=1, lambda1=1000.0)
    error = true_error(model, new, wanted)
    assert error > 0.47
    assert theorem_1(model, X, y).total == pytest.approx(0.383, abs=0.01)
    assert margin_bound(model, X, y).total > error


@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_the_margin_bound_is_never_below_the_true_error(noise):
    rng = np.random.default_rng(1)

    def draw(n):
        X = rng.random((n, 2))
        y = (X[:, 0] + X[:, 1] > 1).astype(int)
        flip = rng.random(n) < noise
        return X, np.where(flip, rng.integers(0, 2, n), y)

    new, wanted = draw(5000)
    for seed in range(10):
        X, y = draw(int(rng.choice([50, 200, 500])))
        model = learnt(X, y, [Gaussian(rng.choice([0.05, 0.5, 2.0])), Linear()], seed=seed)
        bound = margin_bound(model, X, y, rho=float(rng.choice([0.5, 1.0])))
        assert bound.total >= true_error(model, new, wanted)


def test_it_falls_with_the_root_of_the_number_of_samples():
    """And says something: below 1 for an easy problem with enough samples."""
    rng = np.random.default_rng(0)
    totals = []
    for n in (1000, 4000):
        X = np.concatenate([rng.normal(-1, 0.1, (n // 2, 2)), rng.normal(1, 0.1, (n // 2, 2))])
        y = np.repeat([0, 1], n // 2)
        model = learnt(X, y, [Gaussian(2.0)], n_bits=1, lambda1=0.05)
        totals.append(margin_bound(model, X, y, fixed_codewords=True))
    assert totals[1].confidence == pytest.approx(totals[0].confidence / 2, rel=0.05)
    assert totals[1].total < 0.5
