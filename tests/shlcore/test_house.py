"""Imports, types and names of the package."""

import ast
from collections import Counter

from tests.house import ROOT, modules_of

SHLCORE = modules_of("shlcore")
MOST_ANY = 10


def test_only_the_estimator_and_its_base_know_scikit_learns_estimators():
    knowing = {module.name for module in SHLCORE if "sklearn.base" in set(module.imported())}
    learner = {name for name in knowing if not name.startswith("baselines/")}
    assert learner == {"estimator.py", "hash_classifier.py"}


def test_no_parameter_is_an_untyped_estimator():
    for module in SHLCORE:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.arg):
                assert node.arg not in {"estimator"}, module.name


def test_few_annotations_are_any():
    uses = [f"{module.name}:{line}" for module in SHLCORE for line in module.uses_of("Any")]
    assert len(uses) <= MOST_ANY, uses


def test_no_class_name_occurs_twice():
    names = Counter(
        node.name
        for module in SHLCORE
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_type_marker_is_shipped():
    assert (ROOT / "shlcore" / "py.typed").exists()
