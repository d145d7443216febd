"""ADMM against LIBSVM on the same problem."""

import numpy as np
import pytest
from sklearn.svm import SVC

from shlcore.admm import AdmmSolver
from shlcore.descent import BitSolution, BitTask
from shlcore.kernels import Gaussian, KernelBank, Linear, Polynomial
from shlcore.mkl import regularisers
from shlcore.random_features import draw_map
from shlcore.row_blocks import LocalBlocks, row_chunks

THETA = np.array([0.5, 0.3, 0.6])


@pytest.fixture
def problem():
    """Rows, targets of two bits that overlap, and costs."""
    rng = np.random.default_rng(0)
    X = rng.random((150, 3))
    score = np.sin(4 * X[:, 0]) + X[:, 1] - 1.2
    targets = [np.where(score + 0.3 * rng.standard_normal(150) > 0, 1, -1) for _ in range(2)]
    return X, [t.astype(np.int8) for t in targets], rng.uniform(0.5, 2.0, 150)


def solve(problem, narrow, tol=1e-3, block=40):
    X, targets, costs = problem
    kernels = [Linear(), Polynomial(2), Gaussian(1e-3 if narrow else 0.5)]
    map_ = draw_map(KernelBank(kernels, 3), X, len(X), 150, "landmarks", np.random.default_rng(0))
    raw = LocalBlocks(row_chunks(X, np.arange(len(X)), block))
    blocks = raw.with_features(map_.transform, map_.n_features, 10**9)
    solver = AdmmSolver(blocks, map_, tol)
    absent = BitSolution(solver.zero(), np.zeros(len(X)), np.zeros(3))
    tasks = [BitTask(t, costs, THETA, absent) for t in targets]
    return solver, tasks, solver.solve(tasks), [kernel.of(X, X) for kernel in kernels]


def value(task, solution):
    loss = task.costs @ np.maximum(1 - task.targets * solution.projections, 0)
    return loss + regularisers(solution.squared_norms, THETA)


@pytest.mark.parametrize("narrow", [False, True])
def test_the_optimum_is_that_of_libsvm(problem, narrow):
    solver, tasks, solutions, grams = solve(problem, narrow)
    K = sum(theta * gram for theta, gram in zip(THETA, grams, strict=True))
    for task, solution in zip(tasks, solutions, strict=True):
        svc = SVC(kernel="precomputed", C=1.0, tol=1e-8)
        svc.fit(K, task.targets, sample_weight=task.costs)
        a = np.zeros(len(K))
        a[svc.support_] = svc.dual_coef_[0]
        f = K @ a + svc.intercept_
        exact = task.costs @ np.maximum(1 - task.targets * f, 0) + 0.5 * a @ K @ a
        assert value(task, solution) == pytest.approx(exact, rel=5e-3)
        norms = [theta**2 * a @ gram @ a for theta, gram in zip(THETA, grams, strict=True)]
        np.testing.assert_allclose(solution.squared_norms, norms, rtol=0.1, atol=0.02 * max(norms))
        assert np.mean(np.sign(f) == np.sign(solution.projections)) > 0.98
    assert max(solver.residuals[-1]) <= 1e-3


def test_blocks_do_not_change_the_result(problem):
    _, _, whole, _ = solve(problem, narrow=True, block=150)
    _, _, split, _ = solve(problem, narrow=True, block=7)
    for one, other in zip(whole, split, strict=True):
        np.testing.assert_allclose(one.projections, other.projections, atol=2e-3)


def test_rows_without_cost_change_nothing(problem):
    X, targets, costs = problem
    costs = costs.copy()
    costs[:50] = 0
    _, _, with_them, _ = solve((X, targets, costs), narrow=True)
    flipped = [np.where(np.arange(150) < 50, -t, t).astype(np.int8) for t in targets]
    _, _, other, _ = solve((X, flipped, costs), narrow=True)
    np.testing.assert_allclose(with_them[0].projections, other[0].projections, atol=1e-4)


def test_a_bit_without_two_targets_needs_no_svm(problem):
    X, targets, costs = problem
    agreed = np.full_like(targets[0], -1)
    _, _, (constant, _), _ = solve((X, [agreed, targets[0]], costs), narrow=False)
    np.testing.assert_array_equal(constant.projections, -1)
    np.testing.assert_array_equal(constant.squared_norms, 0)


def test_a_solution_is_a_fixed_point(problem):
    solver, tasks, solutions, _ = solve(problem, narrow=True)
    again = solver.solve(
        [BitTask(t.targets, t.costs, THETA, s) for t, s in zip(tasks, solutions, strict=True)]
    )
    assert len(solver.residuals) < 12
    for task, before, after in zip(tasks, solutions, again, strict=True):
        assert value(task, after) == pytest.approx(value(task, before), rel=1e-4)
