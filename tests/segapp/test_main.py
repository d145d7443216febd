import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_info

from segapp import __main__ as program
from segapp.cli.console import report_failure
from shlcore.parallel import limit_threads


@pytest.fixture
def window(monkeypatch):
    """A window that only notes what it was opened with."""
    opened = []
    app = SimpleNamespace(run=lambda path, _language: opened.append(path) or 7)
    monkeypatch.setitem(sys.modules, "segapp.qt.application", app)
    return opened


@pytest.mark.parametrize("words", [[], ["cat é.jpg"], ["some/folder"]])
def test_without_a_command_the_window_opens(window, words):
    assert program.main(words) == 7
    assert window == [Path(words[0]) if words else None]


def test_a_file_that_is_named_like_a_command_needs_its_folder(window):
    assert program.main(["./batch"]) == 7
    assert window == [Path("batch")]


def test_without_qt_a_sentence_names_the_remedy_and_the_way_round(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "segapp.qt.application", None)
    assert program.main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("segapp: the window cannot be opened, because Qt lacks something")
    assert "libegl1" in said
    assert said.endswith("segapp batch.\n")


def test_ctrl_c_is_no_traceback(monkeypatch, capsys):
    def interrupted(_path, _language):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "segapp.qt.application", SimpleNamespace(run=interrupted))
    assert program.main([]) == 130
    assert capsys.readouterr().err == "segapp: stopped\n"


def test_commands_have_one_thread(monkeypatch, tmp_path):
    """Sums in another order differ in their last bits, and so may the masks."""
    counts = set()

    def count(_arguments):
        counts.update(library["num_threads"] for library in threadpool_info())
        return 0

    monkeypatch.setattr("segapp.cli.batch.run", count)
    with limit_threads(2):
        program.main(["batch", "--out", str(tmp_path)])
    assert counts == {1}


def test_nothing_slow_is_loaded_before_ctrl_c_is_looked_after():
    """Until then, Python itself answers with a traceback: some hundredths of a second."""
    code = (
        "import sys; old = set(sys.modules); import segapp.__main__; print(*{*sys.modules} - old)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()} - {"segapp"}
    assert loaded <= sys.stdlib_module_names
    assert not loaded & {"argparse", "pathlib", "typing", "logging", "importlib", "re", "json"}


def test_a_full_disk_is_a_sentence(capsys):
    error = OSError(28, "No space left on device", "out/mask.png")
    assert report_failure(error, as_json=False) == 1
    assert capsys.readouterr().err == "segapp: out/mask.png: No space left on device.\n"


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["batch", "--help"]])
def test_help_and_version(capsys, words):
    with pytest.raises(SystemExit) as end:
        program.main(words)
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(("usage: segapp", "segapp "))


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "segapp", "batch", "nowhere", "--out", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "segapp: There is no folder nowhere.\n"


def test_the_window_opens_without_what_only_learning_needs():
    """Heavy libraries load in a thread, behind the first paint."""
    script = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window.startup import build_window
application = QApplication([])
window = build_window(Session(), Preferences(), Path(sys.argv[1]))
window.show()
application.processEvents()
heavy = {"sklearn", "skimage", "matplotlib", "scipy.ndimage", "scipy.sparse", "scipy.linalg"}
heavy |= {"asyncio", "http.client", "importlib.metadata", "tifffile"}
print("loaded:", *heavy & set(sys.modules))
"""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script, folder],
            env=environment | {"XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    assert done.stdout.split() == ["loaded:"]
