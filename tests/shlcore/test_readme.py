"""The map of shlcore names what is there, and everything that is there."""

import re
from pathlib import Path

from tests.markdown_map import Map, names_in

PACKAGE = Path(__file__).parents[2] / "shlcore"
MAP = Map(PACKAGE / "README.md")


def test_every_link_leads_somewhere():
    assert not MAP.missing_links()


def test_every_heading_that_is_linked_exists():
    assert not MAP.missing_headings()


def test_every_name_in_code_exists():
    every = set().union(*(names_in(path) for path in PACKAGE.rglob("*.py")))
    known = {
        *("shlcore", "shlcore.SHL", "pyproject.toml", "[tool.importlinter]", "sample_weight"),
        *("__main__.py", "baselines/__init__.py", "get_params", "clone"),
        *("--help", "--rows", "SMALL", "stage_costs_", "__version__"),
        *("n_iter_", "codewords_", "kernel_weights_", "transduction_"),
    }
    told = set(re.findall(r"`([^`]+)`", MAP.text))
    formulas = {name for name in told if re.search(r"[ \[(]", name)} - known
    assert all("." not in name for name in formulas - {"k(x, x) = 1"})
    named = {name.removesuffix("()") for name in told - formulas - known}
    methods = {name for name in named if name.startswith(("SHL.",))}
    assert {name.removeprefix("SHL.") for name in methods} <= every
    assert named - methods <= every


def test_a_name_beside_a_file_is_in_that_file():
    assert len(list(MAP.named())) > 30
    assert not MAP.wrong_names()


def test_every_module_is_on_the_map():
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert modules <= {Path(link).name for link in MAP.links}
