"""SHL in scikit-learn: its contract checks, searches, clones, routing."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

import shlcore
from shlcore import SHL, Gaussian, Linear, Polynomial
from shlcore.__main__ import parser


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_fields_of_kernels_can_be_searched(wine):
    model = SHL(kernels=[Gaussian(1.0), Polynomial(2)], random_state=0)
    assert model.get_params()["kernels__0__sigma"] == 1.0
    assert "kernels__0__sigma" not in model.get_params(deep=False)
    search = GridSearchCV(model, {"kernels__0__sigma": [1e-3, 0.5], "lambda1": [10.0]}, cv=2)
    search.fit(*wine)
    assert search.best_params_["kernels__0__sigma"] in (1e-3, 0.5)
    assert search.best_estimator_.kernels[0] == Gaussian(search.best_params_["kernels__0__sigma"])
    assert model.kernels[0] == Gaussian(1.0)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(ValueError, match="kernels__5__sigma: wanted a field of a given kernel"):
        model.set_params(kernels__5__sigma=1.0)


def test_automatic_choices_are_visible_and_survive_the_file(wine, tmp_path):
    X, y = wine
    model = SHL(lambda1=1.0, random_state=0).fit(X, y)
    assert model.codewords_.shape[-1] == 10  # three classes: five bits for each of two doublings
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    gaps = np.linalg.norm(scaled[:, None] - scaled, axis=2)
    np.fill_diagonal(gaps, np.inf)
    nearest = np.median(gaps.min(axis=1))
    sigmas = [kernel.sigma for kernel in model.kernels_ if isinstance(kernel, Gaussian)]
    assert any(sigma == pytest.approx(nearest, rel=0.02) for sigma in sigmas)
    model.save(tmp_path / "model")
    loaded = SHL.load(tmp_path / "model")
    assert loaded.kernels_ == model.kernels_
    assert loaded.kernels == "auto"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.stage_starts_, model.stage_starts_)


def test_the_papers_settings():
    model = SHL.paper(n_bits=7)
    assert (model.n_bits, model.kernels, model.decoding) == (7, "paper", "hamming")
    assert (model.lambda1, model.lambda2, model.p, model.n_codewords) == (1000, 0, 2, 1)
    assert (model.codewords, model.semi_supervised) == ("learnt", "paper")


def test_class_weight_equals_sample_weight(wine):
    X, y = wine
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    one = SHL(class_weight=factors, lambda1=0.5, random_state=0).fit(X, y)
    weights = np.array([factors[c] for c in y])
    other = SHL(lambda1=0.5, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.project(X), other.project(X))
    balanced = SHL(class_weight="balanced", random_state=0).fit(X, y)
    assert balanced.score(X, y) > 0.95


def test_sparse_samples_are_the_same_samples(wine):
    X, y = wine
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    dense = SHL(random_state=0).fit(X, y)
    given = SHL(random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(given.project(sparse.coo_array(X)), dense.project(X))


def test_weights_are_routed(wine):
    X, y = wine
    with sklearn.config_context(enable_metadata_routing=True):
        model = SHL(random_state=0).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=False)
        found = cross_validate(model, X, y, params={"sample_weight": np.ones(len(y))}, cv=2)
    assert found["test_score"].min() > 0.8


def test_probabilities_by_scikit_learns_calibration():
    X, y = load_iris(return_X_y=True)
    wrapped = CalibratedClassifierCV(SHL(random_state=0), cv=3).fit(X, y)
    shares = wrapped.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert abs(shares.max(axis=1).mean() - wrapped.score(X, y)) < 0.1


def test_verbose_writes_the_log(wine, capsys):
    SHL(random_state=0).fit(*wine)
    assert capsys.readouterr().out == ""
    SHL(verbose=True, random_state=0).fit(*wine)
    assert "SHL: pass 1, eq. (6)" in capsys.readouterr().out


def test_page_and_version():
    page = SHL(kernels=[Gaussian(2.0)])._repr_html_()
    assert "SHL" in page
    assert 'href="https://arxiv.org/abs/1902.08639"' in page
    assert shlcore.__version__


def test_folder_for_results_has_one_name_and_an_old_one(tmp_path):
    for word in ("--out", "--output"):
        given = ["experiment", "retrieval", "x.npz", word, str(tmp_path)]
        assert parser().parse_args(given).output == tmp_path


def test_help_of_large_names_its_file_formats(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["experiment", "large", "--help"])
    told = capsys.readouterr().out
    assert ".npy rows" in told
    assert "CSV" not in told


EXPECTED_FAILURES = {
    "check_classifiers_classes": (
        "labels the classes -1 and 1, but in semi-supervised learning -1 marks a sample "
        "without a label, as in sklearn.semi_supervised"
    ),
}


# Some checks draw labels at random, which determine no temperature.
@pytest.mark.filterwarnings("ignore:predict_proba. probabilities are equal for all classes")
@pytest.mark.contract
@pytest.mark.slow
@parametrize_with_checks(
    [SHL(), SHL(n_codewords=2, n_bits=6)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_kernels_by_name_and_by_function(wine, tmp_path):
    X, y = wine
    automatic = SHL(lambda1=1.0, random_state=0).fit(X, y).kernels_
    names = SHL(kernels=["linear", "poly", "rbf"], random_state=0).fit(X, y)
    assert names.kernels_ == [Linear(), *automatic]
    names.save(tmp_path / "model")
    assert SHL.load(tmp_path / "model").kernels == ["linear", "poly", "rbf"]
    for solver in ("exact", "random_features"):
        function = SHL(kernels=cosine_similarity, solver=solver, random_state=0).fit(X, y)
        linear = SHL(kernels="linear", solver=solver, random_state=0).fit(X, y)
        assert (function.predict(X) == linear.predict(X)).mean() > 0.98
    with pytest.raises(ValueError, match="wanted kernels that a file can hold"):
        function.save(tmp_path / "other")
    with pytest.raises(ValueError, match="wanted a function that returns a matrix of shape"):
        SHL(kernels=lambda x, y: x).fit(X, y)
    with pytest.raises(ValueError, match="wanted 'landmarks' for FunctionKernel"):
        SHL(kernels=cosine_similarity, solver="random_features", features="fourier").fit(X, y)


def test_fit_predict_is_the_transduction(wine):
    X, y = wine
    model = SHL(n_classes=3, random_state=0)
    clusters = model.fit_predict(X)
    np.testing.assert_array_equal(clusters, model.labels_)
    assert adjusted_rand_score(y, clusters) > 0.7


def test_partial_fits_end_near_a_fit_of_all():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model = SHL(random_state=0)
    for first in range(0, 900, 300):
        model.partial_fit(pd.DataFrame(X[first : first + 300]), y[first : first + 300])
    whole = SHL(random_state=0).fit(X[:900], y[:900])
    new = pd.DataFrame(X[900:1500])
    assert model.score(new, y[900:1500]) > whole.score(X[900:1500], y[900:1500]) - 0.01
    assert len(model.transduction_) < 900  # the others were forgotten


def test_partial_fits_keep_codewords_and_classes(wine):
    X, y = wine
    names = pd.DataFrame(X).rename(columns=str)
    model = SHL(random_state=0).partial_fit(names[::2], y[::2], classes=[0, 1, 2])
    codewords = model.codewords_
    model.partial_fit(names[1::2][:5], np.ma.array(y[1::2][:5], mask=[1, 0, 0, 0, 0]))
    np.testing.assert_array_equal(model.codewords_, codewords)
    assert list(model.feature_names_in_) == list(names)
    with pytest.raises(
        ValueError, match=r"y: wanted samples of the classes \[0 1 2\], got \[0 1 2 3"
    ):
        model.partial_fit(names[:2], [3, 3])
    with pytest.raises(ValueError, match="y: wanted samples of the classes"):
        SHL().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="wanted kernels of X for partial_fit"):
        SHL(kernels="precomputed").partial_fit(np.eye(2)[None], [0, 1])
    given = SHL(random_state=0).fit(X, y)
    given.partial_fit(X[::3], y[::3])  # begins anew
    assert len(given.transduction_) == len(X[::3])
