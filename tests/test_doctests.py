"""Examples in docstrings; those of the window are left out, as they would need a screen."""

import doctest
import importlib
import pkgutil

import segapp
import shlcore


def examples_of(package, without=()):
    """Return the examples in the docstrings of a package, except those below ``without``."""
    finder = doctest.DocTestFinder()
    names = [
        module.name
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
        and not any(f"{module.name}.".startswith(f"{name}.") for name in without)
    ]
    modules = [package, *map(importlib.import_module, sorted(names))]
    return [test for module in modules for test in finder.find(module) if test.examples]


def failures(examples):
    """Run examples and name those that fail; the report of each is on standard output."""
    runner = doctest.DocTestRunner()
    return [example.name for example in examples if runner.run(example).failed]


def test_examples_of_segapp_hold():
    examples = examples_of(segapp, without=["segapp.qt"])
    assert len(examples) >= 7
    assert failures(examples) == []


def test_examples_of_shlcore_hold():
    examples = examples_of(shlcore)
    assert {test.name for test in examples} >= {
        "shlcore.estimator.SHL",
        "shlcore.index.HammingIndex",
    }
    assert failures(examples) == []


def test_a_wrong_example_is_found():
    def wrong():
        """Say something else.

        >>> 1 + 1
        3
        """

    (example,) = doctest.DocTestFinder().find(wrong, "wrong")
    assert failures([example]) == ["wrong"]
