"""Examples in docstrings are run."""

import pytest

import shlcore
from tests.examples import failures, modules_of, with_examples

MODULES = modules_of(shlcore)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    assert failures(name) == 0


def test_there_are_examples():
    assert with_examples(MODULES) >= {"shlcore.estimator.SHL", "shlcore.index.HammingIndex"}
