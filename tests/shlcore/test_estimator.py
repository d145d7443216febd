"""The public interface of SHL: predictions, files, stopping, errors."""

import io
import json
import multiprocessing
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shlcore import (
    SHL,
    Gaussian,
    Grams,
    Linear,
    ModelFileError,
    Polynomial,
    hamming,
    paper_kernels,
)
from shlcore.bound import theorem_1
from shlcore.kernels import KernelBank


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def fitted(iris):
    return SHL(n_bits=6, random_state=0).fit(*iris)


def few_labels(y, per_class, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in np.unique(y):
        labels[rng.choice(np.flatnonzero(y == c), per_class, replace=False)] = c
    return labels


def test_fitted_attributes(iris, fitted):
    X, y = iris
    np.testing.assert_array_equal(fitted.classes_, np.unique(y))
    assert fitted.codewords_.shape == (3, 1, 6)
    assert fitted.codewords_.dtype == np.int8
    assert set(np.unique(fitted.codewords_)) == {-1, 1}
    np.testing.assert_array_equal(fitted.n_codewords_, [1, 1, 1])
    assert fitted.kernel_weights_.shape == (6, len(fitted.kernels_))
    np.testing.assert_allclose(np.linalg.norm(fitted.kernel_weights_, axis=1), 1.0)
    np.testing.assert_array_equal(fitted.transduction_, y)
    assert (np.diff(fitted.objective_) <= 0).all()
    assert fitted.n_iter_ >= 1
    assert fitted.n_features_in_ == 4
    assert fitted.score(X, y) > 0.95


def test_codes_are_signs_of_the_projections(iris, fitted):
    X, _ = iris
    bits = fitted.transform(X)
    assert bits.dtype == np.uint8
    np.testing.assert_array_equal(bits, fitted.project(X) >= 0)
    np.testing.assert_array_equal(fitted.hash(X), hamming.pack(bits))
    assert list(fitted.get_feature_names_out()) == [f"shl{b}" for b in range(6)]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(2, 4),
    st.sampled_from([1, 2]),
    st.sampled_from(["hinge", "hamming"]),
)
def test_scores_rank_classes_as_predict_does(seed, n_classes, s, decoding):
    rng = np.random.default_rng(seed)
    y = np.arange(24) % n_classes
    X = rng.random((24, 2)) + y[:, None]
    model = SHL(n_bits=4, n_codewords=s, decoding=decoding, random_state=0, tol=0.1).fit(X, y)
    new = 3 * rng.random((30, 2))
    scores, projections = model.decision_function(new), model.project(new)
    signs = np.where(projections >= 0, 1, -1)
    for n in range(30):
        ranks = []
        for c in range(n_classes):
            words = model.codewords_[c].astype(int)
            apart = (signs[n] != words).sum(axis=1)
            hinge = np.maximum(1 - words * projections[n], 0).sum(axis=1)
            pairs = zip(apart if decoding == "hamming" else 0 * apart, hinge, strict=True)
            ranks.append(min(pairs))
        best = min(range(n_classes), key=ranks.__getitem__)
        assert model.predict(new)[n] == model.classes_[best]
        if n_classes == 2:
            assert (scores[n] > 0) == (best == 1)
        else:
            order = sorted(range(n_classes), key=ranks.__getitem__)
            assert (np.diff(scores[n][order]) <= 0).all()


def test_margin_is_the_gap_in_hinge_distance(iris, fitted):
    X, _ = iris
    f = fitted.project(X)
    words = fitted.codewords_[:, 0].astype(float)
    distances = np.maximum(1 - words[None] * f[:, None], 0).sum(axis=2)
    distances.sort(axis=1)
    np.testing.assert_allclose(fitted.margin(X), distances[:, 1] - distances[:, 0], atol=1e-9)


