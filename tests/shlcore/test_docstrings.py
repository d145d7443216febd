"""Examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import shlcore

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(shlcore.__path__, "shlcore.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [
        test.name
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert {"shlcore.estimator.SHL", "shlcore.index.HammingIndex"} <= set(found)
