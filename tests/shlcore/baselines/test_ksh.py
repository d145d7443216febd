"""Kernel-Based Supervised Hashing: residual, eigenproblem, refinement."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_digits

from shlcore.baselines import KSH
from shlcore.baselines.ksh import PairResidual, _best_candidate, _pair_labels, _spectral


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def test_the_loss_falls_with_every_bit_and_is_that_of_the_codes(digits):
    X, y = digits
    method = KSH(n_bits=10, n_anchors=50, random_state=0).fit(X, y)
    assert (np.diff(method.losses_) < 0).all()
    codes = 2.0 * method.transform(X) - 1
    wanted = np.where(y[:, None] == y, 10, -10)
    assert method.losses_[-1] == pytest.approx(((codes @ codes.T - wanted) ** 2).sum())


def test_refining_a_bit_never_hurts_it(digits):
    """The first bit from the refinement fits at least as well as the eigenproblem's."""
    X, y = digits
    plain = KSH(n_bits=1, n_anchors=50, max_iter=0, random_state=0).fit(X, y)
    refined = KSH(n_bits=1, n_anchors=50, random_state=0).fit(X, y)
    assert refined.losses_[-1] <= plain.losses_[-1]
    assert refined.n_iter_ > 0


def dense(residual):
    return residual.columns @ np.diag(residual.factors) @ residual.columns.T


def test_the_residual_is_the_pair_labels_less_the_bits():
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=20)
    bits = rng.choice([-1.0, 1.0], (2, 20))
    wanted = 5 * np.where(classes[:, None] == classes, 1.0, -1.0) - bits.T @ bits
    residual = _pair_labels(classes, 5).subtract(bits[0]).subtract(bits[1])
    np.testing.assert_allclose(dense(residual), wanted, atol=1e-12)
    np.testing.assert_allclose(residual.times(bits[1]), wanted @ bits[1])
    assert residual.squared_norm() == pytest.approx((wanted**2).sum())


def test_none_means_all_anchors_and_all_labels(digits):
    X, y = digits
    method = KSH(n_bits=2, n_anchors=None, n_labelled=None, random_state=0).fit(X, y)
    assert len(method.anchors_) == len(X)
    wanted = np.where(y[:, None] == y, 2, -2)
    assert method.losses_[0] == pytest.approx((wanted**2).sum())


def test_the_spectral_start_is_the_best_direction():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(30, 4))
    factored = PairResidual(rng.normal(size=(30, 6)), rng.normal(size=6))
    residual = dense(factored)
    best = _spectral(K, factored, np.linalg.cholesky(K.T @ K))
    assert (K @ best) @ (K @ best) == pytest.approx(30)
    for _ in range(200):
        other = rng.normal(size=4)
        projected = K @ other * np.sqrt(30) / np.linalg.norm(K @ other)
        assert projected @ residual @ projected <= (K @ best) @ residual @ (K @ best) + 1e-9


def test_the_better_bit_is_judged_by_its_signs():
    K = np.eye(2)
    residual = PairResidual(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([-1.0, 2.0]))
    separate, together = np.array([1.0, -0.1]), np.array([9.0, 9.0])
    assert _best_candidate(K, residual, together, separate) is separate


def test_the_smoothed_loss_has_the_right_gradient(digits, monkeypatch):
    from shlcore.baselines import ksh

    seen = []

    def look(loss, start, **_):
        error = check_grad(lambda a: loss(a)[0], lambda a: loss(a)[1], start)
        seen.append(error / np.linalg.norm(loss(start)[1]))
        return type("Found", (), {"x": start, "nit": 1})

    monkeypatch.setattr(ksh, "minimize", look)
    KSH(n_bits=2, n_anchors=8, n_labelled=60, random_state=0).fit(*digits)
    assert max(seen) < 1e-4
