"""Runs of the examples, and the size of their pictures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "assets" / "examples"
SMALL = {
    "two_moons": ("--samples", "40"),
    "digits_search": ("--samples", "300"),
    "open_set": ("--samples", "200"),
    "big_memmap": ("--rows", "800"),
}
LARGEST = 100_000  # bytes of a picture


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.slow
def test_an_example_runs_and_draws(name, tmp_path):
    pytest.importorskip("matplotlib")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), "--out", str(tmp_path), *SMALL[name]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    picture = tmp_path / f"{name}.png"
    assert 1000 < picture.stat().st_size < LARGEST


def test_every_example_is_in_the_readme_with_its_picture():
    page = (ROOT / "shlcore" / "README.md").read_text(encoding="utf-8")
    for name in SMALL:
        assert f"../assets/examples/{name}.py" in page
        assert re.search(rf"!\[[^\]]+\]\(\.\./assets/examples/{name}\.png\)", page)
        assert (EXAMPLES / f"{name}.png").stat().st_size < LARGEST
