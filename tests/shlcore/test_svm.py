"""Gamma and blocks 1 and 2 against certificates and other solvers; threads."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from shlcore import SHL, Grams, paper_kernels
from shlcore.descent import BitSolution, BitTask
from shlcore.hinge import hinge_distances, nearest_codewords
from shlcore.kernels import KernelBank
from shlcore.mkl import uniform_weights, weigh_kernels
from shlcore.svm import LibsvmSolver, duality_gap, solve_svm


@given(st.integers(0, 10_000))
def test_gamma_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    n_classes, s, n_bits = 3, 2, 4
    f = rng.normal(size=(9, n_bits))
    codewords = rng.choice(np.array([-1, 1], dtype=np.int8), size=(n_classes, s, n_bits))
    labels = rng.integers(-1, n_classes, 9)
    distances = hinge_distances(f, codewords)
    members, nearest = nearest_codewords(distances, labels)
    for n in range(9):
        classes = range(n_classes) if labels[n] == -1 else [labels[n]]
        expected = {
            (c, k): sum(max(0.0, 1 - codewords[c, k, b] * f[n, b]) for b in range(n_bits))
            for c, k in itertools.product(classes, range(s))
        }
        assert nearest[n] == pytest.approx(min(expected.values()))
        assert expected[tuple(np.divmod(members[n], s))] == pytest.approx(nearest[n])


@pytest.mark.parametrize("p", [1.1, 2.0, 5.0])
def test_kernel_weights_minimise_their_block(p):
    norms = np.array([0.3, 2.0, 1e-3, 5.0])
    theta = weigh_kernels(norms, uniform_weights(4, p), p)
    assert np.linalg.norm(theta, p) == pytest.approx(1.0)

    def value(log_theta):
        free = np.exp(log_theta)
        return 0.5 * (norms / (free / np.linalg.norm(free, p))).sum()

    best = min(
        minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-9, "maxiter": 4000}).fun
        for start in np.random.default_rng(0).normal(size=(3, 4))
    )
    assert 0.5 * (norms / theta).sum() == pytest.approx(best, rel=1e-5)


def test_kernel_weights_stay_when_all_norms_are_zero():
    before = np.array([[0.6, 0.8], [0.6, 0.8]])
    after = weigh_kernels(np.array([[0.0, 0.0], [0.0, 4.0]]), before, 2.0)
    np.testing.assert_allclose(after, [[0.6, 0.8], [0.0, 1.0]])


def svm_problem(seed, n=120, noise=0.4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    targets = np.where(X[:, 0] + noise * rng.normal(size=n) > 0.5, 1, -1).astype(np.int8)
    kernels = KernelBank(paper_kernels(), 3)
    grams = Grams(np.stack(list(kernels.cross_kernels(X, X))))
    theta = rng.random(11)
    theta /= np.linalg.norm(theta)
    return grams, theta, targets, rng.uniform(0.5, 2.0, n) * 100


@pytest.mark.parametrize("seed", range(4))
def test_duality_gap_closes(seed):
    grams, theta, targets, costs = svm_problem(seed)
    svm = solve_svm(grams, theta, targets, costs)
    primal, dual = duality_gap(theta, targets, costs, svm)
    assert dual <= primal * (1 + 1e-9)
    assert primal - dual <= 1e-3 * primal


@pytest.mark.parametrize("seed", range(3))
def test_svm_agrees_with_libsvm_on_the_summed_kernel(seed):
    grams, theta, targets, costs = svm_problem(seed)
    svm = solve_svm(grams, theta, targets, costs)
    kernel = np.tensordot(theta, grams.kernel_rows(np.arange(grams.n_rows)), axes=1)
    peer = SVC(kernel="precomputed", tol=1e-8).fit(kernel, targets, sample_weight=costs)
    np.testing.assert_allclose(svm.projections, peer.decision_function(kernel), atol=1e-4)


def test_a_guess_does_not_change_the_solution():
    grams, theta, targets, costs = svm_problem(0, n=900, noise=0.02)
    plain = solve_svm(grams, theta, targets, costs)
    for guess in (plain.projections, np.roll(plain.projections, 7), 2.0 * targets):
        guided = solve_svm(grams, theta, targets, costs, guess)
        primal, _ = duality_gap(theta, targets, costs, guided)
        _, dual = duality_gap(theta, targets, costs, plain)
        assert primal == pytest.approx(dual, rel=2e-3)


def test_one_target_needs_no_svm():
    grams, theta, targets, costs = svm_problem(0)
    svm = solve_svm(grams, theta, -np.ones_like(targets), costs)
    assert svm.intercept == -1.0
    assert not svm.support.size
    np.testing.assert_array_equal(svm.projections, -1.0)
    np.testing.assert_array_equal(svm.squared_norms, 0.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 60))
def test_products_of_few_rows_equal_those_of_all(seed, count):
    grams, theta, *_ = svm_problem(seed)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(grams.n_rows, count, replace=False))
    a = rng.normal(size=count)
    stack = grams.kernel_rows(np.arange(grams.n_rows))
    np.testing.assert_allclose(grams.products(rows, a), stack[:, :, rows] @ a, atol=1e-10)
    np.testing.assert_allclose(
        grams.weighted_sum(theta, rows),
        np.tensordot(theta, stack, axes=1)[np.ix_(rows, rows)],
        atol=1e-12,
    )


@pytest.mark.parametrize("precisions", [(float, float), (np.float32, float), (np.float32,) * 2])
@pytest.mark.parametrize("count", [3, 40, 69, 90])
def test_sums_and_products_are_those_of_whole_matrices(precisions, count):
    """Few rows, many or all, in either precision: each goes its own way."""
    rng = np.random.default_rng(count)
    X = rng.random((90, 4))
    whole = np.stack(list(KernelBank(paper_kernels(), 4).cross_kernels(X, X)))
    parts = zip((whole[:5], whole[5:]), precisions, strict=True)
    grams = Grams(*(part.astype(precision) for part, precision in parts))
    rows = np.sort(rng.choice(90, count, replace=False))
    weights, a = rng.random(len(whole)), rng.normal(size=count)
    total = np.tensordot(weights, whole, 1)
    close = {"rtol": 1e-6, "atol": 1e-5}
    np.testing.assert_allclose(
        grams.weighted_sum(weights, rows), total[np.ix_(rows, rows)], **close
    )
    np.testing.assert_allclose(grams.products(rows, a), whole[:, :, rows] @ a, **close)


def test_kernels_in_single_precision_are_kept_as_they_are_and_solved_alike():
    rng = np.random.default_rng(3)
    X = rng.random((80, 3))
    stack = np.stack(list(KernelBank(paper_kernels(), 3).cross_kernels(X, X)))
    single = stack.astype(np.float32)
    assert next(iter(Grams(single))).base is single
    targets = np.where(X[:, 0] + 0.1 * rng.normal(size=80) > 0.5, 1, -1).astype(np.int8)
    theta, costs = np.full(len(stack), len(stack) ** -0.5), np.full(80, 3.0)
    exact, near = (solve_svm(Grams(K), theta, targets, costs) for K in (stack, single))
    np.testing.assert_allclose(near.projections, exact.projections, atol=1e-3)
    np.testing.assert_allclose(near.squared_norms, exact.squared_norms, rtol=1e-3, atol=1e-4)


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
            semi_supervised="paper",
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


def test_prefetched_svms_are_not_solved_again(digits, monkeypatch):
    X, y = digits
    solved = []
    solve = LibsvmSolver._solve
    monkeypatch.setattr(LibsvmSolver, "_solve", lambda s, t: solved.append(1) or solve(s, t))
    SHL(n_bits=8, random_state=0).fit(X, y)
    alone = len(solved)
    SHL(n_bits=8, n_jobs=3, random_state=0).fit(X, y)
    assert len(solved) - alone == alone


def test_changed_tasks_are_different_problems():
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
