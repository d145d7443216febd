"""Rules of the house: small files, honest types, a tidy top of the repository, same checks."""

import re
import subprocess

import pytest

from tests.house import MOST_LINES, MOST_METHODS, ROOT, Module, modules_of

SEGAPP = modules_of("segapp")
# Functions of any type, with the reason. A new one needs a better reason than haste.
OPEN_TYPES = {
    ("values/settings.py", "_between"): "a field is typed as its value, and not as a field",
    ("values/checked.py", "from_json"): "returns what JSON holds",
    ("values/checked.py", "field"): "returns what JSON holds",
    ("values/plain_settings.py", "_plain"): "returns what JSON holds",
    ("values/plain_settings.py", "_typed"): "takes types as values",
    ("values/plain_settings.py", "_typed_dataclass"): "takes types as values",
    ("values/plain_settings.py", "_changed"): "changes a field of any type",
    ("values/plain_settings.py", "_parsed"): "takes types as values",
    ("values/plain_settings.py", "_names"): "takes types as values",
}
TOP = {
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "pyproject.toml"),
    *("LICENSE", "README.md", "assets", "segapp", "shlcore", "tests"),
}


@pytest.mark.parametrize("module", SEGAPP, ids=lambda module: module.name)
def test_files_and_classes_stay_small(module):
    assert not list(module.too_large())


def test_open_types_have_a_reason():
    found = {(module.name, name) for module in SEGAPP for name in module.excused("ANN401")}
    assert found == set(OPEN_TYPES)


def test_users_get_the_types_too():
    assert (ROOT / "segapp" / "py.typed").exists()


def test_nothing_else_lies_at_the_top():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone: Git lists no files here")
    assert {name.split("/")[0] for name in listed.split("\0") if name} == TOP


def test_hooks_and_ci_run_the_same_checks():
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    checks = re.findall(r"^\.venv/bin/(.+)$", ci, re.MULTILINE)
    assert len(checks) == 4
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert set(checks) < set(entries)
    assert any("pytest" in entry for entry in entries)


def test_what_is_too_large_is_found():
    methods = "".join(f"    def m{i}(self): ...\n" for i in range(MOST_METHODS + 1))
    large = Module("large.py", "class Large:\n" + methods + "\n" * MOST_LINES)
    assert [line.split(" has ")[0] for line in large.too_large()] == [
        "large.py",
        "Large in large.py",
    ]


def test_an_excused_function_is_found():
    text = "def f(\n    x,\n) -> Any:  # noqa: ANN401\n    return x\n\ndef g(): return 1\n"
    assert list(Module("module.py", text).excused("ANN401")) == ["f"]
