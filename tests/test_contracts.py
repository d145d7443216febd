"""Import contracts: each fails, alone, for a planted violation."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.benchmarks.structure import ROOT

pytestmark = pytest.mark.slow

# Contract, the file that gets a violation, and the line that is added at its end.
PLANTS = {
    "shlcore knows neither images nor windows": (
        "shlcore/kernels.py",
        "from segapp.model import document",
    ),
    "Qt lives in segapp.qt alone": ("segapp/io/images.py", "import PySide6.QtGui"),
    "threads are limited in shlcore.parallel alone": (
        "segapp/batch/task.py",
        "from threadpoolctl import threadpool_limits",
    ),
    "OpenCV and pickle stay out": ("segapp/batch/robot_user.py", "import pickle"),
    "layers of shlcore": ("shlcore/objective.py", "from shlcore import descent"),
    "shlcore.experiments is for the command alone": (
        "shlcore/estimator.py",
        "from shlcore.experiments import plots",
    ),
    "shlcore.baselines is for the experiments alone": (
        "shlcore/kernels.py",
        "from shlcore.baselines import ksh",
    ),
    "rooms of segapp": ("segapp/model/document.py", "from segapp.io import images"),
    "rooms of segapp.qt": (
        "segapp/qt/canvas/canvas.py",
        "from segapp.qt.window import theme",
    ),
    "modules of segapp have no import cycles": (
        "segapp/model/classes.py",
        "from segapp.model import document",
    ),
}
# Modules that are in no list, by the contract that lists all modules.
UNLISTED = {
    "layers of shlcore": "shlcore/unlisted.py",
    "rooms of segapp": "segapp/unlisted.py",
    "rooms of segapp.qt": "segapp/qt/unlisted.py",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Copy both packages and the contracts; a cache makes all runs but the first quick."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in ("shlcore", "segapp"):
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def broken(tree):
    """Run the linter as developers do; return the names of the broken contracts."""
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command"
    command = [sys.executable, "-c", f"{code}; lint_imports_command()", "--no-logo"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    states = dict(re.findall(r"^(.+?) (KEPT|BROKEN)$", done.stdout, re.MULTILINE))
    assert set(states) == set(PLANTS), done.stdout + done.stderr
    found = {name for name, state in states.items() if state == "BROKEN"}
    assert done.returncode == bool(found)
    return found


def test_the_tree_as_it_is_keeps_all(tree):
    assert broken(tree) == set()


@pytest.mark.parametrize("contract", PLANTS)
def test_a_forbidden_import_breaks_its_contract_alone(tree, contract):
    name, line = PLANTS[contract]
    path = tree / name
    before = path.read_text(encoding="utf-8")
    path.write_text(f"{before}\n{line}\n", encoding="utf-8")
    try:
        assert broken(tree) == {contract}
    finally:
        path.write_text(before, encoding="utf-8")


def test_an_unlisted_module_breaks_its_contract(tree):
    paths = [tree / name for name in UNLISTED.values()]
    for path in paths:
        path.write_text('"""An unlisted module."""\n', encoding="utf-8")
    try:
        assert broken(tree) == set(UNLISTED)
    finally:
        for path in paths:
            path.unlink()
