import os
import subprocess
import sys

import pytest

from segapp.qt import application


def run(**environment):
    """Start the program in a fresh process; return its exit code and what it says."""
    kept = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    kept.pop("QT_QPA_PLATFORM", None)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from segapp.qt.application import run; sys.exit(run(None))",
        ],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
@pytest.mark.parametrize(
    ("environment", "words"),
    [({}, "There is no display"), ({"DISPLAY": ":987"}, "The display :987 does not answer")],
)
def test_without_a_display_one_sentence_says_what_to_do(environment, words):
    code, said = run(**environment)
    assert code == 1
    assert words in said
    assert "segapp batch" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("libEGL.so.1: cannot open shared object file: No such file", "apt install libegl1"),
        ("libxcb-cursor.so.0: cannot open shared object file", "apt install libxcb-cursor0"),
        ("libodd.so.3: cannot open shared object file", "libodd.so.3"),
        ("No module named 'PySide6'", "reinstall PySide6-Essentials"),
    ],
)
def test_a_missing_library_is_named_with_its_remedy(reason, words):
    sentence = application._missing_library_message(reason)
    assert words in sentence
    assert "segapp batch" in sentence


def test_qt_that_cannot_be_imported_is_reported(monkeypatch):
    def refuse(name):
        raise ImportError("libxkbcommon.so.0: cannot open shared object file")

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(application.importlib, "import_module", refuse)
    assert "libxkbcommon0" in application.missing_requirement()


def test_a_plug_in_that_cannot_be_loaded_is_reported(monkeypatch):
    def refuse(name):
        raise OSError("libxcb-cursor.so.0: cannot open shared object file")

    monkeypatch.setattr(application.ctypes, "CDLL", refuse)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    assert "libxcb-cursor0" in application.missing_requirement()


def test_platforms_without_a_screen_need_none(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert application.missing_requirement() is None
