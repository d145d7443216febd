"""SVMs on several threads: the same fit to the last digit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from shlcore import SHL
from shlcore.descent import BitSolution, BitTask
from shlcore.svm import LibsvmSolver


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:220], y[:220]


def some(y, share):
    return np.where(np.random.default_rng(0).random(len(y)) < share, y, -1)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("n_codewords", [1, 2])
def test_the_number_of_threads_changes_nothing(digits, share, n_codewords):
    X, y = digits

    def steps(n_jobs):
        model = SHL(
            n_bits=8,
            n_codewords=n_codewords,
            unlabelled_weight=0.01,
            n_jobs=n_jobs,
            random_state=0,
        )
        found = [(s.objective, s.block, s.bit) for s in model.iter_fit(X, some(y, share))]
        return model, found

    alone, path = steps(None)
    for n_jobs in (2, 3, -1):
        together, same_path = steps(n_jobs)
        assert same_path == path
        np.testing.assert_array_equal(together.project(X), alone.project(X))
        np.testing.assert_array_equal(together.codewords_, alone.codewords_)
        np.testing.assert_array_equal(together.transduction_, alone.transduction_)


def test_what_was_foreseen_is_not_solved_again(digits, monkeypatch):
    X, y = digits
    solved = []
    solve = LibsvmSolver._solve
    monkeypatch.setattr(LibsvmSolver, "_solve", lambda s, t: solved.append(1) or solve(s, t))
    SHL(n_bits=8, random_state=0).fit(X, y)
    alone = len(solved)
    SHL(n_bits=8, n_jobs=3, random_state=0).fit(X, y)
    assert len(solved) - alone == alone


def test_an_svm_that_changed_is_another_one():
    present = BitSolution("f", np.zeros(3), np.ones(2))
    targets = np.array([1, -1, 1], dtype=np.int8)
    task = BitTask(targets, np.ones(3), np.ones(2), present)
    assert task.is_same_problem(BitTask(targets.copy(), np.ones(3), np.ones(2), present))
    assert not task.is_same_problem(BitTask(-targets, np.ones(3), np.ones(2), present))
    assert not task.is_same_problem(BitTask(targets, 2 * np.ones(3), np.ones(2), present))
    assert not task.is_same_problem(BitTask(targets, np.ones(3), np.zeros(2), present))


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_jobs_are_counted_as_scikit_learn_does(digits, n_jobs):
    with pytest.raises(ValueError, match="n_jobs: wanted None or a nonzero integer"):
        SHL(n_jobs=n_jobs).fit(*digits)
