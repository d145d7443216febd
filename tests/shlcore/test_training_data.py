"""Training data, states of a fit, and the fallback of a small lambda1."""

import dataclasses
import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from shlcore import SHL, Gaussian, Grams, paper_kernels
from shlcore.codewords import MemberLoss, has_collision, move_codewords, without_collisions
from shlcore.kernel_data import KernelHash
from shlcore.kernels import KernelBank
from shlcore.parameters import Parameters
from shlcore.problem import UNLABELLED
from shlcore.samples import ColumnInfo, SampleRows
from shlcore.training_data import choose_solver, prepare_training_data

DEFAULTS = {
    field.name: inspect.signature(SHL).parameters[field.name].default
    for field in dataclasses.fields(Parameters)
}


def parameters(**changes):
    return Parameters(**DEFAULTS | {"n_bits": 4, "n_components": 40} | changes)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.random((3, 4))[y] + 0.1 * rng.standard_normal((60, 4))
    return X, np.where(rng.random(60) < 0.5, y, -1)


def gathered(X, y, solver="exact", weights=None, **changes):
    columns = ColumnInfo(4)
    rng = np.random.default_rng(0)
    if solver == "exact" and isinstance(X, np.ndarray):
        X = SampleRows(X)
    return prepare_training_data(X, columns, (y, weights), parameters(**changes), solver, rng)


def test_auto_depends_on_memory_and_array_type():
    columns = ColumnInfo(4)
    assert choose_solver(parameters(), columns, 100, dask=False) == "exact"
    assert choose_solver(parameters(), columns, 100, dask=True) == "random_features"
    assert choose_solver(parameters(memory="1KB"), columns, 100, dask=False) == "random_features"
    asked = parameters(solver="exact", memory="1KB")
    assert choose_solver(asked, columns, 100, dask=True) == "exact"


@pytest.mark.parametrize("solver", ["exact", "random_features"])
@pytest.mark.filterwarnings("ignore:SHL stopped after max_iter")
def test_excluded_samples_get_a_label_and_no_projection(blobs, solver):
    X, y = blobs
    data = gathered(X, y, solver, semi_supervised="none")
    start = data.cold_start(np.random.default_rng(0))
    assert UNLABELLED not in start.members
    *_, last = data.fit_states(start, parameters(max_iter=2, semi_supervised="none"))
    out = y == -1
    assert np.isnan(last.projections[out]).all()
    assert not np.isnan(last.projections[~out]).any()
    record = last.result()
    np.testing.assert_array_equal(record.transduction[~out], y[~out])
    assert set(record.transduction[out]) <= {0, 1, 2}
    assert record.solver == solver
    assert record.n_iter == last.iteration


def test_precomputed_kernels_label_excluded_samples_too(blobs):
    X, y = blobs
    grams = Grams(np.stack(list(KernelBank(paper_kernels(), 4).cross_kernels(X, X))))
    data = gathered(grams, y, kernels="precomputed", semi_supervised="none")
    *_, last = data.fit_states(data.cold_start(np.random.default_rng(0)), parameters())
    record = last.result()
    projections = record.hash.project(grams)[y != -1]
    np.testing.assert_allclose(projections, last.projections[y != -1], atol=1e-8)


def test_warm_start_needs_a_compatible_result(blobs):
    X, y = blobs
    data = gathered(X, y)
    *_, last = data.fit_states(data.cold_start(np.random.default_rng(0)), parameters())
    record = last.result()
    assert data.is_compatible(record)
    start = data.warm_start(record, last.projections)
    np.testing.assert_array_equal(start.codewords, record.codewords)
    np.testing.assert_array_equal(start.kernel_weights, record.kernel_weights)
    assert not gathered(X, y, n_bits=5).is_compatible(record)
    assert not gathered(X, np.where(y == 2, 7, y)).is_compatible(record)
    other = dataclasses.replace(record, columns=ColumnInfo(9))
    assert not data.is_compatible(other)


def test_hash_functions_need_samples_of_their_type(blobs):
    X, y = blobs
    grams = Grams(np.stack(list(KernelBank(paper_kernels(), 4).cross_kernels(X, X))))
    by_rows, by_grams = gathered(X, y), gathered(grams, y, kernels="precomputed")
    *_, last = by_rows.fit_states(by_rows.cold_start(np.random.default_rng(0)), parameters())
    with pytest.raises(TypeError, match="wanted those of RowHash"):
        by_grams.project_samples(last.result().hash, np.arange(3))


