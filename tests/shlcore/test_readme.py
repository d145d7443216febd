"""The map of shlcore names what is there, and everything that is there."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "shlcore"
TEXT = (PACKAGE / "README.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT)))
HEADINGS = {
    re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
    for line in TEXT.splitlines()
    if line.startswith("#")
}


def names_in(path):
    """All classes, functions, methods, fields and constants that a module defines."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                found |= {
                    f"{node.name}.{inner.name}"
                    for inner in node.body
                    if isinstance(inner, ast.FunctionDef)
                }
            else:
                found |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.Name | ast.Attribute):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


@pytest.mark.parametrize("link", LINKS)
def test_every_link_leads_somewhere(link):
    assert (PACKAGE / link).exists()


def test_every_heading_that_is_linked_exists():
    linked = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert linked <= HEADINGS


def test_every_name_in_code_exists():
    every = set().union(*(names_in(path) for path in PACKAGE.rglob("*.py")))
    known = {
        *("shlcore", "shlcore.SHL", "pyproject.toml", "[tool.importlinter]", "sample_weight"),
        *("__main__.py", "baselines/__init__.py", "get_params", "clone"),
        *("n_iter_", "codewords_", "kernel_weights_", "transduction_"),
    }
    told = set(re.findall(r"`([^`]+)`", TEXT))
    formulas = {name for name in told if re.search(r"[ \[(]", name)} - known
    assert all("." not in name for name in formulas - {"k(x, x) = 1"})
    named = {name.removesuffix("()") for name in told - formulas - known}
    methods = {name for name in named if name.startswith(("SHL.",))}
    assert {name.removeprefix("SHL.") for name in methods} <= every
    assert named - methods <= every


def test_a_name_beside_a_file_is_in_that_file():
    rows = re.findall(r"\[[^\]]+\]\(([\w/]+\.py)\) ((?:`[^`]+`(?:, )?)+)", TEXT)
    assert len(rows) > 30
    for file, names in rows:
        wanted = set(re.findall(r"`([^`]+)`", names))
        assert wanted <= names_in(PACKAGE / file), file


def test_every_module_is_on_the_map():
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert modules <= {Path(link).name for link in LINKS}
