"""Imports, types and docstrings of the package."""

import ast
import inspect

import shlcore
from tests.benchmarks.structure import ROOT, modules_of

SHLCORE = modules_of("shlcore")
MOST_ANY = 10


def imports_of(module):
    """Yield the names of all modules that a module imports."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_the_estimator_and_its_base_know_scikit_learns_estimators():
    users = {module.path for module in SHLCORE if "sklearn.base" in set(imports_of(module))}
    learner = {path for path in users if not path.startswith("shlcore/baselines/")}
    assert learner == {"shlcore/estimator.py", "shlcore/hash_classifier.py"}


def test_no_parameter_is_an_untyped_estimator():
    for module in SHLCORE:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.arg):
                assert node.arg not in {"estimator"}, module.path


def test_few_annotations_are_any():
    uses = [
        f"{module.path}:{node.lineno}"
        for module in SHLCORE
        for node in module.nodes
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert len(uses) <= MOST_ANY, uses


def test_type_marker_is_shipped():
    assert (ROOT / "shlcore" / "py.typed").exists()


def test_public_methods_document_parameters_and_results():
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
