"""Output codes against scikit-learn's ridge regression and SVMs."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from shlcore import SHL
from shlcore.baselines import ECOC
from shlcore.kernels import Gaussian, Polynomial

KERNELS = [Polynomial(2), Gaussian(1.5)]


@pytest.fixture(scope="module")
def digits():
    """Return rows, classes, queries, and the mean kernel among rows and to the queries."""
    X, y = load_digits(return_X_y=True)
    X, y, queries = X[:200], y[:200], X[200:260]
    scaler = MinMaxScaler().fit(X)
    rows, asked = scaler.transform(X), scaler.transform(queries)
    means = [sum(k.of(x, rows) for k in KERNELS) / len(KERNELS) for x in (rows, asked)]
    return X, y, queries, *means


def test_ridge_is_that_of_scikit_learn_on_centred_targets(digits):
    X, y, queries, K, K_queries = digits
    method = ECOC(n_bits=6, cost=20.0, kernels=KERNELS, random_state=0).fit(X, y)
    targets = method.codewords_[y]
    means = targets.mean(axis=0)
    peer = KernelRidge(alpha=1 / 20, kernel="precomputed").fit(K, targets - means)
    np.testing.assert_allclose(
        method.project(queries), peer.predict(K_queries) + means, rtol=1e-6, atol=1e-8
    )


def test_ridge_solves_its_normal_equations(digits):
    X, y, *_ = digits
    method = ECOC(n_bits=6, cost=3.0, kernels=KERNELS, random_state=0).fit(X, y)
    residual = method.codewords_[y] - method.project(X)
    np.testing.assert_allclose(residual, method.coefficients_ / 3.0, atol=1e-8)


def test_svms_equal_those_of_scikit_learn(digits):
    X, y, queries, K, K_queries = digits
    method = ECOC(n_bits=6, learner="svm", cost=5.0, kernels=KERNELS, random_state=0).fit(X, y)
    for bit, column in enumerate(method.codewords_[y].T):
        peer = SVC(C=5.0, kernel="precomputed").fit(K, column)
        np.testing.assert_allclose(
            method.project(queries)[:, bit], peer.decision_function(K_queries), atol=1e-8
        )


def test_one_hot_codes_are_one_versus_rest(digits):
    X, y, queries, K, K_queries = digits
    method = ECOC(codebook="one-hot", learner="svm", cost=5.0, kernels=KERNELS).fit(X, y)
    peer = OneVsRestClassifier(SVC(C=5.0, kernel="precomputed")).fit(K, y)
    scores = peer.decision_function(K_queries)
    np.testing.assert_allclose(method.project(queries), scores, atol=1e-8)
    np.testing.assert_array_equal(method.transform(queries), scores > 0)


@pytest.mark.parametrize("seed", range(4))
def test_codewords_equal_the_initial_ones_of_shl(seed, digits):
    X, y, *_ = digits
    model = SHL(n_bits=7, kernels=KERNELS, random_state=seed)
    start = next(model.iter_fit(X, y)).snapshot()
    method = ECOC(n_bits=7, kernels=KERNELS, random_state=seed).fit(X, y)
    np.testing.assert_array_equal(method.codewords_, start.codewords_[:, 0])


def test_a_bit_on_which_all_classes_agree_is_constant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    method = ECOC(n_bits=4, learner="svm", random_state=0).fit(X, np.zeros(20))
    np.testing.assert_array_equal(method.project(X), np.tile(method.codewords_[0], (20, 1)))
