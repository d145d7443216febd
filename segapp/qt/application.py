"""Start of the Qt application."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import importlib.util
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.engine.loading import exempt_from_gc
from shlcore.parallel import limit_threads

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from segapp.qt.window.main_window import MainWindow


_INSTEAD = "without a window, use `segapp batch` or `segapp segment`"
# Debian's and Ubuntu's packages of the libraries that Qt needs and does not bring.
_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xinerama.so.0": "libxcb-xinerama0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
SWITCH_SECONDS = 0.001
"""Interpreter switch interval: the window's thread waits no longer for the learner's."""


def missing_requirement() -> str | None:
    """Return a sentence with the remedy, or None if a window can be opened."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0]
    on_x11_or_wayland = sys.platform.startswith(("linux", "freebsd"))
    if platform not in ("", "xcb", "wayland"):
        on_x11_or_wayland = False
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    if on_x11_or_wayland and not has_display:
        return (
            "There is no display: start segapp on a desktop, with `ssh -X` or under `xvfb-run`; "
            f"{_INSTEAD}."
        )
    try:
        for module in ("PySide6.QtCore", "PySide6.QtGui", "PySide6.QtWidgets", "PySide6.QtSvg"):
            importlib.import_module(module)
    except ImportError as error:
        return _missing_library_message(str(error))
    if on_x11_or_wayland and platform != "wayland" and not os.environ.get("WAYLAND_DISPLAY"):
        return _missing_on_x11()
    return None


def _missing_on_x11() -> str | None:
    """Load Qt's X11 plug-in and connect, as Qt aborts when either fails."""
    package = importlib.util.find_spec("PySide6")
    folder = Path(package.origin).parent if package and package.origin else None
    plugin = folder / "Qt" / "plugins" / "platforms" / "libqxcb.so" if folder else None
    if plugin is not None and plugin.is_file():
        try:
            ctypes.CDLL(str(plugin))
        except OSError as error:
            return _missing_library_message(str(error))
    if not _display_responds():
        name = os.environ.get("DISPLAY", "")
        return (
            f"The display {name} does not answer: check DISPLAY, or start segapp under "
            f"`xvfb-run`; {_INSTEAD}."
        )
    return None


def _display_responds() -> bool:
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # Qt reports it
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    broken = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not broken


def _missing_library_message(reason: str) -> str:
    """Return a sentence with the package to install, from the loader's message."""
    found = re.search(r"(lib[\w.+-]+\.so[\d.]*)", reason)
    if found is None:
        return f"Qt cannot be loaded ({reason}): reinstall PySide6-Essentials; {_INSTEAD}."
    library = found.group(1)
    package = _PACKAGES.get(library)
    remedy = f"install it, with `apt install {package}` for instance" if package else "install it"
    return f"The system library {library}, which Qt needs, is missing: {remedy}; {_INSTEAD}."


def run(path: str | Path | None, language: str = "") -> int:
    """Open the window on a path or nothing; return the exit code.

    The default language is the one chosen in the menu, or else the system's.
    """
    message = missing_requirement()
    if message is not None:
        sys.stderr.write(message + "\n")
        return 1
    # One thread for sums, as in the commands: the same strokes give the same mask everywhere.
    with limit_threads(1):
        with exempt_from_gc():
            application, window = _create_window(language)
        from segapp.qt.window.startup import open_initial

        open_initial(window, Path(path) if path is not None else None)
        code = application.exec()
    if not window.threads_ended:
        # A long step of the learner is still running, and everything is saved.
        sys.stderr.flush()
        os._exit(code)
    return code


def _create_window(language: str) -> tuple[QApplication, MainWindow]:
    """Return the application and its window, without a picture."""
    # A late import, as it fails without Qt's libraries.
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication

    from segapp.qt.actions import application_icon
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.i18n import install_language
    from segapp.qt.session.session import Session
    from segapp.qt.window.startup import build_window

    sys.setswitchinterval(SWITCH_SECONDS)
    application = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(application, QApplication):
        raise TypeError("a QCoreApplication without windows is running already")
    application.setApplicationName("segapp")
    application.setApplicationDisplayName("segapp")
    application.setDesktopFileName("segapp")
    application.setStyle("Fusion")
    # X11's plugin would drop mouse moves while the window is busy.
    application.setAttribute(Qt.ApplicationAttribute.AA_CompressHighFrequencyEvents, on=False)
    application.setAttribute(Qt.ApplicationAttribute.AA_CompressTabletEvents, on=False)
    application.setWindowIcon(application_icon())
    # Ctrl+C in the terminal ends the program; the autosave has the strokes.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    preferences = Preferences()
    install_language(application, language or preferences.get("language", ""))
    window = build_window(Session(), preferences)
    sys.excepthook = window.report
    window.show()
    return application, window
