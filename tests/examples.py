"""Examples in docstrings, found and run."""

import doctest
import importlib
import pkgutil


def modules_of(package, without=()):
    """Name the modules of a package, except those below one of ``without``."""
    return sorted(
        module.name
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
        and not any(f"{module.name}.".startswith(f"{name}.") for name in without)
    )


def failures(name):
    """Run the examples of a module; count those that do not hold."""
    return doctest.testmod(importlib.import_module(name)).failed


def with_examples(names):
    """Name everything in some modules that has an example."""
    finder = doctest.DocTestFinder()
    return {
        test.name
        for name in names
        for test in finder.find(importlib.import_module(name))
        if test.examples
    }
