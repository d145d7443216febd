"""Algorithm 2: a decreasing objective, and exact savings."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from shlcore import SHL, Grams, paper_kernels
from shlcore import descent as descent_module
from shlcore.codewords import spread_codewords
from shlcore.descent import bit_groups, initialise, initialise_and_descend, until_converged
from shlcore.kernels import KernelBank
from shlcore.problem import Problem, Start
from shlcore.svm import LibsvmSolver
from tests.shlcore.learning_problems import samples


def eq_6(model, labels, weights, lambda1, lambda2):
    """Eq. (6) from its definition, sample by sample."""
    codewords, f = model.codewords.astype(float), model.projections
    n_classes, s, _ = codewords.shape
    loss = 0.0
    for n, label in enumerate(labels):
        classes = range(n_classes) if label == -1 else [label]
        loss += weights[n] * min(
            np.maximum(1 - codewords[c, k] * f[n], 0).sum()
            for c, k in itertools.product(classes, range(s))
        )
    used = model.squared_norms > 0
    norms = 0.5 * (model.squared_norms[used] / model.kernel_weights[used]).sum()
    spread = sum(
        np.linalg.norm(codewords[c, i] - codewords[c, j])
        for c in range(n_classes)
        for i, j in itertools.combinations(range(s), 2)
    )
    return lambda1 * loss + norms + lambda2 * spread


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(samples(), st.sampled_from(["none", "paper", "spreading", "leave_one_out"]))
def test_eq_6_never_rises(problem, mode):
    estimator = SHL(
        n_bits=problem.n_bits,
        n_codewords=problem.n_codewords,
        n_classes=problem.n_classes,
        random_state=problem.seed,
        max_iter=6,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.set_params(semi_supervised=mode, lambda1=1000.0, lambda2=0.01)
        objectives = [step.objective for step in estimator.iter_fit(problem.X, problem.y)]
    if mode == "paper":
        assert all(after <= before for before, after in itertools.pairwise(objectives))
        path = objectives[-len(estimator.objective_) :]
        np.testing.assert_array_equal(estimator.objective_, path)
    assert estimator.stage_starts_[0] == 0
    for stage in np.split(estimator.objective_, estimator.stage_starts_[1:]):
        assert (np.diff(stage) <= 0).all()
    if problem.y is not None:
        known = problem.y != -1
        np.testing.assert_array_equal(estimator.transduction_[known], problem.y[known])


def grams_of(X):
    return Grams(np.stack(list(KernelBank(paper_kernels(), X.shape[1]).cross_kernels(X, X))))


def blobs(seed=0, n=40, n_classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.random((n_classes, 2))[y] + 0.15 * rng.normal(size=(n, 2))
    labels = np.where(rng.random(n) < 0.5, y, -1)
    labels[:n_classes] = np.arange(n_classes)
    return X, labels, y


def solve(X, labels, n_bits=4, lambda2=2000.0, n_codewords=1):
    n_classes = labels.max() + 1
    problem = Problem(
        labels, np.ones(len(X)), n_classes, n_codewords, n_bits, 1000.0, lambda2, 2.0
    )
    codewords = fixed_codewords(n_classes, n_codewords, n_bits)
    members = np.where(labels == -1, -1, labels * n_codewords)
    steps = initialise_and_descend(
        problem, Start(codewords, members), LibsvmSolver(grams_of(X), 1e-2)
    )
    return problem, list(until_converged(steps, tol=1e-2, max_iter=50))


def fixed_codewords(n_classes, n_codewords, n_bits):
    return spread_codewords(n_classes, n_codewords, n_bits, np.random.default_rng(0))


def test_the_reported_objective_is_eq_6():
    X, labels, _ = blobs()
    _, steps = solve(X, labels)
    for step in steps:
        if step.block != "start":
            value = eq_6(step.model, labels, np.ones(len(X)), 1000.0, 2000.0)
            assert step.objective == pytest.approx(value)


def test_shared_bits_equal_bits_solved_one_by_one(monkeypatch):
    X, labels, _ = blobs(n_classes=2)
    _, shared = solve(X, labels, n_bits=5)
    assert len(bit_groups(shared[0].model)) == 1
    solved = []
    original = LibsvmSolver._solve
    monkeypatch.setattr(
        LibsvmSolver, "_solve", lambda self, task: solved.append(task) or original(self, task)
    )
    fit = descent_module._fit_bits

    def one_by_one_fit(model, groups, *rest):
        for bit in itertools.chain(*groups):
            model = fit(model, [[bit]], *rest)
        return model

    monkeypatch.setattr(descent_module, "_fit_bits", one_by_one_fit)
    _, single = solve(X, labels, n_bits=5)
    assert len(solved) >= 5
    a, b = shared[-1].model, single[-1].model
    # LIBSVM sees mirrored problems, and is exact to its tolerance of 1e-6.
    np.testing.assert_allclose(a.projections, b.projections, atol=1e-5)
    np.testing.assert_allclose(a.kernel_weights, b.kernel_weights, atol=1e-5)
    np.testing.assert_array_equal(a.codewords, b.codewords)


def test_weights_equal_repeated_rows():
    X, labels, _ = blobs()
    times = np.random.default_rng(1).integers(1, 4, len(X))
    grams = grams_of(X)
    repeated = grams_of(np.repeat(X, times, axis=0))

    def model():  # not "auto", whose folds would part copies
        return SHL(kernels="precomputed", semi_supervised="paper", random_state=0)

    weighted = model().fit(grams, labels, times)
    copied = model().fit(repeated, np.repeat(labels, times))
    stack = grams.kernel_rows(np.arange(len(X)))
    cross = np.repeat(stack, times, axis=2)
    np.testing.assert_allclose(weighted.project(stack), copied.project(cross), atol=2e-3)
    assert weighted.objective_[-1] == pytest.approx(copied.objective_[-1], rel=1e-3)
    np.testing.assert_array_equal(weighted.codewords_, copied.codewords_)


def two_lumps_a_class(seed=0):
    """Classes of three separate lumps each, which three codewords suit."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30)
    lump = np.tile(np.repeat([0, 1, 2], 10), 2)
    X = np.column_stack([lump + 0.0, y + (lump % 2)]) + 0.05 * rng.normal(size=(60, 2))
    return X, y