def test_inductive_learning_ignores_unlabelled_samples():
    X, y = make_moons(80, noise=0.1, random_state=0)
    labels = few_labels(y, 10)
    known = labels != -1
    same = {"scale": None, "kernels": "paper", "random_state": 0}  # both look at all samples
    inductive = SHL(semi_supervised="none", **same).fit(X, labels)
    alone = SHL(**same).fit(X[known], labels[known])
    np.testing.assert_array_equal(inductive.project(X), alone.project(X))
    np.testing.assert_array_equal(inductive.transduction_[known], labels[known])
    np.testing.assert_array_equal(inductive.transduction_[~known], alone.predict(X[~known]))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", -1, -1], dtype=object),
        np.array(["a", "b", -1, -1]),
        np.array([0.0, 2.0, -1.0, -1.0]),
        [7, 9, -1, -1],
    ],
)
def test_any_labels_and_minus_one(labels):
    X = np.array([[0.0], [1.0], [0.1], [0.9]])
    model = SHL(random_state=0).fit(X, labels)
    first, second = model.classes_
    assert list(model.transduction_) == [first, second, first, second]


def test_unsupervised_learning_finds_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.1, size=(20, 2)) for c in (0, 3, 6)])
    model = SHL(n_classes=3, random_state=0).fit(X)
    assert [len(set(model.transduction_[k : k + 20])) for k in (0, 20, 40)] == [1, 1, 1]
    assert len(set(model.transduction_)) == 3


def test_precomputed_kernels_equal_kernel_objects():
    X, y = make_moons(80, noise=0.1, random_state=1)
    labels = few_labels(y, 10)
    bank = KernelBank(paper_kernels(), 2)
    stack = np.stack(list(bank.cross_kernels(X, X)))
    plain = SHL(scale=None, kernels="paper", random_state=0).fit(X, labels)
    # Rows are gathered in sorted order, so sort the given ones alike.
    order = np.lexsort((labels, X[:, 1], X[:, 0]))
    given_ = SHL(kernels="precomputed", random_state=0)
    given_.fit(stack[:, order][:, :, order], labels[order])
    new, _ = make_moons(30, noise=0.1, random_state=2)
    cross = np.stack(list(bank.cross_kernels(new, X[order])))
    np.testing.assert_allclose(given_.project(cross), plain.project(new), atol=1e-6)
    np.testing.assert_array_equal(given_.transduction_, plain.transduction_[order])
    kept = SHL(kernels="precomputed", random_state=0)
    kept.fit(Grams(stack[:, order][:, :, order]), labels[order])
    np.testing.assert_array_equal(kept.predict(cross), given_.predict(cross))


def test_kernels_on_groups_of_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((60, 2)), 100 * rng.random((60, 2))])
    y = (X[:, 0] > 0.5).astype(int)
    kernels = [Gaussian(0.5, "colour"), Gaussian(0.5, "position"), Linear([0, 1]), Polynomial(3)]
    groups = {"colour": [0, 1], "position": [2, 3]}
    model = SHL(kernels=kernels, column_groups=groups, random_state=0).fit(X, y)
    changed = X.copy()
    changed[:, 2:] = rng.random((60, 2))
    only_colour = SHL(kernels=kernels[:1], column_groups=groups, random_state=0).fit(X, y)
    np.testing.assert_allclose(only_colour.project(changed), only_colour.project(X))
    assert model.kernel_weights_[:, 0].mean() > model.kernel_weights_[:, 1].mean()
    frame = pd.DataFrame(X, columns=["r", "g", "y", "x"])
    named = SHL(kernels=[Gaussian(0.5, ["r", "g"])], random_state=0).fit(frame, y)
    np.testing.assert_allclose(named.project(frame), only_colour.project(X))
    with pytest.raises(ValueError, match=r"kernels: wanted a group or column among .*'hue'"):
        SHL(kernels=[Gaussian(1.0, "hue")], column_groups=groups).fit(X, y)


@pytest.mark.parametrize("scale", ["minmax", "standard", None])
def test_scaling_is_learnt_with_the_model(scale, iris):
    X, y = iris
    model = SHL(scale=scale, random_state=0).fit(X, y)
    moved = SHL(scale=scale, random_state=0).fit(10 * X + 3, y)
    if scale is not None:
        np.testing.assert_allclose(moved.project(10 * X + 3), model.project(X), atol=1e-4)
    assert model.score(X, y) > 0.9


