"""Making a window that works: its parts, connected, as they were left last time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.window.main_window import MainWindow
from segapp.qt.window.window_state import restore_window, store_window
from segapp.qt.window.wiring import connect_window

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


def build_window(
    session: Session, preferences: Preferences, autosave_root: Path | None = None
) -> MainWindow:
    """Return a window on a session; it has nothing open yet and is not shown."""
    window = MainWindow(session, preferences, autosave_root)
    connect_window(window)
    restore_window(window)
    window.closing.connect(lambda: store_window(window))
    window.show_brush()
    window.show_state()
    return window
