"""From checked samples to a start, to moments and to records, without any estimator."""

import dataclasses
import inspect

import numpy as np
import pytest

from shlcore import SHL, Grams, paper_kernels
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


def test_auto_goes_by_memory_and_by_where_the_rows_are():
    columns = ColumnInfo(4)
    assert choose_solver(parameters(), columns, 100, dask=False) == "exact"
    assert choose_solver(parameters(), columns, 100, dask=True) == "random_features"
    assert choose_solver(parameters(memory="1KB"), columns, 100, dask=False) == "random_features"
    asked = parameters(solver="exact", memory="1KB")
    assert choose_solver(asked, columns, 100, dask=True) == "exact"


@pytest.mark.parametrize("solver", ["exact", "random_features"])
@pytest.mark.filterwarnings("ignore:SHL stopped after max_iter")
def test_samples_that_were_left_out_get_an_answer_and_no_projection(blobs, solver):
    X, y = blobs
    data = gathered(X, y, solver, transductive=False)
    start = data.cold_start(np.random.default_rng(0))
    assert UNLABELLED not in start.members
    *_, last = data.fit_states(start, parameters(max_iter=2))
    out = y == -1
    assert np.isnan(last.projections[out]).all()
    assert not np.isnan(last.projections[~out]).any()
    record = last.result()
    np.testing.assert_array_equal(record.transduction[~out], y[~out])
    assert set(record.transduction[out]) <= {0, 1, 2}
    assert record.solver == solver
    assert record.n_iter == last.iteration


def test_precomputed_kernels_answer_for_those_left_out_too(blobs):
    X, y = blobs
    grams = Grams(np.stack(list(KernelBank(paper_kernels(), 4).cross_kernels(X, X))))
    data = gathered(grams, y, kernels="precomputed", transductive=False)
    *_, last = data.fit_states(data.cold_start(np.random.default_rng(0)), parameters())
    record = last.result()
    projections = record.hash.project(grams)[y != -1]
    np.testing.assert_allclose(projections, last.projections[y != -1], atol=1e-8)


def test_a_fit_goes_on_only_from_one_of_its_kind(blobs):
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


def test_hash_functions_are_asked_about_their_own_kind_of_samples_only(blobs):
    X, y = blobs
    grams = Grams(np.stack(list(KernelBank(paper_kernels(), 4).cross_kernels(X, X))))
    by_rows, by_grams = gathered(X, y), gathered(grams, y, kernels="precomputed")
    *_, last = by_rows.fit_states(by_rows.cold_start(np.random.default_rng(0)), parameters())
    with pytest.raises(TypeError, match="wanted those of RowHash"):
        by_grams.project_samples(last.result().hash, np.arange(3))
