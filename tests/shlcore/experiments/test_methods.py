import numpy as np
import pytest

from shlcore.experiments.methods import METHODS, informative_kernels, method_name
from shlcore.kernels import Gaussian, paper_kernels


def sigmas(X):
    return [kernel.sigma for kernel in informative_kernels(X) if isinstance(kernel, Gaussian)]


def test_few_columns_keep_more_narrow_kernels_than_many():
    rng = np.random.default_rng(0)
    narrow, wide = sigmas(rng.random((500, 2))), sigmas(rng.random((500, 200)))
    assert min(narrow) < 0.1
    assert min(wide) >= 1
    assert max(narrow) == max(wide) == 2.0**7


def test_equal_rows_keep_all_kernels():
    assert informative_kernels(np.ones((9, 3))) == list(paper_kernels())


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
