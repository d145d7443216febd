"""Kernels, lambda1 and codewords chosen by leave-one-out loss."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from shlcore import SHL, Grams
from shlcore.calibration import leave_one_out
from shlcore.kernels import Gaussian
from shlcore.problem import UNLABELLED
from shlcore.selection import COSTS, choose, choose_rows
from shlcore.svm import KernelFunction, solve_svm


def flipped(y, share, seed):
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(len(y))[: round(share * len(y))]
    y = y.copy()
    y[wrong] = (y[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
    return y


def test_defaults_survive_wrong_labels():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:800]
    X, y = X[order], y[order]
    noisy = flipped(y[:400], 0.2, 0)
    scores = {
        cost: SHL(lambda1=cost, probability=False, random_state=0)
        .fit(X[:400], noisy)
        .score(X[400:], y[400:])
        for cost in ("auto", 1000.0)
    }
    assert scores["auto"] > 0.94
    assert scores["auto"] > scores[1000.0] + 0.05


def test_defaults_do_not_collapse_on_many_random_labels():
    X, y = make_classification(
        1400, n_features=12, n_informative=6, n_classes=3, flip_y=0.25, random_state=0
    )
    model = SHL(random_state=0).fit(X[:400], y[:400])
    grid = {"C": [1, 10], "gamma": [0.01, 0.03, 0.1]}
    peer = GridSearchCV(SVC(), grid, cv=3).fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert model.score(X[400:], y[400:]) > peer - 0.05


def test_the_units_of_weights_and_kernels_do_not_matter():
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:150] / 16, flipped(y[:150], 0.1, 0)
    grams, ten = (Grams(np.stack([scale * Gaussian(1.0).of(X, X)])) for scale in (1.0, 10.0))
    one = choose([grams], y, np.ones(150), 2.0, n_codewords=1, n_bits=None)
    assert one.lambda1 in COSTS
    assert choose(
        [grams], y, np.full(150, 7.0), 2.0, n_codewords=1, n_bits=None
    ).lambda1 == pytest.approx(one.lambda1 / 7)
    assert choose(
        [ten], y, np.ones(150), 2.0, n_codewords=1, n_bits=None
    ).lambda1 == pytest.approx(one.lambda1 / 10)


def test_the_better_kernels_are_chosen():
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = (np.sin(6 * X[:, 0]) > X[:, 1]).astype(int)
    noise, good = (Grams(np.stack([Gaussian(s).of(X, X)])) for s in (1e-3, 0.3))
    assert choose([noise, good], y, np.ones(120), 2.0, n_codewords=1, n_bits=None).bank == 1
    assert choose([good, noise], y, np.ones(120), 2.0, n_codewords=1, n_bits=None).bank == 0


def test_leave_one_out_is_close_to_fits_without_the_row():
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = np.where(X.sum(axis=1) + 0.2 * rng.normal(size=60) > 1, 1, -1).astype(np.int8)
    grams, costs, theta = Grams(np.stack([Gaussian(0.3).of(X, X)])), np.ones(60), np.ones(1)
    svm = solve_svm(grams, theta, y, costs)
    function = KernelFunction(svm.support, svm.coefficients, theta, svm.intercept)
    found = leave_one_out(grams.weighted_sum, [function], svm.projections[:, None], costs)[:, 0]
    truth = [
        solve_svm(grams, theta, y, np.where(np.arange(60) == row, 0.0, 1.0)).projections[row]
        for row in range(60)
    ]
    assert np.mean(np.sign(found) == np.sign(truth)) > 0.95
    assert np.abs(found - truth).mean() < 0.1


@pytest.mark.parametrize("solver", ["exact", "random_features"])
def test_several_codewords_are_chosen_where_linear_functions_need_them(solver):
    rng = np.random.default_rng(0)
    centres = rng.random((6, 2)) * 10
    group = rng.integers(0, 6, 700)
    X, y = centres[group] + 0.3 * rng.normal(size=(700, 2)), group % 2
    same = {"kernels": "linear", "scale": "standard", "solver": solver, "random_state": 0}
    some = SHL(n_codewords="auto", **same).fit(X[:300], y[:300])
    one = SHL(**same).fit(X[:300], y[:300])
    assert some.codewords_.shape[1] > 1
    assert some.score(X[300:], y[300:]) > one.score(X[300:], y[300:]) + 0.05
    good = SHL(n_codewords="auto", random_state=0).fit(X[:300], y[:300])
    assert good.codewords_.shape[1] == 1  # kernels that can follow any codewords need one


def test_rows_are_chosen_in_proportion():
    labels = np.repeat([0, 1, UNLABELLED], [3000, 1000, 500])
    rows = choose_rows(labels)
    assert len(rows) == 400
    np.testing.assert_array_equal(np.bincount(labels[rows]), [300, 100])


def test_rows_are_chosen_from_any_number():
    for count in range(1, 2000):
        rows = choose_rows(np.zeros(count, dtype=int))
        assert len(np.unique(rows)) == len(rows) == min(count, 400)


def test_few_labels_take_a_fixed_cost():
    X = np.random.default_rng(0).random((30, 2))
    labels = np.full(30, -1)
    labels[:4] = [0, 0, 1, 1]
    assert list(SHL(random_state=0).fit(X, labels).stage_costs_) == [1.0]
