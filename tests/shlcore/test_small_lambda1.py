"""A cost so small that nothing can be learnt: no crash, and no class loses its codeword."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from shlcore import SHL, Gaussian
from shlcore.codewords import MemberLoss, apart, classes_share, move_codewords

pytestmark = pytest.mark.filterwarnings("ignore:lambda1")


def test_functions_without_support_rows_are_their_intercepts():
    X, y = load_wine(return_X_y=True)
    model = SHL(lambda1=1e-9, random_state=0).fit(X, y)
    if not len(model._fitted.hash.support_rows):
        np.testing.assert_array_equal(
            model.project(X), np.tile(model._fitted.hash.intercepts, (len(X), 1))
        )
    model = SHL(lambda1=0.01, random_state=0).fit(X, y)
    assert model.predict(X).shape == (178,)


@pytest.mark.parametrize("lambda1", [1e-4, 1e-2, 1.0, 1e5])
@pytest.mark.parametrize("n_codewords", [1, 2])
def test_classes_never_share_a_codeword(lambda1, n_codewords):
    X, y = load_digits(return_X_y=True)
    model = SHL(
        n_bits=6,
        lambda1=lambda1,
        n_codewords=n_codewords,
        lambda2=lambda1,
        kernels=[Gaussian(1.0)],
        max_iter=50,
        random_state=0,
    ).fit(X[:300], y[:300])
    assert not classes_share(model.codewords_)
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0]).all()
    assert model.predict(X[300:400]).shape == (100,)


def test_flips_that_would_merge_two_classes_are_left_out():
    present = np.array([[[1, 1]], [[-1, 1]], [[-1, -1]]], dtype=np.int8)
    wanted = np.ones_like(present)
    gains = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 3.0]])
    assert classes_share(wanted)
    got = apart(wanted, present, gains)
    # The best flip is free, every further one would make a class equal to another.
    np.testing.assert_array_equal(got, [[[1, 1]], [[-1, 1]], [[1, -1]]])
    rng = np.random.default_rng(0)
    for _ in range(30):
        words = np.array([[[1, 1, 1]], [[1, -1, -1]], [[-1, 1, -1]]], dtype=np.int8)
        loss = MemberLoss(rng.normal(size=(20, 3)), rng.integers(0, 3, 20), np.ones(20), 3)
        assert not classes_share(move_codewords(loss, words, 0.0))
