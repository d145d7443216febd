"""Starting the window, or saying in one sentence why there is none."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.qt.display import what_is_missing
from segapp.staying import loaded_to_stay
from shlcore.threads import limited_threads

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from segapp.qt.window.main_window import MainWindow

SWITCH_SECONDS = 0.001
"""The learner's Python steps hand the interpreter over sooner, so that the window stays quick."""


def run(path: str | Path | None, language: str = "") -> int:
    """Open the window on an image, a project, a folder or nothing; return the exit code.

    Without a language it is the one chosen in the menu, or else the system's.
    """
    missing = what_is_missing()
    if missing is not None:
        sys.stderr.write(missing + "\n")
        return 1
    # One thread for sums, as in the commands: the same strokes give the same mask everywhere.
    with limited_threads(1):
        with loaded_to_stay():
            application, window = _opened(language)
        from segapp.qt.window.start import begin

        begin(window, Path(path) if path is not None else None)
        code = application.exec()
    if not window.threads_ended:
        # A long step of the learner is still under way; everything is saved, nobody waits.
        sys.stderr.flush()
        os._exit(code)
    return code


def _opened(language: str) -> tuple[QApplication, MainWindow]:
    """Return the program and its window, which has nothing open yet."""
    # Qt may be imported only now: without its libraries the import itself fails.
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication

    from segapp.qt.actions.icons import application_icon
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.language import speak
    from segapp.qt.session.session import Session
    from segapp.qt.window.build import build_window

    sys.setswitchinterval(SWITCH_SECONDS)
    application = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(application, QApplication):
        raise TypeError("a QCoreApplication without windows is running already")
    application.setApplicationName("segapp")
    application.setApplicationDisplayName("segapp")
    application.setDesktopFileName("segapp")
    application.setStyle("Fusion")
    # Every move of the hand counts, also while much is going on: X11's plugin would drop some.
    application.setAttribute(Qt.ApplicationAttribute.AA_CompressHighFrequencyEvents, on=False)
    application.setAttribute(Qt.ApplicationAttribute.AA_CompressTabletEvents, on=False)
    application.setWindowIcon(application_icon())
    # Ctrl+C in the terminal ends the program; the autosave keeps the strokes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    preferences = Preferences()
    speak(application, language or preferences.get("language", ""))
    window = build_window(Session(), preferences)
    sys.excepthook = window.report
    window.show()
    return application, window