pytestmark = pytest.mark.filterwarnings("ignore:lambda1")


def test_functions_without_support_rows_are_their_intercepts():
    X, y = load_wine(return_X_y=True)
    step = next(SHL(lambda1=1e-9, random_state=0).iter_fit(X, y)).snapshot()
    few = step._result.hash
    none = replace(
        few,
        functions=KernelHash(
            few.functions.support[:0],
            few.functions.coefficients[:, :0],
            few.functions.scales,
            few.functions.intercepts,
        ),
        support_rows=few.support_rows[:0],
    )
    np.testing.assert_array_equal(
        none.project(SampleRows(X)), np.tile(few.intercepts, (len(X), 1))
    )


@pytest.mark.parametrize("load", [load_wine, load_digits, load_breast_cancer, load_iris])
@pytest.mark.parametrize("lambda1", [1e-4, 1e-3, 1e-2])
def test_a_too_small_lambda1_is_raised(load, lambda1):
    X, y = load(return_X_y=True)
    X, new, y, wanted = train_test_split(X, y, train_size=0.4, random_state=0, stratify=y)
    model = SHL(lambda1=lambda1, random_state=0).fit(X[:400], y[:400])
    assert model.score(new, wanted) > 0.85
    assert model.lambda1 == lambda1
    assert set(model.stage_costs_) <= {lambda1, 1.0}
    assert len(np.unique(model.predict(X))) == len(model.classes_)


@pytest.mark.filterwarnings("default:lambda1")
def test_the_raised_lambda1_is_in_warning_and_attribute(tmp_path):
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match=r"lambda1: 0.001 is so small .* 1 was used instead"):
        model = SHL(lambda1=1e-3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.stage_costs_, [1e-3, 1.0])
    same = SHL(lambda1=1.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.project(X), same.project(X))
    assert model.n_iter_ > same.n_iter_
    model.save(tmp_path / "model.shl")
    np.testing.assert_array_equal(SHL.load(tmp_path / "model.shl").stage_costs_, [1e-3, 1.0])


@pytest.mark.parametrize("lambda1", [0.5, 1.0, 1000.0])
def test_a_sufficient_lambda1_is_kept(lambda1):
    X, y = load_wine(return_X_y=True)
    model = SHL(lambda1=lambda1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.stage_costs_, [lambda1])


@pytest.mark.parametrize("lambda1", [1e-4, 1e-2, 1.0, 1e5])
@pytest.mark.parametrize("n_codewords", [1, 2])
def test_classes_never_share_a_codeword(lambda1, n_codewords):
    X, y = load_digits(return_X_y=True)
    model = SHL(
        n_bits=6,
        lambda1=lambda1,
        n_codewords=n_codewords,
        lambda2=lambda1,
        kernels=[Gaussian(1.0)],
        max_iter=50,
        random_state=0,
    ).fit(X[:300], y[:300])
    assert not has_collision(model.codewords_)
    for part in np.split(model.objective_, model.stage_starts_[1:]):
        assert (np.diff(part) <= 1e-9 * part[0]).all()
    assert model.predict(X[300:400]).shape == (100,)


def test_flips_that_would_merge_two_classes_are_left_out():
    current = np.array([[[1, 1]], [[-1, 1]], [[-1, -1]]], dtype=np.int8)
    wanted = np.ones_like(current)
    gains = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 3.0]])
    assert has_collision(wanted)
    got = without_collisions(wanted, current, gains)
    # The best flip is free, every further one would make a class equal to another.
    np.testing.assert_array_equal(got, [[[1, 1]], [[-1, 1]], [[1, -1]]])
    rng = np.random.default_rng(0)
    for _ in range(30):
        words = np.array([[[1, 1, 1]], [[1, -1, -1]], [[-1, 1, -1]]], dtype=np.int8)
        loss = MemberLoss(rng.normal(size=(20, 3)), rng.integers(0, 3, 20), np.ones(20), 3)
        assert not has_collision(move_codewords(loss, words, 0.0))
