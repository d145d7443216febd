"""Rules of the house: who knows scikit-learn's estimators, how long files are, honest types."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "shlcore"
TREES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in PACKAGE.rglob("*.py")
}
MOST_LINES, MOST_METHODS, MOST_ANY = 300, 20, 10


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_the_estimator_and_its_base_know_scikit_learns_estimators():
    knowing = {name for name, tree in TREES.items() if "sklearn.base" in set(imported(tree))}
    learner = {name for name in knowing if not name.startswith("baselines/")}
    assert learner == {"estimator.py", "hash_classifier.py"}


def test_no_parameter_is_an_estimator_of_no_type():
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                assert node.arg not in {"estimator"}, name


def test_hardly_anything_is_of_any_type():
    uses = [
        f"{name}:{node.lineno}"
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    assert len(uses) <= MOST_ANY, uses


@pytest.mark.parametrize("name", sorted(TREES))
def test_files_and_classes_stay_small(name):
    assert len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            assert len(methods) <= MOST_METHODS, node.name


def test_users_get_the_types_too():
    assert (PACKAGE / "py.typed").exists()
