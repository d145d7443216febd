import numpy as np
import pytest

from shlcore.experiments.methods import COMPARED, METHODS, kernels_for, method_name
from shlcore.kernels import Gaussian, Polynomial


def sigmas(X):
    return np.array([kernel.sigma for kernel in kernels_for(X) if isinstance(kernel, Gaussian)])


def test_bandwidths_follow_the_distance_of_neighbours():
    """Points of a grid from 0 to 1 have neighbours 1/100 apart, whatever their unit."""
    grid = np.linspace(0, 1, 101)[:, None]
    np.testing.assert_allclose(sigmas(grid), 0.01 * 2.0 ** np.array([-0.5, 0, 0.5, 1, 2]))
    np.testing.assert_allclose(sigmas(1000 * grid - 7), sigmas(grid))


def test_repeated_rows_do_not_shrink_the_bandwidths():
    grid = np.linspace(0, 1, 101)[:, None]
    np.testing.assert_allclose(sigmas(np.repeat(grid, 3, axis=0)), sigmas(grid))


def test_rows_that_are_all_the_same_still_have_kernels():
    kernels = kernels_for(np.ones((9, 3)))
    assert {type(kernel) for kernel in kernels} == {Polynomial, Gaussian}


def test_the_papers_own_kernels_are_compared_only_when_asked_for():
    assert set(METHODS) - set(COMPARED) == {"*SHL-paper"}


@pytest.mark.parametrize("text", ["SHL", "*SHL", "shl"])
def test_the_star_may_be_left_out(text):
    assert method_name(text) == "*SHL"


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match=r"wanted some of \*SHL, KSH, .* got 'PCA'"):
        method_name("PCA")


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_the_asked_length_and_seed(name):
    hasher = METHODS[name](7, 3, np.random.default_rng(0).random((30, 2)))
    assert (hasher.n_bits, hasher.random_state) == (7, 3)
