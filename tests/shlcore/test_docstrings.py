"""Docstrings of the estimator: parameters and results are named."""

import inspect

import shlcore


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
