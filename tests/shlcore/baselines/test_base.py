"""The common contract of the baselines, and kernels with anchors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from shlcore import baselines, hamming, retrieval
from shlcore.baselines import KSH, SDH
from shlcore.kernels import Gaussian, Polynomial

EVERY = [
    baselines.LSH(),
    baselines.SpectralHashing(),
    baselines.AnchorGraphHashing(),
    baselines.AnchorGraphHashing(n_layers=2),
    baselines.BRE(),
    baselines.KSH(),
    baselines.ITQ(),
    baselines.SDH(),
    baselines.ECOC(),
    baselines.ECOC(learner="svm"),
]


@pytest.mark.contract
@pytest.mark.slow
@parametrize_with_checks(EVERY)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400], X[400:700], y[400:700]


@pytest.mark.parametrize("method", EVERY, ids=repr)
@pytest.mark.parametrize("n_bits", [7, pytest.param(70, marks=pytest.mark.slow)])
def test_codes_of_any_length_find_neighbours_of_the_same_class(method, n_bits, digits):
    """Digits have 64 columns: 70 bits are more than any method has principal components."""
    X, y, queries, wanted = digits
    fitted = clone(method).set_params(n_bits=n_bits, random_state=0).fit(X, y)
    codes = fitted.transform(queries)
    assert codes.shape == (300, n_bits)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(hamming.unpack(fitted.hash(queries), n_bits), codes)
    found = retrieval.rank(fitted.hash(queries), wanted, fitted.hash(X), y, n_bits=n_bits)
    assert found.precision_at([10])[0] > (0.3 if n_bits == 7 else 0.5)  # by chance: 0.1


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_the_seed_decides(method, digits):
    X, y, queries, _ = digits
    codes = [clone(method).set_params(random_state=3).fit(X, y).transform(queries) for _ in "ab"]
    np.testing.assert_array_equal(*codes)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (baselines.LSH(n_bits=0), "n_bits: wanted at least 1, got 0"),
        (baselines.AnchorGraphHashing(n_layers=3), "n_layers: wanted 1 or 2, got 3"),
        (baselines.AnchorGraphHashing(n_nearest=0), "n_nearest: wanted at least 1, got 0"),
        (baselines.AnchorGraphHashing(n_bits=9, n_anchors=9), "n_bits: wanted at most 8"),
        (baselines.ITQ(n_iter=-1), "n_iter: wanted 0 or more, got -1"),
        (baselines.ECOC(n_bits=3), "n_bits: wanted enough bits for 10 distinct codewords"),
        (baselines.ECOC(codebook="dense"), "codebook: wanted one of .* got 'dense'"),
        (baselines.ECOC(learner="tree"), "learner: wanted one of .* got 'tree'"),
        (baselines.ECOC(cost=0), "cost: wanted a number above 0, got 0"),
    ],
    ids=repr,
)
def test_wrong_settings_are_named(method, message, digits):
    with pytest.raises(ValueError, match=message):
        method.fit(digits[0], digits[1])


@pytest.mark.parametrize("method", [baselines.KSH(), baselines.SDH(), baselines.ECOC()], ids=repr)
def test_supervised_methods_require_classes(method, digits):
    with pytest.raises(ValueError, match="requires y to be passed"):
        method.fit(digits[0])


KERNELS = [Polynomial(3), Gaussian(0.7)]


@pytest.fixture(scope="module")
def few_digits():
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200], X[200:250]


@pytest.mark.parametrize("method", [KSH, SDH])
def test_given_kernels_act_on_scaled_columns_and_are_averaged(method, few_digits):
    X, y, queries = few_digits
    fitted = method(n_anchors=None, kernels=KERNELS, random_state=0).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    rows, asked = scaler.transform(X), scaler.transform(queries)
    wanted = (KERNELS[0].of(asked, rows) + KERNELS[1].of(asked, rows)) / 2
    np.testing.assert_allclose(fitted.similarity_.of(queries), wanted)
    assert not hasattr(fitted, "width_")


@pytest.mark.parametrize("method", [KSH, SDH])
def test_without_kernels_a_gaussian_is_as_wide_as_rows_are_apart(method, few_digits):
    X, y, queries = few_digits
    fitted = method(n_anchors=30, random_state=0).fit(X, y)
    squared = ((X[:, None] - fitted.anchors_) ** 2).sum(axis=2)
    assert fitted.width_ == pytest.approx(squared.mean())
    squared = ((queries[:, None] - fitted.anchors_) ** 2).sum(axis=2)
    wanted = np.exp(-squared / (2 * fitted.width_))
    np.testing.assert_allclose(fitted.similarity_.of(queries), wanted)
