"""Report a problem: versions and log as a text to read, copy and save. Nothing is sent."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.dialog_size import open_at
from segapp.qt.files.default_folder import documents_folder
from segapp.qt.files.small_files import ask_where, save_bytes
from segapp.values.plain_settings import to_plain
from segapp.values.settings import DEFAULT_SETTINGS, PRESETS

if TYPE_CHECKING:
    from segapp.qt.session.session import Session
    from segapp.values.settings import Settings

_PACKAGES = (
    "segapp",
    "PySide6-Essentials",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "pillow",
    "tifffile",
)


def problem_text(session: Session, log: str) -> str:
    """Return versions, the machine, the open picture's size and the log, without private names.

    Where the user's folder is named, it is shortened; the picture's name and pixels stay out.
    """
    lines = ["# Versions", *(f"{name} {version_of(name)}" for name in _PACKAGES)]
    lines += [f"Python {platform.python_version()}", f"Qt {qVersion()}", "", "# Machine"]
    lines += [platform.platform(), f"Qt platform {QGuiApplication.platformName()}"]
    for screen in QGuiApplication.screens():
        size = screen.size()
        lines.append(f"screen {size.width()} x {size.height()}, {screen.devicePixelRatio():g} x")
    lines += ["", "# Picture", *_picture(session), "", "# Log", log or "(nothing yet)"]
    return "\n".join(lines).replace(str(Path.home()), "~") + "\n"


def version_of(name: str) -> str:
    """Return the version of a package, or that there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _picture(session: Session) -> list[str]:
    if session.picture is None:
        return ["none"]
    height, width = session.picture.rgb.shape[:2]
    document = session.document
    return [
        f"{width} x {height}",
        f"{len(document.classes)} classes, {len(document.strokes)} strokes",
        *_settings(session.settings),
        f"{session.answers.progress.stage.value}: {session.answers.progress.text}",
    ]


def _settings(settings: Settings) -> list[str]:
    """Return the name of the way that was chosen, or what differs from the usual one."""
    for name, preset in PRESETS.items():
        if settings == preset:
            return [f"settings: {name}"]
    usual, own = to_plain(DEFAULT_SETTINGS), to_plain(settings)
    changed = [f"{name} = {own[name]}" for name in own if own[name] != usual[name]]
    return [f"settings: {', '.join(changed)}"]


class ProblemReport(QDialog):
    """Shows the text, which the user may shorten before it goes anywhere."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Report a Problem"))
        told = QLabel(
            self.tr(
                "This is what helps to understand a problem. Nothing is sent: copy or save it, "
                "take out what nobody should see, and add what you did and what happened."
            )
        )
        told.setWordWrap(True)
        self._text = QPlainTextEdit(text)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName(self.tr("Text of the report"))
        self._text.setAccessibleDescription(self.tr("It can be changed before it is copied"))
        self._text.setTabChangesFocus(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        role = QDialogButtonBox.ButtonRole.ActionRole
        copy = buttons.addButton(self.tr("Copy"), role)
        copy.setToolTip(self.tr("Copy the text to the clipboard"))
        copy.clicked.connect(self._copy)
        save = buttons.addButton(self.tr("Save…"), role)
        save.setToolTip(self.tr("Save the text to a file"))
        save.clicked.connect(self._save)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(told)
        layout.addWidget(self._text, 1)
        layout.addWidget(buttons)
        open_at(self, 720, 520)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text.toPlainText())

    def _save(self) -> None:
        proposed = documents_folder() / "segapp-problem.txt"
        path = ask_where(self, self.windowTitle(), proposed, (self.tr("Text") + " (*.txt)",))
        if path is not None:
            save_bytes(self, path, self._text.toPlainText().encode("utf-8"))
