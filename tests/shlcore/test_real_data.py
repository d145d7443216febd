"""Claims of the paper on real data; skipped without the evaluation data."""

import numpy as np
import pytest

from shlcore import SHL
from shlcore.retrieval import rank

pytestmark = [pytest.mark.slow, pytest.mark.data]


@pytest.mark.parametrize(
    ("name", "n_bits", "floor"), [("usps", 25, 0.92), ("usps", 5, 0.87), ("pendigits", 5, 0.97)]
)
def test_top_10_precision_with_1500_training_samples(hashing_data, name, n_bits, floor):
    X, y = hashing_data(name)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1500], order[3000:6000]
    model = SHL.paper(n_bits=n_bits, random_state=0).fit(X[train], y[train])
    ranking = rank(model.hash(X[test]), y[test], model.hash(X[train]), y[train], n_bits=n_bits)
    assert ranking.precision_at([10])[0] >= floor


@pytest.mark.parametrize(
    ("name", "n_train", "n_test"), [("vowel", 330, 220), ("letter", 300, 200)]
)
def test_transduction_is_at_least_as_accurate_as_induction(hashing_data, name, n_train, n_test):
    X, y = hashing_data(name)
    gains = []
    for repeat in range(2):
        chosen = np.random.default_rng(repeat).permutation(len(X))[: n_train + n_test]
        labels = y[chosen].copy()
        labels[n_train:] = -1
        for n_bits in (8, 14):
            transductive, inductive = (
                SHL(n_bits=n_bits, semi_supervised=mode, random_state=repeat)
                .fit(X[chosen], labels)
                .transduction_[n_train:]
                for mode in ("auto", "none")
            )
            truth = y[chosen][n_train:]
            gains.append((transductive == truth).mean() - (inductive == truth).mean())
    assert np.mean(gains) >= -0.01  # its standard error: some 40 of 800 rows differ
