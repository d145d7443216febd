"""Rules of the repository: its top, its checks, the links of its texts, types and warnings."""

import re
import subprocess
import warnings

import pytest

from tests.benchmarks.structure import ROOT, modules_of

MOST_OPEN_TYPES = 10
TOP = {
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "pyproject.toml"),
    *("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md"),
    *("assets", "segapp", "shlcore", "tests"),
}
FOLDERS = (".github", "assets", "segapp", "shlcore", "tests")
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
TEXTS += sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))


def links_of(text):
    """Yield the targets of links to files of the repository and to headings, as a pair."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        if "://" not in target:
            file, _, heading = target.partition("#")
            yield file, heading


def headings_of(text):
    """Return the anchors of a text: its own ones, and those that GitHub gives to headings."""
    return set(re.findall(r' id="([^"]+)"', text)) | {
        re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }


def broken_links(path):
    """Return the links of a text that lead nowhere."""
    broken = []
    for file, heading in links_of(path.read_text(encoding="utf-8")):
        target = path.parent / file if file else path
        if not target.exists():
            broken.append(f"{path.name}: {file}")
        elif heading and heading not in headings_of(target.read_text(encoding="utf-8")):
            broken.append(f"{path.name}: {file}#{heading}")
    return broken


def test_every_link_leads_somewhere():
    assert {path.parent.name for path in TEXTS} >= {"segapp", "shlcore", ".github"}
    assert [link for path in TEXTS for link in broken_links(path)] == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "here.md").write_text('# A heading, here\n<a id="own">\n')
    text = tmp_path / "map.md"
    text.write_text(
        "[a](here.md#a-heading-here), [b](gone.py), [c](#none), [d](here.md#there)\n"
        "[e](here.md#own)\n"
    )
    assert broken_links(text) == ["map.md: gone.py", "map.md: #none", "map.md: here.md#there"]


def test_open_types_are_few():
    lines = [line for module in modules_of("segapp") for line in module.text.splitlines()]
    assert len([line for line in lines if "noqa: ANN401" in line]) <= MOST_OPEN_TYPES


def test_the_type_marker_is_shipped():
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
    checks = re.findall(r"^\.venv/bin/((?:ruff|mypy|lint-imports).*)$", ci, re.MULTILINE)
    assert len(checks) == 4
    entries = re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE)
    assert set(checks) < set(entries)
    assert any("pytest" in entry for entry in entries)


def test_the_version_is_cited_and_has_its_changes():
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", changes, re.M)[:2] == ["Unreleased", version]


def warn_in(module):
    """Warn as a line of a module would."""
    exec("warnings.warn('old', DeprecationWarning)", {"__name__": module, "warnings": warnings})


@pytest.mark.parametrize("module", ["segapp.imaging.components", "shlcore", "tests.conftest"])
def test_warnings_of_our_own_code_are_errors(module):
    with pytest.raises(DeprecationWarning, match="old"):
        warn_in(module)


@pytest.mark.parametrize(
    "module", ["skimage.morphology.grayreconstruct", "segapplication", "numpy"]
)
def test_warnings_of_libraries_are_not(module):
    with warnings.catch_warnings(record=True) as caught:
        warn_in(module)
    assert [str(warning.message) for warning in caught] == ["old"]
