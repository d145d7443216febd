"""Installed like any program: the built wheel and sdist start the window in an empty environment.

"Empty" means an environment that has nothing of this project; the libraries it depends on are lent
from the one that runs the tests, as they would take minutes to install.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="builds need hatchling: pip install '.[test]'")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
# Starts the program as its command does, waits for the first picture in the window, and closes it.
LOOK = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
import segapp
from segapp.__main__ import main

application = QApplication([])

def look():
    for window in QApplication.topLevelWidgets():
        if isinstance(window, QMainWindow) and window.isVisible() and window.session.picture:
            print(segapp.__file__, window.windowTitle(), sep="\\n", flush=True)
            window.close()

timer = QTimer(interval=50)
timer.timeout.connect(look)
timer.start()
QTimer.singleShot(60_000, application.quit)
sys.exit(main([]))
"""


def run(*words, **options):
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(kind, folder):
    """Build into a folder, without fetching anything; return the one file that is there."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder, cwd=ROOT)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return built("sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory, sdist):
    """Return the wheel of this checkout and the one of its sdist."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    from_sdist = tmp_path_factory.mktemp("from_sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", from_sdist, cwd=source)
    return {
        "wheel": built("wheel", tmp_path_factory.mktemp("wheel")),
        "sdist": next(from_sdist.iterdir()),
    }


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def environment(request, wheels, tmp_path_factory):
    """Return the folder of an environment with the program in it, and none of this checkout."""
    folder = tmp_path_factory.mktemp(f"environment_{request.param}")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    site = sysconfig.get_path("purelib", "venv", vars={"base": str(folder)})
    lent = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    Path(site, "lent.pth").write_text("\n".join(dict.fromkeys(lent)) + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python_of(folder), "install", "-q")
    run(*pip, "--no-deps", "--no-index", "--disable-pip-version-check", wheels[request.param])
    return folder


def python_of(folder):
    return Path(sysconfig.get_path("scripts", "venv", vars={"base": str(folder)}), "python")


def clean(tmp_path):
    """Return an environment without this checkout, and with folders of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    return kept | own | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}


def test_the_window_starts(environment, tmp_path):
    told = run(
        python_of(environment), "-c", LOOK, cwd=tmp_path, env=clean(tmp_path), timeout=110
    ).splitlines()
    assert Path(told[-2]).is_relative_to(environment)
    assert told[-1].startswith("coffee.jpg")


def test_the_commands_are_there(environment, tmp_path):
    scripts = python_of(environment).parent
    assert run(scripts / "segapp", "--version", cwd=tmp_path, env=clean(tmp_path)).startswith(
        "segapp "
    )
    help_text = run(scripts / "shlcore", "--help", cwd=tmp_path, env=clean(tmp_path))
    assert "usage" in help_text


def test_both_wheels_hold_the_same(wheels):
    def content(path):
        with zipfile.ZipFile(path) as archive:
            return {
                name: archive.read(name) for name in archive.namelist() if "dist-info" not in name
            }

    assert content(wheels["wheel"]) == content(wheels["sdist"])


def test_a_wheel_holds_what_the_program_reads_and_no_pictures_for_readers(wheels):
    with zipfile.ZipFile(wheels["wheel"]) as archive:
        parts = {name.split("/")[2] for name in archive.namelist() if "/assets/" in name}
    assert parts == {"guide", "icon.svg", "icons", "samples", "translations"}