def test_a_large_lambda2_merges_the_codewords_of_a_class_and_none_does_not():
    X, y = two_lumps_a_class()
    options = {"n_bits": 6, "n_codewords": 3, "random_state": 0}
    merged = SHL(lambda2=1e9, **options).fit(X, y)
    np.testing.assert_array_equal(merged.n_codewords_, [1, 1])
    assert merged.score(X, y) == 1.0
    apart = SHL(lambda2=0.0, **options).fit(X, y)
    np.testing.assert_array_equal(apart.n_codewords_, [3, 3])
    assert apart.score(X, y) == 1.0


def test_waiting_rows_do_not_raise_the_start_above_the_empty_model():
    X, labels, _ = blobs(n_classes=3)
    problem = Problem(labels, np.ones(len(X)), 3, 1, 4, 1000.0, 0.0, 2.0)
    # Words that are nowhere near what unlabelled rows far away will be given.
    codewords = fixed_codewords(3, 1, 4)
    members = np.where(labels == -1, -1, labels)
    far = X.copy()
    far[labels == -1] += 50.0
    *_, last = initialise(problem, Start(codewords, members), LibsvmSolver(grams_of(far), 1e-2))
    assert last.objective <= 1000.0 * len(X) * 4


def test_without_labels_every_cluster_keeps_a_member():
    rng = np.random.default_rng(3)
    X = rng.random((4, 2))[np.arange(48) % 4] + 0.02 * rng.normal(size=(48, 2))
    model = SHL(n_classes=4, random_state=0).fit(X)
    assert set(model.transduction_) == {0, 1, 2, 3}
    groups = {frozenset(np.flatnonzero(model.transduction_ == c)) for c in range(4)}
    assert groups == {frozenset(range(k, 48, 4)) for k in range(4)}
