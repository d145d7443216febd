import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import MinMaxScaler

from shlcore.baselines import KSH, SDH
from shlcore.kernels import Gaussian, Polynomial

KERNELS = [Polynomial(3), Gaussian(0.7)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200], X[200:250]


@pytest.mark.parametrize("method", [KSH, SDH])
def test_given_kernels_act_on_scaled_columns_and_are_averaged(method, digits):
    X, y, queries = digits
    fitted = method(n_anchors=None, kernels=KERNELS, random_state=0).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    rows, asked = scaler.transform(X), scaler.transform(queries)
    wanted = (KERNELS[0].of(asked, rows) + KERNELS[1].of(asked, rows)) / 2
    np.testing.assert_allclose(fitted.similarity_.of(queries), wanted)
    assert not hasattr(fitted, "width_")


@pytest.mark.parametrize("method", [KSH, SDH])
def test_without_kernels_a_gaussian_is_as_wide_as_rows_are_apart(method, digits):
    X, y, queries = digits
    fitted = method(n_anchors=30, random_state=0).fit(X, y)
    squared = ((X[:, None] - fitted.anchors_) ** 2).sum(axis=2)
    assert fitted.width_ == pytest.approx(squared.mean())
    squared = ((queries[:, None] - fitted.anchors_) ** 2).sum(axis=2)
    wanted = np.exp(-squared / (2 * fitted.width_))
    np.testing.assert_allclose(fitted.similarity_.of(queries), wanted)
