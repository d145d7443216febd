"""Fixed, learnt and similar codewords, and label noise."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shlcore import SHL, Gaussian, Linear
from shlcore.experiments.codewords import distinct_signs, learn, similarities, with_noise
from shlcore.experiments.datasets import MADE


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:150], y[:150], X[150:250]


def model(**more):
    return SHL(**{"n_bits": 8, "kernels": [Gaussian(1.0)], "random_state": 0} | more)


def test_learning_from_spread_codewords_is_what_the_estimator_does(digits):
    X, y, queries = digits
    outcome = learn(model(), X, y, "spread", learnt=True)
    fitted = model().fit(X, y)
    np.testing.assert_array_equal(outcome.record.codewords, fitted.codewords_)
    np.testing.assert_array_equal(outcome.predict(queries), fitted.predict(queries))
    np.testing.assert_array_equal(outcome.hash(queries), fitted.hash(queries))


@pytest.mark.parametrize("source", ["random", "spread", "similar"])
@pytest.mark.parametrize("count", [1, 2])
def test_fixed_codewords_stay_where_they_are(digits, source, count):
    """Wrong labels and linear functions, with which learnt ones do move."""
    X, y, _ = digits
    labels = with_noise(y, 0.4, 0)
    settings = {"lambda1": 1.0, "n_codewords": count, "lambda2": 0.0, "kernels": [Linear()]}
    outcome = learn(model(**settings), X, labels, source, learnt=False)
    assert outcome.moved == 0
    np.testing.assert_array_equal(outcome.record.codewords, outcome.first)
    assert (np.diff(outcome.record.objective) <= 1e-9 * outcome.record.objective[:-1]).all()
    assert learn(model(**settings), X, labels, source, learnt=True).moved > 0


def test_similarities_are_cosines_of_centred_means():
    rng = np.random.default_rng(0)
    rows, members = rng.normal(size=(30, 4)), np.arange(30) % 3
    means = np.array([rows[members == g].mean(axis=0) for g in range(3)]) - rows.mean(axis=0)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(similarities(rows @ rows.T, members), means @ means.T)


def test_similar_classes_get_similar_codewords():
    """Two pairs of neighbouring classes, far from each other."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [0.3, 0.0], [5.0, 5.0], [5.3, 5.0]])
    X = np.repeat(centres, 20, axis=0) + 0.05 * rng.normal(size=(80, 2))
    y = np.repeat(np.arange(4), 20)
    within, between = [], []
    for seed in range(5):
        start = SHL(n_bits=40, kernels=[Gaussian(1.0)], random_state=seed)
        words = learn(start, X, y, "similar", learnt=False).first[:, 0].astype(float)
        gaps = 0.5 * (40 - words @ words.T)
        within += [gaps[0, 1], gaps[2, 3]]
        between += [gaps[0, 2], gaps[0, 3], gaps[1, 2], gaps[1, 3]]
    assert max(within) < min(between)


def test_repeated_words_flip_their_weakest_bit():
    values = np.array([[1.0, -2.0, 0.5], [3.0, -1.0, 0.1], [1.0, 0.2, -0.3], [2.0, -0.1, 2.0]])
    words = distinct_signs(values)
    np.testing.assert_array_equal(words[0], [1, -1, 1])
    np.testing.assert_array_equal(words[1], [1, -1, -1])
    np.testing.assert_array_equal(words[2], [1, 1, -1])
    np.testing.assert_array_equal(words[3], [1, 1, 1])


def test_all_words_can_be_used():
    words = distinct_signs(np.ones((32, 5)))
    assert len(np.unique(words, axis=0)) == 32


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_exactly_a_share_of_the_labels_is_wrong(share):
    y = np.array(list("abcd") * 25)
    noisy = with_noise(y, share, 3)
    assert (noisy != y).sum() == round(100 * share)
    assert set(noisy) == set("abcd")


@pytest.mark.parametrize("name", MADE)
def test_made_datasets_are_the_same_every_time(name):
    first, second = MADE[name](), MADE[name]()
    assert first.name == name
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
