"""Audit of network connections while the program works.

``python -m tests.campaign.quiet_program FOLDER`` prints what it found, and nothing when there
was nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

CALLS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto")
seen = []


def _listen(event, arguments):
    if event in CALLS:
        seen.append(f"{event} {arguments[1:]}")


sys.addaudithook(_listen)

from PySide6.QtCore import Qt  # noqa: E402 - the hook must see the imports too
from PySide6.QtTest import QTest  # noqa: E402

from segapp.engine.trainer import Trainer  # noqa: E402
from segapp.model.document import Stroke  # noqa: E402
from segapp.qt.dialogs.export_dialog import ExportDialog  # noqa: E402
from segapp.qt.files import file_dialogs  # noqa: E402
from segapp.qt.files.preferences import Preferences  # noqa: E402
from segapp.qt.session.session import Session  # noqa: E402
from segapp.qt.window.startup import build_window, open_initial  # noqa: E402
from tests.campaign.folders import application, draw  # noqa: E402
from tests.campaign.random_users import wait  # noqa: E402


def work(folder):
    """Open, paint, learn, save, export and close."""
    application()
    file_dialogs.ask_project = lambda _, proposed: proposed
    window = build_window(Session(Trainer), Preferences(), folder / "recovery")
    window.show()
    open_initial(window, draw(folder / "picture.png"))
    wait(lambda: window.session.state is not None, "the picture")
    window.session.add_stroke(Stroke(((6.0, 8.0), (6.0, 30.0)), 2.0, 0))
    window.session.add_stroke(Stroke(((40.0, 8.0), (40.0, 30.0)), 2.0, 1))
    wait(lambda: window.session.answers.is_current, "the answer")
    window.commands["export"].trigger()
    dialog = window.findChild(ExportDialog)
    wait(dialog._export.isEnabled, "the export")
    QTest.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    wait(lambda: list(folder.glob("*-mask.png")), "the exported file")
    wait(lambda: not window.findChildren(ExportDialog), "the dialog's end")
    window.commands["save"].trigger()
    wait(lambda: list(folder.glob("*.segapp")), "the project")
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    window.close()
    return [*seen, *(f"open {link}" for link in links if link.startswith("socket:"))]


if __name__ == "__main__":
    sys.stdout.write("\n".join(work(Path(sys.argv[1]))))
