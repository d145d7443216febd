"""Questions to the user about files: which to open, where to save, what of unsaved work."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from segapp.files.images import IMAGE_SUFFIXES
from segapp.files.project_file import PROJECT_SUFFIX

if TYPE_CHECKING:
    from segapp.qt.session.picture_state import PictureState


class Unsaved(Enum):
    """What to do with strokes that are in no file."""

    SAVE = "save"
    DISCARD = "discard"
    CANCEL = "cancel"


def tr(text: str) -> str:
    """Translate a text of the dialogs."""
    return QCoreApplication.translate("FileDialogs", text)


def _path(chosen: tuple[str, str]) -> Path | None:
    return Path(chosen[0]) if chosen[0] else None


def ask_open(parent: QWidget, folder: Path) -> Path | None:
    """Ask for an image or a project."""
    patterns = " ".join(f"*{suffix}" for suffix in (*IMAGE_SUFFIXES, PROJECT_SUFFIX))
    filters = f"{tr('Images and projects')} ({patterns});;{tr('All files')} (*)"
    return _path(QFileDialog.getOpenFileName(parent, tr("Open"), str(folder), filters))


def ask_image(parent: QWidget, title: str, folder: Path) -> Path | None:
    """Ask for an image file."""
    patterns = " ".join(f"*{suffix}" for suffix in IMAGE_SUFFIXES)
    filters = f"{tr('Images')} ({patterns});;{tr('All files')} (*)"
    return _path(QFileDialog.getOpenFileName(parent, title, str(folder), filters))


def ask_folder(parent: QWidget, folder: Path) -> Path | None:
    """Ask for a folder of images."""
    chosen = QFileDialog.getExistingDirectory(parent, tr("Open folder"), str(folder))
    return Path(chosen) if chosen else None


def ask_project(parent: QWidget, proposed: Path) -> Path | None:
    """Ask where a project goes."""
    filters = f"{tr('Projects')} (*{PROJECT_SUFFIX})"
    path = _path(QFileDialog.getSaveFileName(parent, tr("Save project"), str(proposed), filters))
    return path.with_suffix(PROJECT_SUFFIX) if path and not path.suffix else path


def ask_model(parent: QWidget, proposed: Path, suffix: str, *, save: bool) -> Path | None:
    """Ask for a file of a learnt model."""
    filters = f"{tr('Learnt models')} (*{suffix})"
    if save:
        path = _path(QFileDialog.getSaveFileName(parent, tr("Save model"), str(proposed), filters))
        return path.with_suffix(suffix) if path and not path.suffix else path
    return _path(QFileDialog.getOpenFileName(parent, tr("Apply model"), str(proposed), filters))


def ask_unsaved(parent: QWidget, states: list[PictureState]) -> Unsaved:
    """Ask what to do with unsaved strokes before the window closes."""
    names = [state.path.name for state in states]
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(tr("Unsaved strokes"))
    if len(names) == 1:
        box.setText(tr("Save the strokes on {} before closing?").format(names[0]))
    else:
        box.setText(tr("Save the strokes on {} images before closing?").format(len(names)))
        box.setDetailedText("\n".join(names))
    box.setInformativeText(tr("Otherwise they are lost."))
    buttons = QMessageBox.StandardButton
    box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
    box.setDefaultButton(buttons.Save)
    choices = {buttons.Save: Unsaved.SAVE, buttons.Discard: Unsaved.DISCARD}
    return choices.get(buttons(box.exec()), Unsaved.CANCEL)


def ask_restore(parent: QWidget, states: list[PictureState]) -> Unsaved:
    """Ask what to do with strokes that a crash left behind: keep them for later is CANCEL."""
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Information)
    box.setWindowTitle(tr("Recovered strokes"))
    names = ", ".join(state.path.name for state in states[:5])
    box.setText(tr("segapp ended without saving. Restore the strokes on {}?").format(names))
    box.setInformativeText(tr("Until you save or discard them, they are kept."))
    restore = box.addButton(tr("Restore"), QMessageBox.ButtonRole.AcceptRole)
    discard = box.addButton(tr("Discard"), QMessageBox.ButtonRole.DestructiveRole)
    box.addButton(tr("Later"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(restore)
    box.exec()
    if box.clickedButton() is restore:
        return Unsaved.SAVE
    return Unsaved.DISCARD if box.clickedButton() is discard else Unsaved.CANCEL


def complain(parent: QWidget, sentence: str) -> None:
    """Say what went wrong, and wait until it is read."""
    box = QMessageBox(
        QMessageBox.Icon.Warning, "segapp", sentence, QMessageBox.StandardButton.Ok, parent
    )
    box.open()
