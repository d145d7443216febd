"""What a window shows first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.window.main_window import MainWindow


def begin(window: MainWindow, path: Path | None) -> None:
    """Open what was asked for, or go on where the last window ended.

    What a crash left behind is offered first. Who starts for the first time gets a sample.
    """
    restored = window.file_commands.offer_left_behind()
    recent = [place for place in window.preferences.recent() if place.exists()]
    if path is not None:
        window.files.open(path)
    elif restored:
        return
    elif recent:
        window.files.open(recent[0])
    else:
        window.hint.begin()
        window.file_commands.open_sample()
