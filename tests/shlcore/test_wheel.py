"""The wheel of the learner alone: without Qt, and without segapp."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="builds need hatchling: pip install '.[test]'")
SHLCORE = Path(__file__).resolve().parents[2] / "shlcore"
FIT = """
import sys
for name in ("PySide6", "segapp", "skimage", "PIL"):
    sys.modules[name] = None  # an import of it fails
import shlcore
from shlcore import SHL
print(shlcore.__file__)
print(SHL(random_state=0).fit([[0.0], [1.0]], [0, 1]).predict([[0.9]]))
"""


@pytest.mark.slow
def test_the_learner_installs_alone(tmp_path):
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(words, cwd=SHLCORE, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("shlcore-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    modules = {path.relative_to(SHLCORE) for path in SHLCORE.rglob("*.py")}
    site = tmp_path / "site" / "shlcore"
    assert {path.relative_to(site) for path in site.rglob("*.py")} == modules
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert str(site) in done.stdout
    assert "[1]" in done.stdout
