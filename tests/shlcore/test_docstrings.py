"""Examples in docstrings are run."""

import inspect

import pytest

import shlcore
from tests.examples import failures, modules_of, with_examples

MODULES = modules_of(shlcore)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    assert failures(name) == 0


def test_public_methods_say_what_they_take_and_return():
    own = [
        (name, method)
        for name, method in inspect.getmembers(shlcore.SHL, callable)
        if not name.startswith("_") and method.__module__.startswith("shlcore")
    ]
    assert len(own) >= 14
    for name, method in own:
        told = method.__doc__
        takes = set(inspect.signature(method).parameters) & {"X", "path"}
        assert "Returns\n" in told or "Yields\n" in told or name in {"save", "paper"}, name
        assert not takes or "Parameters" in told, name


def test_there_are_examples():
    assert with_examples(MODULES) >= {"shlcore.estimator.SHL", "shlcore.index.HammingIndex"}