def test_works_in_a_pipeline(iris):
    X, y = iris
    codes = make_pipeline(StandardScaler(), SHL(random_state=0)).fit_transform(X, y)
    assert codes.shape == (150, 10)


# --- stopping and going on ---------------------------------------------------------------


def test_a_stopped_fit_leaves_the_estimator_as_it_was(iris):
    X, y = iris
    fresh = SHL(random_state=0)
    steps = fresh.iter_fit(X, y)
    next(steps)
    steps.close()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert set(vars(fresh)) == set(fresh.get_params())

    fitted = SHL(random_state=0).fit(X[:, :2], y)
    before = fitted.project(X[:, :2])
    steps = fitted.iter_fit(X, y)
    for _ in range(4):
        next(steps)
    del steps
    np.testing.assert_array_equal(fitted.project(X[:, :2]), before)
    assert fitted.n_features_in_ == 2


def test_every_step_has_a_fitted_model(iris):
    X, y = iris
    labels = np.where(np.arange(150) % 3 == 0, y, "-1")
    model = SHL(random_state=0)
    steps = list(model.iter_fit(X, labels))
    assert {step.block for step in steps} == {"start", "svm", "kernels", "codewords"}
    assert all(0 <= step.bit < 10 for step in steps)
    assert steps[-1].iteration == model.n_iter_
    snapshot = steps[-1].snapshot()
    np.testing.assert_array_equal(snapshot.transduction_, model.transduction_)
    np.testing.assert_array_equal(snapshot.project(X), model.project(X))
    assert steps[len(steps) // 2].snapshot().predict(X).shape == (150,)


def test_warm_start_continues_the_last_fit(iris):
    X, y = iris
    labels = np.where(np.arange(150) % 4 == 0, y, "-1")
    cold = SHL(random_state=0).fit(X, labels)
    warm = SHL(random_state=0, warm_start=True).fit(X, labels)
    warm.random_state = 77  # other codewords, were it to start anew
    warm.fit(X, labels)
    np.testing.assert_array_equal(warm.codewords_, cold.codewords_)
    assert warm.objective_[-1] <= cold.objective_[-1] * 1.01
    warm.fit(X[:, :2], labels)
    assert warm.n_features_in_ == 2


def test_max_iter_warns():
    X, y = make_moons(60, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes") as told:
        SHL(max_iter=1, tol=0.0, random_state=0).fit(X, few_labels(y, 5))
    assert told[0].filename == __file__


def test_same_seed_same_result(iris):
    X, y = iris
    first, second = (SHL(n_bits=8, n_codewords=2, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.project(X), second.project(X))


def fit_asymmetric(n, told):
    K = np.random.default_rng(0).random((2, n, n))
    try:
        SHL(kernels="precomputed", random_state=0).fit(K, np.arange(n) % 2)
    except ValueError as error:
        told.put(str(error))


@pytest.mark.parametrize("n", [20, 300])
def test_asymmetric_kernel_matrices_are_refused_at_once(n):
    """LIBSVM would not come back, nor can it be interrupted: hence the process."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = context.Process(target=fit_asymmetric, args=(n, told))
    process.start()
    try:
        assert told.get(timeout=60).startswith("X: wanted symmetric Gram matrices, got ")
    finally:
        process.kill()
        process.join()


def test_one_odd_entry_of_a_small_matrix_is_found_and_rounding_is_allowed():
    K = np.eye(30)[None].repeat(2, axis=0)
    K[1, 3, 7] = 1e-7
    Grams(K)
    K[1, 3, 7] = 0.5
    with pytest.raises(ValueError, match=r"in row \d, column \d of matrix 1 and"):
        Grams(K)


def test_kernel_matrices_are_checked_once(monkeypatch):
    K = np.eye(30)[None]
    once = Grams(K)
    checked = []
    monkeypatch.setattr(
        "shlcore.gram_matrices._check_symmetry", lambda stack: checked.append(stack)
    )
    Grams(once, K).submatrices(np.arange(10))
    assert len(checked) == 1


# --- files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {
            "kernels": [Gaussian(0.5, "left"), Linear((2, 3)), Polynomial()],
            "column_groups": {"left": (0, 1)},
            "scale": "standard",
            "n_codewords": 2,
        },
        {"random_state": np.random.RandomState(0), "lambda1": np.float32(10)},
    ],
)
def test_save_and_load(tmp_path, iris, parameters):
    X, y = iris
    model = SHL(**{"random_state": 0, **parameters}).fit(X, y)
    path = tmp_path / "a model – é.shl"
    model.save(path)
    loaded = SHL.load(path)
    np.testing.assert_array_equal(loaded.project(X), model.project(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_array_equal(loaded.objective_, model.objective_)
    np.testing.assert_allclose(loaded.function_norms(), model.function_norms())
    assert loaded.n_iter_ == model.n_iter_
    clone(loaded).fit(X, y)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_frame_and_precomputed_kernels_survive_the_file(tmp_path):
    X, y = make_moons(40, random_state=0)
    frame = pd.DataFrame(X, columns=["u", "v"])
    SHL(random_state=0).fit(frame, y).save(tmp_path / "frame")
    assert list(SHL.load(tmp_path / "frame").feature_names_in_) == ["u", "v"]
    stack = np.stack(list(KernelBank(paper_kernels(), 2).cross_kernels(X, X)))
    model = SHL(kernels="precomputed", random_state=0).fit(stack, y)
    model.save(tmp_path / "grams")
    np.testing.assert_array_equal(
        SHL.load(tmp_path / "grams").predict(stack), model.predict(stack)
    )


def test_a_file_holds_nothing_that_runs(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        for name in archive.namelist():
            np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


def rewrite(path, change):
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-200]), "damaged"),
        (
            lambda p: p.write_bytes(p.read_bytes()[:3000] + b"x" * 50 + p.read_bytes()[3050:]),
            "damaged",
        ),
        (lambda p: p.write_bytes(b""), "damaged"),
        (lambda p: p.write_text("hello"), "damaged or not a shlcore model"),
        (lambda p: np.savez(p.open("wb"), a=np.arange(3)), "damaged or not a shlcore model"),
        (lambda p: np.save(p.open("wb"), np.arange(3)), "damaged or not a shlcore model"),
        (lambda p: rewrite(p, lambda h, a: h.update(version=99)), "got version 99; a newer"),
        (lambda p: rewrite(p, lambda h, a: h.update(format="cake")), "got 'cake'"),
        (lambda p: rewrite(p, lambda h, a: a.pop("codewords_")), "incomplete"),
        (lambda p: rewrite(p, lambda h, a: h["parameters"].update(wings=2)), "incomplete"),
        (
            lambda p: rewrite(p, lambda h, a: a.update(classes_=np.arange(9))),
            "do not fit together",
        ),
    ],
)
def test_bad_files_give_one_clear_error(tmp_path, fitted, damage, message):
    path = tmp_path / "model.shl"
    fitted.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        damage(path)
    with pytest.raises(ModelFileError, match=message) as caught:
        SHL.load(path)
    assert str(caught.value).startswith("model.shl: ")
    assert "\n" not in str(caught.value)


def put(name, value):
    return lambda h, a: a.update({name: value(a[name])})


@pytest.mark.parametrize(
    "change",
    [
        put("codewords_", lambda a: a * 2),
        put("codewords_", lambda a: a.astype(float)),
        put("codewords_", lambda a: np.int8(1)),
        put("kernel_weights_", lambda a: -a - 1),
        put("hash_coefficients", lambda a: a * np.nan),
        put("hash_intercepts", lambda a: a.astype(complex)),
        put("hash_support", lambda a: a - 1000),
        put("support_rows", lambda a: a[1:]),
        put("support_rows", lambda a: a[:, 1:]),
        put("factors", lambda a: a * np.inf),
        put("offsets", lambda a: a[:2]),
        put("transduction_", lambda a: a[:, None]),
        lambda h, a: h.update(n_features_in=[]),
        lambda h, a: h.update(n_iter=1 << 70),
        lambda h, a: h.update(stages={"weights": [1.0], "starts": [1 << 70]}),
        lambda h, a: h["parameters"].update(decoding="x"),
        lambda h, a: h["kernels"][0].update(degree=1 << 70),
        lambda h, a: h["kernels"][-1].update(sigma=1e-320),
    ],
)
def test_every_part_of_a_file_is_checked(tmp_path, fitted, change):
    path = tmp_path / "model.shl"
    fitted.save(path)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match="incomplete or its parts do not fit together"):
        SHL.load(path)


@pytest.mark.parametrize(
    "change",
    [
        put("diagonal", lambda a: np.zeros(10**6, dtype=bool)),
        put("landmarks", lambda a: a[:, 1:]),
        put("landmarks", lambda a: a[:1]),
        put("hash_weights", lambda a: a[1:]),
        put("lacks", lambda a: a.astype("M8[s]")),
        lambda h, a: [a.pop(name) for name in [*a] if name.startswith("root_")],
    ],
)
def test_every_part_of_a_map_is_checked(tmp_path, iris, change):
    model = SHL(solver="random_features", n_components=20, random_state=0)
    model.fit(*iris).save(tmp_path / "model.shl")
    rewrite(tmp_path / "model.shl", change)
    with pytest.raises(ModelFileError, match="incomplete or its parts do not fit together"):
        SHL.load(tmp_path / "model.shl")


def test_a_model_that_unpacks_to_too_much_is_refused(tmp_path, fitted, monkeypatch):
    fitted.save(tmp_path / "model.shl")
    monkeypatch.setattr("shlcore.model_file.LARGEST_MODEL", 1000)
    with pytest.raises(ModelFileError, match="damaged or not a shlcore model"):
        SHL.load(tmp_path / "model.shl")


def test_a_failed_save_leaves_the_old_file(tmp_path, fitted, monkeypatch):
    path = tmp_path / "model.shl"
    fitted.save(path)
    before = path.read_bytes()

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space"):
        fitted.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- bad input ---------------------------------------------------------------------------

X4 = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
Y4 = [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        (
            {},
            (X4, [1, 1, 1, 1]),
            "y: wanted labelled samples of at least two classes, got only one",
        ),
        ({}, (X4, [1, 1, -1, -1]), "y: wanted labelled samples of at least two classes"),
        ({}, (X4, [-1] * 4), "y: wanted labelled samples .* got none"),
        ({}, (X4, None), "y: .*set n_classes"),
        ({}, (X4, [0, 1]), r"y: wanted 4 labels, one for each sample, got \(2,\)"),
        ({}, (X4, Y4, [1, 1, 0, 0]), "positive weight of every class, got none of class 1"),
        ({}, (X4, Y4, [1, 1]), "sample_weight: wanted 4 numbers"),
        ({}, (X4, Y4, [1, 1, 1, -1]), "sample_weight: wanted no negative weight"),
        ({}, (X4 * np.nan, Y4), "Input X contains NaN"),
        ({}, (np.empty((0, 2)), []), "Found array with 0 sample"),
        ({"n_classes": 3}, (X4, Y4), "n_classes: wanted labelled samples of 3 classes, got 2"),
        ({"n_classes": 5}, (X4,), "n_classes: wanted at least 5 different samples, got 4"),
        ({"p": 1.0}, (X4, Y4), "p: wanted a finite number above 1, got 1.0"),
        ({"p": float("inf")}, (X4, Y4), "p: wanted a finite number above 1, got inf"),
        ({"n_bits": 0}, (X4, Y4), "n_bits: wanted a whole number of at least 1, got 0"),
        ({"n_bits": 2.5}, (X4, Y4), "n_bits: wanted a whole number"),
        ({"n_codewords": 3, "n_bits": 2}, (X4, Y4), "n_bits: wanted enough bits for 6 distinct"),
        ({"lambda1": 0}, (X4, Y4), "lambda1: wanted a finite number above 0, got 0"),
        ({"lambda2": -1}, (X4, Y4), "lambda2: wanted a finite number of at least 0, got -1"),
        ({"tol": "x"}, (X4, Y4), "tol: wanted a finite number"),
        ({"scale": "huge"}, (X4, Y4), "scale: wanted one of .* got 'huge'"),
        (
            {"kernels": "magic"},
            (X4, Y4),
            "kernels: wanted 'precomputed', or one or several of",
        ),
        ({"kernels": []}, (X4, Y4), "kernels: wanted at least one kernel"),
        ({"kernels": [Gaussian(0.0)]}, (X4, Y4), "kernels: wanted a positive sigma, got 0.0"),
        ({"kernels": [Linear([5])]}, (X4, Y4), "kernels: wanted columns from 0 to 1, got"),
        ({"kernels": "precomputed"}, (np.eye(4), Y4), "array of 3 dimensions"),
        ({"kernels": "precomputed"}, (np.ones((2, 3, 4)), Y4), "wanted square Gram matrices"),
        ({"kernels": "precomputed"}, (np.full((1, 4, 4), np.nan), Y4), "got NaN or infinity"),
    ],
)
def test_bad_input_is_named(parameters, arguments, message):
    with pytest.raises(ValueError, match=message):
        SHL(**parameters).fit(*arguments)


def test_other_widths_are_refused(fitted):
    with pytest.raises(ValueError, match="X has 3 features, but SHL is expecting 4 features"):
        fitted.predict(np.zeros((2, 3)))
    stack = np.stack([np.eye(4), np.ones((4, 4))])
    model = SHL(kernels="precomputed", random_state=0).fit(stack, Y4)
    with pytest.raises(ValueError, match="wanted 2 kernel matrices against 4 training samples"):
        model.predict(np.ones((2, 3, 5)))


# --- Theorem 1 ---------------------------------------------------------------------------


def test_theorem_1_term_by_term(iris):
    X, y = iris
    model = SHL(n_bits=4, kernels="paper", random_state=0).fit(X, y)
    bound = theorem_1(model, X, y, rho=0.5, delta=0.1)
    f, words = model.project(X), model.codewords_[:, 0].astype(float)
    index = np.searchsorted(model.classes_, y)
    short = [
        min(1.0, max(0.0, 1 - f[n, b] * words[index[n], b] / 0.5))
        for n in range(150)
        for b in range(4)
    ]
    assert bound.margin_error == pytest.approx(np.mean(short))
    radius = model.function_norms().max()
    assert bound.complexity == pytest.approx(
        2 * radius / 0.5 * np.sqrt(11 ** (1 / 2) * np.sqrt(2 / 150**3))
    )
    assert bound.confidence == pytest.approx(np.sqrt(np.log(10) / 300))
    assert bound.total == bound.margin_error + bound.complexity + bound.confidence
    wrong = (model.transform(X) != (words[index] > 0)).mean()
    assert wrong <= bound.margin_error


def test_function_norms_are_those_of_the_kernels(iris):
    X, y = iris
    kernels = [Gaussian(0.5)]
    model = SHL(kernels=kernels, scale=None, random_state=0).fit(X, y)
    centred = model.project(X) - model._result.hash.intercepts
    gram = Gaussian(0.5).of(X, X)
    # w lies in the span of the samples: its norm is that of the least-norm interpolant.
    alpha = np.linalg.lstsq(gram, centred, rcond=1e-12)[0]
    np.testing.assert_allclose(
        model.function_norms(), np.sqrt((alpha * (gram @ alpha)).sum(axis=0)), rtol=1e-3
    )


def test_theorem_1_refuses_other_models(iris, fitted):
    X, y = iris
    several = SHL(n_codewords=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="one codeword a class, got 2"):
        theorem_1(several, X, y)
    with pytest.raises(ValueError, match="rho: wanted a number above 0"):
        theorem_1(fitted, X, y, rho=0)
    with pytest.raises(ValueError, match="delta: wanted a number between 0 and 1"):
        theorem_1(fitted, X, y, delta=1.0)
    with pytest.raises(ValueError, match="y: wanted labels of the model's classes"):
        theorem_1(fitted, X, np.full(150, "zebra"))
