"""Probabilities, calibration, and leave-one-out values against refits."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from shlcore import SHL, Gaussian, Linear, ModelFileError
from shlcore.calibration import is_at_bound, learn_temperature, log_probabilities, squared_spans
from shlcore.fit_result import dump, restore
from shlcore.gram_matrices import Grams
from shlcore.svm import solve_svm


def split(load, seed=0, size=0.5):
    X, y = load(return_X_y=True)
    return train_test_split(X, y, test_size=size, random_state=seed, stratify=y)


def calibration_error(shares, y, bins=10):
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == y
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [
        abs((right[place == b]).mean() - sure[place == b].mean()) * (place == b).mean()
        for b in np.unique(place)
    ]
    return float(sum(gaps))


def brier(shares, y):
    return float(((shares - np.eye(shares.shape[1])[y]) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_as_well_calibrated_as_a_calibrated_svc(load):
    X, new, y, wanted = split(load)
    peer = CalibratedClassifierCV(SVC(C=10.0, gamma=10.0 / X.shape[1]), ensemble=False)
    theirs = make_pipeline(MinMaxScaler(), peer).fit(X, y).predict_proba(new)
    model = SHL(random_state=0).fit(X, y)
    ours = model.predict_proba(new)
    assert calibration_error(ours, wanted) < max(0.03, calibration_error(theirs, wanted))
    assert brier(ours, wanted) < brier(theirs, wanted) + 0.01
    # Sure and sharp at once: nearly as good as the best temperature that hindsight finds.
    scores = model.decision_function(new)
    scores = scores if scores.ndim == 2 else np.column_stack([-scores, scores]) / 2
    best = learn_temperature(scores, wanted, np.ones(len(wanted)))
    assert brier(ours, wanted) < 1.1 * brier(np.exp(log_probabilities(scores, best)), wanted)


@pytest.mark.parametrize(
    ("settings", "share", "most"),
    [
        ({"solver": "random_features", "n_components": 300, "n_bits": 15}, 1.0, 0.05),
        ({}, 0.1, 0.08),
    ],
)
def test_calibrated_with_random_features_and_with_few_labels(settings, share, most):
    X, new, y, wanted = split(load_digits, size=0.6)
    told = np.where(np.random.default_rng(0).random(len(y)) < share, y, -1)
    model = SHL(random_state=0, **settings).fit(X, told)
    assert calibration_error(model.predict_proba(new), wanted) < most


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"decoding": "hamming", "n_bits": 5},
        {"solver": "random_features", "n_components": 60},
        {"n_codewords": 2},
        {"class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 5.0, 2: 1.0}, "lambda1": 0.5},
        {"kernels": [Linear()], "lambda1": 0.01},
    ],
)
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.filterwarnings("ignore:lambda1", "ignore:SHL stopped after max_iter")
def test_they_sum_to_one_and_agree_with_predict(settings, share):
    X, y = load_iris(return_X_y=True)
    keep = np.random.default_rng(0).random(len(y)) < share
    keep[[0, 50, 100]] = True
    model = SHL(random_state=0, **settings).fit(X, np.where(keep, y, -1))
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    assert shares.dtype == np.float64
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    assert 0 < model.temperature_ < np.inf


def test_without_labels_and_with_two_classes():
    X, y = load_iris(return_X_y=True)
    shares = SHL(n_classes=3, random_state=0).fit(X).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    two = SHL(random_state=0).fit(X[:100], y[:100])
    shares = two.predict_proba(X[:100])
    raised = two.decision_function(X[:100]) > 0
    np.testing.assert_array_equal(shares[:, 1] > 0.5, raised)
    assert shares.shape == (100, 2)


def test_given_matrices_have_the_probabilities_of_their_rows():
    X, y = load_iris(return_X_y=True)
    kernel = Gaussian(1.0)
    by_rows = SHL(kernels=[kernel], scale=None, random_state=0).fit(X, y)
    given = SHL(kernels="precomputed", random_state=0).fit(kernel.of(X, X)[None], y)
    found = given.predict_proba(kernel.of(X[:9], X)[None])
    np.testing.assert_allclose(found, by_rows.predict_proba(X[:9]), atol=0.02)


def test_copies_and_files_predict_alike(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SHL(random_state=0).fit(X, y)
    wanted = model.predict_proba(X)
    model.save(tmp_path / "model.shl")
    for copy in (pickle.loads(pickle.dumps(model)), SHL.load(tmp_path / "model.shl")):
        np.testing.assert_array_equal(copy.predict_proba(X), wanted)
    assert not hasattr(clone(model), "temperature_")


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), 1e300, "1", [1.0], True])
def test_an_invalid_temperature_is_refused(bad):
    X, y = load_iris(return_X_y=True)
    model = SHL(random_state=0).fit(X, y)
    header, arrays = dump(model.get_params(deep=False), model._result)
    with pytest.raises(ModelFileError, match="do not fit together"):
        restore(header | {"temperature": bad}, arrays, "model.shl", model.get_params(deep=False))


def test_predict_proba_needs_a_fit_with_probability():
    X, y = load_iris(return_X_y=True)
    model = SHL(probability=False, random_state=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError):
        model.predict_proba(X)
    assert hasattr(SHL(), "predict_proba")
    model.set_params(probability=True)
    with pytest.raises(NotFittedError, match="probability=True"):
        model.predict_proba(X)
    with_them = SHL(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.project(X), with_them.project(X))


def test_probability_scorers_accept_it():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_score(SHL(random_state=0), X, y, scoring="neg_log_loss", cv=3)
    assert scores.min() > -0.4


def test_the_temperature_is_the_one_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 5, (20000, 4))
    truth = [rng.choice(4, p=p) for p in softmax(scores / 3.0, axis=1)]
    found = learn_temperature(scores, np.array(truth), np.ones(20000))
    assert found == pytest.approx(3.0, rel=0.05)
    # Repeated rows and weights say the same.
    doubled = learn_temperature(scores[:50], np.array(truth[:50]), np.full(50, 2.0))
    twice = learn_temperature(
        np.repeat(scores[:50], 2, axis=0), np.repeat(truth[:50], 2), np.ones(100)
    )
    assert doubled == pytest.approx(twice, rel=1e-4)


@pytest.mark.parametrize("cost", [0.05, 1.0, 1000.0])
def test_the_span_rule_is_near_refits(cost):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    targets = np.where(X[:, 0] + 0.6 * rng.normal(size=40) > 0, 1, -1).astype(np.int8)
    gram = Gaussian(0.7).of(X, X)
    grams, theta, costs = Grams(gram[None]), np.ones(1), np.full(40, cost)
    svm = solve_svm(grams, theta, targets, costs)
    free = np.abs(svm.coefficients) < cost * (1 - 1e-6)
    spans = squared_spans(gram[np.ix_(svm.support, svm.support)], free)
    guessed = svm.projections.copy()
    guessed[svm.support] -= svm.coefficients * spans
    found = np.empty(40)
    for i in range(40):
        rest = costs.copy()
        rest[i] = 0.0
        found[i] = solve_svm(grams, theta, targets, rest).projections[i]
    # Exact while the others stay what they are; on the whole far nearer than f itself.
    held, naive = np.abs(guessed - found).mean(), np.abs(svm.projections - found).mean()
    assert held < 0.5 * naive
    assert np.corrcoef(guessed, found)[0, 1] > 0.9


def test_spans_of_a_kernel_without_full_rank_are_finite():
    X = np.random.default_rng(0).normal(size=(12, 2))
    for free in (np.ones(12, bool), np.zeros(12, bool), np.arange(12) < 6):
        spans = squared_spans(X @ X.T, free)
        assert np.isfinite(spans).all()
        assert (spans >= 0).all()


def test_a_contradictory_pair_leaves_probabilities_informative():
    rng = np.random.RandomState(0)
    X = rng.randn(1200, 5)
    y = (X[:, 0] + 0.3 * rng.randn(1200) > 0).astype(int)
    some, labels = X[:300].copy(), y[:300].copy()
    some[1] = some[0]
    labels[:2] = [0, 1]
    model = SHL(random_state=0).fit(some, labels)
    assert log_loss(y[300:], model.predict_proba(X[300:])) < 0.35
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-12
    )


def test_a_temperature_at_its_bound_is_reported():
    X = np.arange(60.0)[:, None]  # neighbours always have another label
    model = SHL(kernels=[Gaussian(0.02)], random_state=0).fit(X, np.arange(60) % 2)
    assert is_at_bound(model.temperature_)
    with pytest.warns(ConvergenceWarning, match="probabilities are equal for all classes"):
        model.predict_proba(X)
