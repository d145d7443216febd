"""Learning from unlabelled samples: label spreading, stages, leave-one-out rounds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.metrics import adjusted_rand_score

from shlcore import SHL, Gaussian, Linear
from shlcore.semi_supervised import NeighbourGraph, class_factors

ROWS = 400


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def few(y, per_class, seed):
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in np.unique(y):
        labels[rng.choice(np.flatnonzero(y == c), per_class, replace=False)] = c
    return labels


def test_unlabelled_samples_help_here_and_on_new_samples(digits):
    X, y = digits
    here, new = [], []
    for seed in range(3):
        labels = few(y[:ROWS], 3, seed)
        unknown = labels == -1
        modes = [
            SHL(semi_supervised=mode, random_state=seed).fit(X[:ROWS], labels)
            for mode in ("none", "spreading", "auto")
        ]
        here.append([(m.transduction_ == y[:ROWS])[unknown].mean() for m in modes])
        new.append([(m.predict(X[ROWS:1200]) == y[ROWS:1200]).mean() for m in modes])
    for inductive, spread, best in (np.mean(here, axis=0), np.mean(new, axis=0)):
        assert best >= inductive + 0.04
        assert best >= spread - 0.005  # on digits, where most labels spread rightly


def test_rows_leave_the_guess_of_the_labelled_rows_alone(digits):
    X, y = digits
    labels = few(y[:ROWS], 2, 0)
    same = {"lambda1": 1000.0, "random_state": 0}
    guess = SHL(semi_supervised="none", **same).fit(X[:ROWS], labels)
    staged = SHL(semi_supervised="spreading", **same).fit(X[:ROWS], labels)
    assert (staged.transduction_ != guess.transduction_).sum() > 20
    np.testing.assert_array_equal(staged.stage_weights_, [1e-3, 3e-2, 1.0])
    paper = SHL(semi_supervised="paper", **same).fit(X[:ROWS], labels)
    assert list(paper.stage_starts_) == [0]
    # The better labels are also those that eq. (6), with full weights, likes better.
    assert staged.objective_[-1] < paper.objective_[-1]
    rounds = SHL(semi_supervised="leave_one_out", **same).fit(X[:ROWS], labels)
    assert (rounds.transduction_ != staged.transduction_).sum() > 10


def test_spread_labels_are_followed_at_any_cost(digits):
    X, y = digits
    labels = few(y[:ROWS], 2, 0)
    scores = [
        (
            SHL(semi_supervised="spreading", lambda1=cost, random_state=0).fit_predict(
                X[:ROWS], labels
            )
            == y[:ROWS]
        ).mean()
        for cost in (1.0, 1000.0)
    ]
    assert scores[0] > scores[1] - 0.03


def test_unlabelled_rows_are_left_out_where_their_guess_loses():
    # Neighbours say nothing here: the class is the sign of one column of twenty.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, 0] > 0).astype(int)
    labels = np.where(np.arange(300) < 150, y, -1)
    kernels = [Linear()]
    model = SHL(kernels=kernels, scale="standard", random_state=0).fit(X, labels)
    alone = SHL(kernels=kernels, scale="standard", semi_supervised="none", random_state=0).fit(
        X, labels
    )
    assert list(model.stage_weights_) == [0.0]
    np.testing.assert_allclose(model.project(X), alone.project(X), atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, alone.transduction_)


def test_no_class_absorbs_the_others(digits):
    X, y = digits
    for seed in range(3):
        labels = few(y[:ROWS], 1, seed)
        shares = np.bincount(SHL(random_state=seed).fit(X[:ROWS], labels).transduction_)
        assert shares.max() <= 0.25 * ROWS
        assert shares.min() >= 0.01 * ROWS


def test_without_labels_the_end_is_better_than_the_start(digits):
    starts, ends = [], []
    for X, y in ((digits[0][:ROWS], digits[1][:ROWS]), load_wine(return_X_y=True)):
        for seed in range(3):
            model = SHL(n_classes=len(np.unique(y)), random_state=seed)
            steps = list(model.iter_fit(X))
            start = next(step for step in steps if step.pass_ended)
            assert model.objective_[-1] < start.objective
            starts.append(adjusted_rand_score(y, start.snapshot().transduction_))
            ends.append(adjusted_rand_score(y, model.transduction_))
    assert np.mean(ends) > np.mean(starts)


def test_labels_spread_along_neighbours():
    X, y = make_moons(200, noise=0.05, random_state=0)
    graph = NeighbourGraph.from_gram(Gaussian(0.3).of(X, X))
    seeds = np.zeros((200, 2))
    for c in (0, 1):
        seeds[np.flatnonzero(y == c)[0], c] = 1.0
    shares = graph.spread(seeds)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == y).mean() > 0.95
    ties = graph.affinity.toarray()
    np.testing.assert_allclose(ties, ties.T)
    # In closed form: the solution of (1 - 0.9 S) F = Y.
    exact = np.linalg.solve(np.eye(200) - 0.9 * ties, seeds) / graph.roots[:, None]
    np.testing.assert_allclose(shares, exact / exact.sum(axis=1, keepdims=True), atol=0.02)


def test_factors_bring_classes_to_their_share():
    shares = np.random.default_rng(0).dirichlet([5, 1, 1], size=500)
    weights = np.random.default_rng(1).random(500)
    prior = np.array([0.2, 0.3, 0.5])
    scaled = shares * class_factors(shares, weights, prior)
    scaled /= scaled.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights @ scaled / weights.sum(), prior, atol=0.01)


def test_both_modes_scale_and_choose_kernels_alike(digits):
    X, y = digits
    labels = few(y[:ROWS], 1, 0)
    one, other = (
        SHL(semi_supervised=mode, random_state=0).fit(X[:ROWS], labels)
        for mode in ("auto", "none")
    )
    assert one.kernels_ == other.kernels_
    for name in ("offsets", "factors"):
        np.testing.assert_array_equal(
            getattr(one._result.hash.scaling, name), getattr(other._result.hash.scaling, name)
        )


def test_training_samples_are_decoded_as_new_ones_are(digits):
    X, y = digits
    labels = few(y[:ROWS], 3, 0)
    model = SHL(random_state=0).fit(X[:ROWS], labels)
    unknown = labels == -1
    same = model.predict(X[:ROWS])[unknown] == model.transduction_[unknown]
    assert same.mean() > 0.99


def test_a_class_called_minus_one():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="label -1 are taken as samples without a label"):
        SHL(random_state=0).fit(X, y - 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".* label -1")
        model = SHL(unlabelled=None, random_state=0).fit(X, y - 1)
    assert list(model.classes_) == [-1, 0, 1]
    assert model.score(X, y - 1) > 0.95
    named = np.array(["red", "white", "?"])[y]
    model = SHL(unlabelled="?", random_state=0).fit(X, named)
    assert list(model.classes_) == ["red", "white"]
    with pytest.raises(ValueError, match=r"got only one class: 1 \(-1 means: no label"):
        SHL().fit(X, np.where(y == 0, -1, 1))
