"""Rules of the house: who knows scikit-learn's estimators, how long files are, honest types."""

import ast

import pytest

from tests.house import ROOT, modules_of

SHLCORE = modules_of("shlcore")
MOST_ANY = 10


def test_only_the_estimator_and_its_base_know_scikit_learns_estimators():
    knowing = {module.name for module in SHLCORE if "sklearn.base" in set(module.imported())}
    learner = {name for name in knowing if not name.startswith("baselines/")}
    assert learner == {"estimator.py", "hash_classifier.py", "kernel_parameters.py"}


def test_no_parameter_is_an_estimator_of_no_type():
    for module in SHLCORE:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.arg):
                assert node.arg not in {"estimator"}, module.name


def test_hardly_anything_is_of_any_type():
    uses = [f"{module.name}:{line}" for module in SHLCORE for line in module.uses_of("Any")]
    assert len(uses) <= MOST_ANY, uses


@pytest.mark.parametrize("module", SHLCORE, ids=lambda module: module.name)
def test_files_and_classes_stay_small(module):
    assert not list(module.too_large())


def test_users_get_the_types_too():
    assert (ROOT / "shlcore" / "py.typed").exists()
