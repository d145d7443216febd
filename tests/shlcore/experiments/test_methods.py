"""Kernel banks, compared methods and rankings."""

import numpy as np
import pytest

from shlcore import SHL
from shlcore.experiments.methods import (
    BANKS,
    METHODS,
    kernels_for,
    method_name,
    open_methods,
    rank_by_score,
)
from shlcore.kernels import Gaussian, Polynomial, paper_kernels


def sigmas(X):
    """Return the widths that follow neighbours; the last one of the bank sees the whole."""
    found = [kernel.sigma for kernel in kernels_for(X) if isinstance(kernel, Gaussian)]
    return np.array(found[:-1])


def test_bandwidths_follow_the_distance_of_neighbours():
    """Points of a grid from 0 to 1 have neighbours 1/100 apart, whatever their unit."""
    grid = np.linspace(0, 1, 101)[:, None]
    np.testing.assert_allclose(sigmas(grid), 0.01 * 2.0 ** np.array([-0.5, 0, 0.5, 1, 2]))
    np.testing.assert_allclose(sigmas(1000 * grid - 7), sigmas(grid))


def test_repeated_rows_do_not_shrink_the_bandwidths():
    grid = np.linspace(0, 1, 101)[:, None]
    np.testing.assert_allclose(sigmas(np.repeat(grid, 3, axis=0)), sigmas(grid))


def test_rows_that_are_all_the_same_still_have_kernels():
    kernels = kernels_for(np.ones((9, 3)))
    assert {type(kernel) for kernel in kernels} == {Polynomial, Gaussian}


@pytest.mark.parametrize("bank", BANKS)
def test_all_methods_with_open_kernels_get_the_same_ones(bank):
    X = np.random.default_rng(0).random((30, 2))
    banks = {
        tuple(METHODS[name].hasher(5, 0, X, bank).kernels) for name in open_methods([*METHODS])
    }
    assert banks == {tuple(kernels_for(X, bank))}
    assert len(open_methods([*METHODS])) == 9


def test_banks_have_the_kernels_of_their_names():
    X = np.random.default_rng(0).random((30, 2))
    fitted = SHL(lambda1=1.0).fit(X, np.arange(30) % 2)  # the first of two sets
    assert kernels_for(X, "auto") == list(fitted.kernels_)
    assert kernels_for(X, "paper") == list(paper_kernels())
    (gaussian,) = kernels_for(X, "gaussian")
    rows = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    mean = ((rows[:, None] - rows) ** 2).sum(axis=2).mean()
    assert gaussian.sigma == pytest.approx(np.sqrt(mean))
    with pytest.raises(ValueError, match="bank: wanted one of auto, gaussian, paper, got 'odd'"):
        kernels_for(X, "odd")


def test_the_papers_settings_and_the_published_ones_are_compared():
    X = np.random.default_rng(0).random((30, 2))
    paper = METHODS["*SHL-paper"].hasher(5, 0, X).get_params()
    assert paper == SHL.paper(n_bits=5, probability=False, random_state=0).get_params()
    for name, anchors in (("KSH", 300), ("SDH", 1000), ("KSH-same", None), ("SDH-same", None)):
        assert METHODS[name].hasher(5, 0, X).n_anchors == anchors
    for name in ("KSH", "KSH-same"):  # all labels that *SHL sees
        assert METHODS[name].hasher(5, 0, X).n_labelled is None


@pytest.mark.parametrize("text", ["SHL", "*SHL", "shl"])
def test_the_star_is_optional(text):
    assert method_name(text) == "*SHL"


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match=r"wanted some of \*SHL, .* got 'PCA'"):
        method_name("PCA")


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_the_given_length_and_seed(name):
    hasher = METHODS[name].hasher(7, 3, np.random.default_rng(0).random((30, 2)))
    assert (hasher.n_bits, hasher.random_state) == (7, 3)


def test_ranking_by_score_is_that_of_a_sorted_list():
    rng = np.random.default_rng(0)
    queries, database = rng.normal(size=(7, 3)), rng.normal(size=(20, 3))
    wanted, labels = rng.integers(3, size=7), rng.integers(3, size=20)
    ranking = rank_by_score(queries, wanted, database, labels)
    precisions, areas = [], []
    for scores, label in zip(queries, wanted, strict=True):
        best = max(range(3), key=lambda c: scores[c])
        order = sorted(range(20), key=lambda row: -database[row, best])
        hits = [int(labels[row] == label) for row in order]
        precisions.append(sum(hits[:5]) / 5)
        found = [sum(hits[: i + 1]) / (i + 1) for i in range(20) if hits[i]]
        areas.append(np.mean(found))
    np.testing.assert_allclose(ranking.precision_at([5])[0], np.mean(precisions))
    np.testing.assert_allclose(ranking.mean_average_precision(), np.mean(areas))
