"""Chunks of rows, and the solver for large data."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from shlcore import SHL
from shlcore import row_blocks as module
from shlcore.row_blocks import MappedRows, picklable, row_chunks, rows_per_block


@pytest.fixture
def rows():
    return np.arange(40.0).reshape(20, 2)


@pytest.mark.parametrize("chosen", [np.arange(20), np.array([0, 3, 4, 11, 19]), np.array([7])])
def test_chunks_hold_the_chosen_rows_in_order(rows, chosen):
    for table in (rows, da.from_array(rows, chunks=(6, 1))):
        cut = row_chunks(table, chosen, 6)
        assert sum(slab.size for slab in cut) == len(chosen)
        np.testing.assert_array_equal(np.concatenate([s.read() for s in cut]), rows[chosen])


def test_a_memory_map_is_pickled_as_a_file_position(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for slab in row_chunks(mapped, np.arange(2, 20), 5):
        sent = picklable(slab)
        assert isinstance(sent.source, MappedRows)
        np.testing.assert_array_equal(sent.read(), slab.read())
    in_memory = picklable(row_chunks(rows, np.arange(20), 20)[0])
    assert isinstance(in_memory.source, np.ndarray)
    assert picklable(sent) is sent


def test_blocks_have_so_many_bytes_but_some_rows_at_least(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    assert rows_per_block(10) == 100
    assert rows_per_block(5000) == 1
    assert rows_per_block(5000, 64) == 64


pytestmark = pytest.mark.filterwarnings("ignore:SHL stopped after max_iter")


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 60)
    X = rng.random((4, 5))[y] + 0.12 * rng.standard_normal((240, 5))
    return X.astype(np.float32), y


def large(**changes):
    settings = {"n_bits": 6, "n_components": 120, "max_iter": 3, "random_state": 0}
    return SHL(solver="random_features", **(settings | changes))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "n_components"), [("usps", 3000), ("pendigits", 2000)])
def test_1000_samples_agree_with_the_exact_solver(hashing_data, name, n_components):
    X, y = hashing_data(name)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1000], order[2000:4000]
    exact, features = (
        SHL.paper(solver=solver, n_components=n_components, max_iter=1, random_state=0).fit(
            X[train], y[train]
        )
        for solver in ("exact", "random_features")
    )
    np.testing.assert_array_equal(features.codewords_, exact.codewords_)
    assert (features.predict(X[test]) == exact.predict(X[test])).mean() >= 0.98
    assert features.objective_[-1] == pytest.approx(exact.objective_[-1], rel=0.02)


def test_memory_maps_dask_arrays_and_little_memory_give_the_same_model(blobs, tmp_path):
    X, y = blobs
    np.save(tmp_path / "rows.npy", X)
    reference = large().fit(X, y)
    wanted = reference.project(X)
    for model, rows in (
        (large(), np.load(tmp_path / "rows.npy", mmap_mode="r")),
        (large(memory=1), X),
        (large(), da.from_array(X, chunks=(50, 3))),
    ):
        model.fit(rows, y)
        np.testing.assert_array_equal(model.codewords_, reference.codewords_)
        np.testing.assert_allclose(model.project(rows), wanted, atol=2e-3)
        np.testing.assert_array_equal(model.transduction_, reference.transduction_)


def test_integers_are_valid_rows(blobs):
    X, y = blobs
    bytes_ = np.rint(100 * (X - X.min())).astype(np.uint8)
    model = large().fit(bytes_, y)
    again = large().fit(bytes_.astype(float), y)
    np.testing.assert_allclose(model.project(bytes_), again.project(bytes_), atol=1e-4)


@pytest.mark.parametrize("features", ["landmarks", "fourier"])
def test_a_model_survives_its_file(blobs, features, tmp_path):
    X, y = blobs
    model = large(features=features).fit(X, y)
    model.save(tmp_path / "model.npz")
    again = SHL.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.project(X), model.project(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.solver_ == "random_features"
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("n_codewords", [1, 2])
def test_unlabelled_rows_learn_from_the_others(blobs, n_codewords):
    X, y = blobs
    labels = np.full_like(y, -1)
    labels[::10] = y[::10]
    model = large(n_codewords=n_codewords, semi_supervised="paper").fit(X, labels)
    assert (model.transduction_ == y).mean() > 0.95
    assert (np.diff(model.objective_) <= 0).all()
    inductive = large(n_codewords=n_codewords, semi_supervised="none").fit(X, labels)
    assert (inductive.transduction_ == y).mean() > 0.9


def test_without_labels_clusters_are_found(blobs):
    X, y = blobs
    found = large(n_classes=4).fit(X).transduction_
    purity = sum(np.bincount(y[found == c], minlength=4).max() for c in range(4)) / len(y)
    assert purity > 0.9


def test_steps_hold_fitted_models_and_a_stop_changes_nothing(blobs):
    X, y = blobs
    model = large()
    steps = model.iter_fit(X, y)
    step = next(steps)
    assert (step.snapshot().predict(X) == y).mean() > 0.9
    steps.close()
    assert not hasattr(model, "codewords_")


def test_warm_start_continues(blobs):
    X, y = blobs
    model = large(warm_start=True).fit(X, y)
    before = model.objective_[-1]
    model.fit(X, y)
    assert model.objective_[-1] <= 1.01 * before


def test_auto_chooses_by_size():
    X, y = load_iris(return_X_y=True)
    assert SHL(max_iter=2).fit(X, y).solver_ == "exact"
    small = SHL(memory="1MB", n_components=50, max_iter=2, n_bits=4)
    assert small.fit(X, y).solver_ == "random_features"
    chunked = da.from_array(X, chunks=(40, 4))
    assert SHL(n_components=50, max_iter=2).fit(chunked, y).solver_ == "random_features"


def test_too_few_passes_warn(blobs):
    X, y = blobs
    labels = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        large(max_iter=1, tol=0.0).fit(X, labels)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"solver": "fast"}, "solver: wanted one of"),
        ({"features": "none"}, "features: wanted one of"),
        ({"memory": "4 apples"}, "memory: wanted an amount"),
        ({"memory": True}, "memory: wanted an amount"),
        ({"n_components": 0}, "n_components: wanted a whole number"),
        ({"kernels": "precomputed"}, "solver: wanted 'exact' or 'auto'"),
    ],
)
def test_bad_parameters_are_named(blobs, changes, message):
    with pytest.raises(ValueError, match=message):
        large().set_params(**changes).fit(*blobs)


def test_rows_with_nan_are_refused(blobs):
    X, y = blobs
    broken = X.copy()
    broken[17, 2] = np.nan
    with pytest.raises(ValueError, match="wanted finite numbers"):
        large().fit(broken, y)
    model = large().fit(X, y)
    with pytest.raises(ValueError, match="wanted finite numbers"):
        model.predict(broken)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
