"""Distances to codewords and the rejection of unknown classes, against closed forms."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import roc_auc_score

from shlcore import SHL, Gaussian
from shlcore.calibration import RESIDUAL_RIDGE, residuals
from shlcore.hinge import expected_hinge_distances, hinge_distances
from shlcore.kernels import paper_kernels


def test_expected_distances_are_means_of_normal_draws():
    rng = np.random.default_rng(0)
    f, deviations = rng.normal(size=(4, 3)), np.array([0.0, 0.3, 2.0, 50.0])
    words = rng.choice(np.array([-1, 1], dtype=np.int8), size=(2, 2, 3))
    draws = f + deviations[:, None] * rng.standard_normal((200_000, 4, 3))
    means = hinge_distances(draws.reshape(-1, 3), words).reshape(-1, 4, 2, 2).mean(axis=0)
    found = expected_hinge_distances(f, deviations, words)
    np.testing.assert_allclose(found, means, rtol=0.02)
    np.testing.assert_allclose(found[0], hinge_distances(f[:1], words)[0])


def test_residuals_of_training_rows_are_those_of_fits_without_them():
    X = np.random.default_rng(0).random((30, 2))
    kernel = Gaussian(0.2).of(X, X)
    support = np.arange(0, 30, 2)
    found = residuals(kernel, support, 1.0)
    for row in (0, 1, 8):
        others = support[support != row]
        among = kernel[np.ix_(others, others)] + RESIDUAL_RIDGE * np.eye(len(others))
        cross = kernel[row, others]
        left = 1.0 - cross @ np.linalg.solve(among, cross)
        assert found[row] == pytest.approx(left)


def test_the_variance_is_that_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    X, new = rng.random((40, 2)), 2 * rng.random((20, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = SHL(kernels=[Gaussian(0.3)], scale=None, lambda1=1e-3, random_state=0)
    with pytest.warns(UserWarning, match="lambda1"):
        model.fit(X, y)
    hash_ = model._result.hash
    process = GaussianProcessRegressor(RBF(0.3), alpha=RESIDUAL_RIDGE, optimizer=None)
    process.fit(hash_.support_rows, np.zeros(len(hash_.support_rows)))
    _, deviations = process.predict(new, return_std=True)
    found = hash_.residuals(model._rows(new, reset=False))
    np.testing.assert_allclose(found, deviations**2, atol=1e-6)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    train = np.flatnonzero(y < 7)[:300]
    rest = np.setdiff1d(np.arange(900), train)
    return X[train], y[train], X[rest], y[rest]


@pytest.mark.parametrize("solver", ["exact", "random_features"])
def test_unknown_digits_are_far_and_are_rejected(digits, solver, tmp_path):
    X, y, new, truth = digits
    model = SHL(solver=solver, n_components=40, random_state=0).fit(X, y)
    known = truth < 7
    distances = model.codeword_distance(new)
    assert roc_auc_score(known, -distances) > 0.9
    found = model.predict(new, reject=0.1)
    assert 0.02 < found.mask[known].mean() < 0.2
    assert found.mask[~known].mean() > 0.7
    assert (found[known] == truth[known]).mean() > 0.95
    np.testing.assert_array_equal(found.data, model.predict(new))
    model.save(tmp_path / "model")
    again = SHL.load(tmp_path / "model")
    np.testing.assert_allclose(again.codeword_distance(new), distances)
    np.testing.assert_array_equal(again.predict(new, reject=0.1).mask, found.mask)


def test_precomputed_kernels_have_plain_distances(digits):
    X, y, new, _ = digits
    X, new = X / 16, new / 16
    kernels = [kernel.of(X, X) for kernel in paper_kernels()]
    cross = [kernel.of(new, X) for kernel in paper_kernels()]
    model = SHL(kernels="precomputed", random_state=0).fit(np.stack(kernels), y)
    distances = model.codeword_distance(np.stack(cross))
    plain = hinge_distances(model.project(np.stack(cross)), model.codewords_).min(axis=(1, 2))
    np.testing.assert_allclose(distances, plain)
    assert model.predict(np.stack(cross), reject=0.05).mask.any()


def test_wrong_shares_and_fits_without_calibration_are_refused(digits):
    X, y, *_ = digits
    model = SHL(lambda1=1.0, probability=False, random_state=0).fit(X, y)
    for share in (1.0, -0.1, "x"):
        with pytest.raises(ValueError, match="reject: wanted a share from 0 to below 1, got"):
            model.predict(X, reject=share)
    with pytest.raises(NotFittedError, match="reject: wanted a fit with probability=True"):
        model.predict(X, reject=0.1)
    assert not np.ma.isMaskedArray(model.predict(X))


@pytest.mark.parametrize("words", [[[1, 1, -1], [-1, -1, 1]], [[[1, 1]], [[-1, 1]]]])
def test_given_codewords_stay(words):
    X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    y = np.repeat([0, 1], 3)
    model = SHL(codewords=words, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.codewords_.reshape(2, -1), np.reshape(words, (2, -1)))
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codewords": "fixed"}, r"codewords: wanted one of \('auto', 'spread', 'learnt'\)"),
        ({"codewords": [[1, 0], [0, 1]]}, "codewords: wanted -1 and 1, got other values"),
        ({"codewords": [[1, 1], [1, 1]]}, "codewords: wanted different ones for each class"),
        ({"codewords": [1, -1]}, r"codewords: wanted an array \(C, B\) or \(C, S, B\)"),
        ({"codewords": [[1, -1], [-1, 1]], "n_bits": 3}, "codewords: wanted n_bits=3, got"),
        ({"codewords": np.eye(3) * 2 - 1}, "codewords: wanted those of 2 classes, got 3"),
    ],
)
def test_wrong_codewords_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SHL(**changes).fit([[0.0], [1.0]], [0, 1])
