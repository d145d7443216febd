"""A cost so small that nothing can be learnt gives way; no class loses its codeword."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from shlcore import SHL, Gaussian
from shlcore.codewords import MemberLoss, has_collision, move_codewords, without_collisions
from shlcore.kernel_data import KernelHash
from shlcore.samples import SampleRows

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
def test_a_cost_too_small_to_learn_anything_gives_way(load, lambda1):
    X, y = load(return_X_y=True)
    X, new, y, wanted = train_test_split(X, y, train_size=0.4, random_state=0, stratify=y)
    model = SHL(lambda1=lambda1, random_state=0).fit(X[:400], y[:400])
    assert model.score(new, wanted) > 0.85
    assert model.lambda1 == lambda1
    assert set(model.stage_costs_) <= {lambda1, 1.0}
    assert len(np.unique(model.predict(X))) == len(model.classes_)


@pytest.mark.filterwarnings("default:lambda1")
def test_what_was_taken_instead_is_told_and_kept(tmp_path):
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
def test_a_cost_that_teaches_something_is_kept(lambda1):
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
