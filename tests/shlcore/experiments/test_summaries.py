"""Corrected errors and verdicts over runs."""

import numpy as np
import pytest
from scipy import stats

from shlcore.experiments.summaries import corrected_error, verdict


def test_the_error_is_the_formula_of_nadeau_and_bengio():
    """sqrt((1 / J + n_test / n_train) S^2), with S^2 the unbiased variance over J runs."""
    values = [0.91, 0.94, 0.90, 0.95, 0.93]
    variance = sum((v - sum(values) / 5) ** 2 for v in values) / 4
    wanted = ((1 / 5 + 500 / 1000) * variance) ** 0.5
    assert corrected_error(values, n_train=1000, n_test=500) == pytest.approx(wanted)
    assert wanted > stats.sem(values)


def test_without_overlap_it_would_be_the_usual_one():
    values = [0.1, 0.4, 0.3]
    assert corrected_error(values, n_train=10**12, n_test=1) == pytest.approx(stats.sem(values))


def test_one_run_has_no_error():
    assert np.isnan(corrected_error([0.5], n_train=10, n_test=5))


@pytest.mark.parametrize(("shift", "wanted"), [(0.05, "win"), (0.0, "tie"), (-0.05, "loss")])
def test_a_verdict_is_about_the_differences(shift, wanted):
    theirs = [0.5, 0.7, 0.6, 0.9, 0.8]  # far apart, but alike from method to method
    noise = [0.004, -0.004, 0.0, 0.002, -0.002]
    ours = [a + shift + e for a, e in zip(theirs, noise, strict=True)]
    assert verdict(ours, theirs, n_train=100, n_test=50) == wanted


def test_a_verdict_is_the_corrected_t_test():
    rng = np.random.default_rng(0)
    for _ in range(50):
        ours, theirs = rng.normal(0.02, 0.01, 5), np.zeros(5)
        error = ours.std(ddof=1) * np.sqrt(1 / 5 + 0.5)
        p = 2 * stats.t.sf(abs(ours.mean() / error), 4)
        wanted = "tie" if p >= 0.05 else "win" if ours.mean() > 0 else "loss"
        assert verdict(ours.tolist(), theirs.tolist(), n_train=100, n_test=50) == wanted


def test_equal_results_and_single_runs_are_ties():
    assert verdict([0.5, 0.5], [0.5, 0.5], n_train=2, n_test=1) == "tie"
    assert verdict([0.9], [0.1], n_train=2, n_test=1) == "tie"


def test_differences_that_never_vary_are_no_tie():
    assert verdict([1.0, 1.0], [0.5, 0.5], n_train=2, n_test=1) == "win"
