"""Help: the sheet of keys, what this program is, and what to tell about a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox, QWidget

from segapp.qt.actions.icons import application_icon
from segapp.qt.panels.problem_report import ProblemReport, problem_text, version_of
from segapp.qt.panels.shortcut_sheet import ShortcutSheet

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions
    from segapp.qt.actions.shortcuts import Shortcuts
    from segapp.qt.session.session import Session


def open_shortcuts(window: QWidget, actions: Actions, shortcuts: Shortcuts) -> None:
    """Open the shortcut sheet."""
    sheet = ShortcutSheet(actions, shortcuts, window)
    sheet.finished.connect(sheet.deleteLater)
    sheet.open()


def open_problem_report(window: QWidget, session: Session, log: str) -> None:
    """Show what helps to understand a problem."""
    report = ProblemReport(problem_text(session, log), window)
    report.finished.connect(report.deleteLater)
    report.open()


def open_about(window: QWidget) -> None:
    """Say what this program is."""
    box = QMessageBox(window)
    box.setWindowTitle(window.tr("About segapp"))
    box.setIconPixmap(application_icon().pixmap(64))
    told = window.tr(
        "Scribble on an object and on its surroundings; the rest is learnt from your strokes "
        "alone, by supervised hash learning through codewords (*SHL)."
    )
    box.setText(f"<h3>segapp {version_of('segapp')}</h3><p>{told}</p>")
    box.finished.connect(box.deleteLater)
    box.open()
