"""About dialog and problem report."""

from __future__ import annotations

import logging
import platform
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QMessageBox,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from segapp import version_of
from segapp.app.project_store import documents_folder
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS, to_plain
from segapp.qt.actions.actions import application_icon
from segapp.qt.dialogs.shortcut_sheet import ShortcutSheet
from segapp.qt.files.file_dialogs import ask_where, save_bytes
from segapp.qt.widgets.layouts import open_at

if TYPE_CHECKING:
    from segapp.model.settings import Settings
    from segapp.qt.actions.actions import Actions, Shortcuts
    from segapp.qt.session.session import Session


# Lines of the log, for hours of work.
_MAX_LINES = 400


class EventLog(logging.Handler):
    """A handler that keeps the last lines of the log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, with its traceback."""
        self._lines.append(self.format(record))

    def note(self, text: str, level: int = logging.INFO) -> None:
        """Keep a text that is not empty."""
        if text:
            self.handle(logging.LogRecord("segapp", level, "", 0, text, None, None))

    @property
    def text(self) -> str:
        """The kept lines."""
        return "\n".join(self._lines)


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
    """Return versions, machine, the picture's size and the log.

    The path of the user's folder is shortened; the picture's name and pixels are left out.
    """
    lines = ["# Versions", *(f"{name} {version_of(name)}" for name in _PACKAGES)]
    lines += [f"Python {platform.python_version()}", f"Qt {qVersion()}", "", "# Machine"]
    lines += [platform.platform(), f"Qt platform {QGuiApplication.platformName()}"]
    for screen in QGuiApplication.screens():
        size = screen.size()
        lines.append(f"screen {size.width()} x {size.height()}, {screen.devicePixelRatio():g} x")
    lines += ["", "# Picture", *_picture(session), "", "# Log", log or "(nothing yet)"]
    return "\n".join(lines).replace(str(Path.home()), "~") + "\n"


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
    """Return the name of the preset, or the settings that differ from the defaults."""
    for name, preset in PRESETS.items():
        if settings == preset:
            return [f"settings: {name}"]
    usual, own = to_plain(DEFAULT_SETTINGS), to_plain(settings)
    changed = [f"{name} = {own[name]}" for name in own if own[name] != usual[name]]
    return [f"settings: {', '.join(changed)}"]


class ProblemReport(QDialog):
    """Dialog with the text of a problem report, which the user may edit and copy."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Report a Problem"))
        told = QLabel(
            self.tr(
                "This information helps to understand a problem. Nothing is sent: "
                "copy or save it, remove what is private, and add what you did and "
                "what happened."
            )
        )
        told.setWordWrap(True)
        self._text = QPlainTextEdit(text)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName(self.tr("Text of the report"))
        self._text.setAccessibleDescription(self.tr("You can edit it before you copy it"))
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


def open_shortcuts(window: QWidget, actions: Actions, shortcuts: Shortcuts) -> None:
    """Open the shortcut sheet."""
    sheet = ShortcutSheet(actions, shortcuts, window)
    sheet.finished.connect(sheet.deleteLater)
    sheet.open()


def open_problem_report(window: QWidget, session: Session, log: str) -> None:
    """Open the problem report."""
    report = ProblemReport(problem_text(session, log), window)
    report.finished.connect(report.deleteLater)
    report.open()


def open_about(window: QWidget) -> None:
    """Open the dialog about the program."""
    box = QMessageBox(window)
    box.setWindowTitle(window.tr("About segapp"))
    box.setIconPixmap(application_icon().pixmap(64))
    told = window.tr(
        "Scribble on an object and on its surroundings; the rest is learnt from your "
        "strokes alone, by supervised hash learning through codewords (*SHL). No "
        "telemetry, no network: nothing leaves your computer."
    )
    box.setText(f"<h3>segapp {version_of('segapp')}</h3><p>{told}</p>")
    box.finished.connect(box.deleteLater)
    box.open()
