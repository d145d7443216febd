"""Sparse and single-precision samples without a copy in double precision."""

import tracemalloc

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from shlcore import SHL, Gaussian, Linear, row_blocks
from shlcore.kernels import KernelBank, automatic_kernels, paper_kernels
from shlcore.samples import SampleRows, ScaledRows, encode_labels
from shlcore.scaling import Scaling, unscaled

TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 4)),
    elements=st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]),
)


@given(TABLES, st.sampled_from([np.array, sparse.csr_array]), st.booleans())
def test_unique_rows_are_those_of_numpy(X, form, labelled):
    labels = np.arange(len(X)) % 2 if labelled else np.zeros(len(X), dtype=int)
    given_rows = SampleRows(form(X))
    first, kind = given_rows.unique_rows(np.arange(len(X)), labels if labelled else None)
    _, index, inverse = np.unique(
        np.column_stack([X, labels]), axis=0, return_index=True, return_inverse=True
    )
    np.testing.assert_array_equal(first, index)
    np.testing.assert_array_equal(kind, inverse.ravel())


@pytest.mark.parametrize("block", [1, 300, 10**9])
def test_kernels_made_in_blocks_are_the_kernels(monkeypatch, block):
    X = np.random.default_rng(0).normal(size=(23, 5))
    bank = KernelBank(paper_kernels(), 5)
    whole = np.stack(list(bank.cross_kernels(2 * X - 1, 2 * X - 1)))
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", block)
    scaling = Scaling(np.full(5, 0.5), np.full(5, 2.0))
    for form in (np.array, sparse.csr_array):
        rows = ScaledRows(SampleRows(form(X)), np.arange(23), scaling)
        made = bank.matrices(rows)
        np.testing.assert_allclose(made, whole, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(made, made.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)


def test_kernels_chosen_in_blocks_are_those_of_all_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    wanted = automatic_kernels(np.concatenate([X, X[:7]]))
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 200)
    rows = ScaledRows(SampleRows(np.concatenate([X, X[:7]])), np.arange(67), unscaled(3))
    for one, other in zip(automatic_kernels(rows), wanted, strict=True):
        assert getattr(one, "sigma", 0) == pytest.approx(getattr(other, "sigma", 0), rel=1e-12)


@pytest.mark.parametrize("solver", ["exact", "random_features"])
@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_sparse_and_single_precision_give_the_same_answers(solver, scale):
    X, y = load_digits(return_X_y=True)  # whole numbers, which both forms hold exactly
    X, new, y = X[:200], X[200:260], y[:200]
    model = SHL(n_bits=6, solver=solver, scale=scale, n_components=100, random_state=0)
    wanted = model.fit(X, y).project(new)
    exact = solver == "exact"
    for form in (sparse.csr_array, sparse.csc_array, lambda a: a.astype(np.float32)):
        found = model.fit(form(X), y).project(form(new))
        np.testing.assert_allclose(
            found, wanted, rtol=0 if exact else 1e-3, atol=1e-9 + 0.01 * (not exact)
        )


def peak(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def wide(n=240, columns=30_000):
    """Two classes that one column tells apart; mostly zeros."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, columns), density=0.002, rng=rng, dtype=np.float32).tolil()
    y = np.arange(n) % 2
    X[:, 0] = (3.0 * y - 1.5)[:, None]
    return X.tocsr().astype(np.float32), y


def test_wide_samples_are_not_copied_as_a_whole(monkeypatch):
    """Blocks of 4 MB stand for those of 64 MB, and X of 29 MB for one that fills the memory."""
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 4 * 2**20)
    X, y = wide()
    dense = X.toarray()
    model = SHL(kernels=[Linear(), Gaussian(3.0)], scale=None, probability=False, random_state=0)
    few = np.where(np.arange(len(y)) < 24, 1.0, 0.0)

    def run(given_rows):
        model.fit(given_rows, y, sample_weight=few)
        model.predict(given_rows)

    for given_rows in (X, dense):
        # In doubles X is 58 MB; support rows (24 of 240 at the most) are kept: 6 MB.
        assert peak(lambda rows=given_rows: run(rows)) < 0.8 * dense.nbytes


@pytest.mark.parametrize(
    "y",
    [
        ["a", np.nan, "b"],
        ["a", None, "b"],
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", pd.NA, "b"], dtype=object),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        [1, None, 2],
        [1.0, np.nan, 2.0],
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([False, None, True], dtype="boolean"),
        np.ma.array([1, 7, 2], mask=[False, True, False]),
    ],
)
def test_absent_labels_mean_no_label(y):
    classes, labels = encode_labels(y, 3)
    assert labels.tolist() == [0, -1, 1]
    assert classes.tolist() in (["a", "b"], [1, 2], [0, 1])
    assert classes.dtype.kind in "iU"
    with pytest.raises(ValueError, match=r"wanted a label for every sample .* got 1 NaN"):
        encode_labels(y, 3, unlabelled=None)


def test_only_a_mark_can_be_taken_for_a_class():
    y = ["a", "b"] * 20
    encode_labels([*y, *[None] * 20], 60)  # a warning would be an error
    with pytest.warns(UserWarning, match="y: 20 samples of label -1 are taken as"):
        encode_labels([0, 1] * 20 + [-1] * 20, 60)


def test_labels_of_infinity_are_refused():
    with pytest.raises(ValueError, match="y: wanted finite labels, got infinity"):
        encode_labels([0.0, np.inf, 1.0], 3)


@pytest.mark.parametrize("values", [np.array([[1j], [2.0]]), np.array([["1"], ["2"]])])
@pytest.mark.parametrize("change", [np.asarray, da.from_array])
def test_random_features_refuse_other_than_real_numbers(values, change):
    with pytest.raises(ValueError, match="X: wanted real numbers, got"):
        SHL(solver="random_features").fit(change(values), [0, 1])


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_the_size_of_all_columns_does_not_matter(factor):
    X, y = load_iris(return_X_y=True)
    assert SHL(random_state=0).fit(X * factor, y).score(X * factor, y) > 0.95


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_samples_whose_distances_vanish_or_overflow_are_refused(scale, factor):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="X: wanted columns whose distances have finite squares"):
        SHL(scale=scale).fit(X * factor, y)
