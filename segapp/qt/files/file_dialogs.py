"""File dialogs and questions about files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from segapp.app.recovery import AnyCopy, RecoveryCopy, UnreadableCopy
from segapp.io.images import IMAGE_SUFFIXES
from segapp.io.project import PROJECT_SUFFIX
from segapp.model.validation import sanitize
from segapp.qt.i18n import as_plain, translate
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from segapp.app.state import PictureState


class Unsaved(Enum):
    """The answer to the question about strokes that are in no file."""

    SAVE = "save"
    DISCARD = "discard"
    CANCEL = "cancel"


class Conflict(Enum):
    """The answer to the question about a project that another window has changed."""

    REPLACE = "replace"
    SAVE_AS = "save as"
    OPEN_THEIRS = "open theirs"
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


def ask_mask(parent: QWidget, title: str, folder: Path) -> Path | None:
    """Ask for a mask: a picture, or JSON of COCO or LabelMe."""
    patterns = " ".join(f"*{suffix}" for suffix in (*IMAGE_SUFFIXES, ".json"))
    filters = f"{tr('Masks')} ({patterns});;{tr('All files')} (*)"
    return _path(QFileDialog.getOpenFileName(parent, title, str(folder), filters))


def ask_folder(parent: QWidget, folder: Path) -> Path | None:
    """Ask for a folder of images."""
    chosen = QFileDialog.getExistingDirectory(parent, tr("Open folder"), str(folder))
    return Path(chosen) if chosen else None


def ask_saving_folder(parent: QWidget, proposed: Path) -> Path | None:
    """Ask where projects go that cannot be beside their images."""
    title = tr("Save the strokes in")
    chosen = QFileDialog.getExistingDirectory(parent, title, str(proposed))
    return Path(chosen) if chosen else None


def ask_project(parent: QWidget, proposed: Path) -> Path | None:
    """Ask where a project goes."""
    filters = f"{tr('Projects')} (*{PROJECT_SUFFIX})"
    path = _path(QFileDialog.getSaveFileName(parent, tr("Save project"), str(proposed), filters))
    return path.with_suffix(PROJECT_SUFFIX) if path and not path.suffix else path


def ask_table(parent: QWidget, proposed: Path) -> Path | None:
    """Ask where a table goes."""
    filters = f"{tr('Tables')} (*.csv)"
    path = _path(QFileDialog.getSaveFileName(parent, tr("Export CSV"), str(proposed), filters))
    return path.with_suffix(".csv") if path and not path.suffix else path


def ask_model(parent: QWidget, proposed: Path, suffix: str, *, save: bool) -> Path | None:
    """Ask for a file of a learnt model."""
    filters = f"{tr('Learnt models')} (*{suffix})"
    if save:
        path = _path(QFileDialog.getSaveFileName(parent, tr("Save model"), str(proposed), filters))
        return path.with_suffix(suffix) if path and not path.suffix else path
    return _path(QFileDialog.getOpenFileName(parent, tr("Apply model"), str(proposed), filters))


def _plain_box(parent: QWidget) -> QMessageBox:
    """Return a box that shows names of files as they are, and not as HTML."""
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    return box


def ask_unsaved(
    parent: QWidget, states: list[PictureState], replaced: list[PictureState]
) -> Unsaved:
    """Ask whether to save unsaved strokes before the window closes.

    Strokes that were replaced by an opened project are named as such.
    """
    names = [sanitize(state.path.name) for state in states]
    names += [
        tr("{}, under the opened project").format(sanitize(state.path.name)) for state in replaced
    ]
    box = _plain_box(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(tr("Unsaved strokes"))
    if len(names) == 1 and replaced:
        text = tr("Save the strokes on {} that a project was opened over, before closing?")
        box.setText(text.format(sanitize(replaced[0].path.name)))
    elif len(names) == 1:
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


def ask_conflict(parent: QWidget, project: Path) -> Conflict:
    """Ask about a project that another window or program has changed."""
    box = _plain_box(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(tr("Changed by others"))
    box.setText(tr("{} was changed by another window or program.").format(sanitize(project.name)))
    box.setInformativeText(tr("Opening the other one keeps your strokes: undo brings them back."))
    roles = QMessageBox.ButtonRole
    choices = {
        box.addButton(tr("Save as…"), roles.AcceptRole): Conflict.SAVE_AS,
        box.addButton(tr("Open the other one"), roles.ActionRole): Conflict.OPEN_THEIRS,
        box.addButton(tr("Replace it"), roles.DestructiveRole): Conflict.REPLACE,
        box.addButton(QMessageBox.StandardButton.Cancel): Conflict.CANCEL,
    }
    box.exec()
    clicked = box.clickedButton()
    found = (choice for button, choice in choices.items() if button is clicked)
    return next(found, Conflict.CANCEL)


@dataclass(frozen=True, slots=True)
class Decision:
    """The copies to restore and to discard; all others are kept for later."""

    restore: tuple[RecoveryCopy, ...] = ()
    discard: tuple[AnyCopy, ...] = ()


class RestoreDialog(QDialog):
    """A list of recovery copies to check, at first the newest of each image."""

    def __init__(self, offered: list[AnyCopy], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Recovered strokes"))
        self.decision = Decision()
        self._offered = offered
        self._list = QListWidget()
        self._list.setAccessibleName(self.tr("Recovered strokes"))
        self._list.setMinimumSize(460, 140)
        seen: set[Path] = set()
        for copy in offered:
            self._list.addItem(self._item(copy, seen))
        self._list.itemChanged.connect(self._keep_one_of_each_image)
        text = QLabel(
            self.tr(
                "segapp ended without saving these strokes, the newest first. "
                "Unticked items are kept and offered again."
            )
        )
        text.setWordWrap(True)
        buttons = QDialogButtonBox()
        self.restore = buttons.addButton(
            self.tr("Restore"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.discard = buttons.addButton(
            self.tr("Discard…"), QDialogButtonBox.ButtonRole.DestructiveRole
        )
        self.later = buttons.addButton(self.tr("Later"), QDialogButtonBox.ButtonRole.RejectRole)
        self.restore.setDefault(True)
        self.restore.setEnabled(any(isinstance(copy, RecoveryCopy) for copy in offered))
        self.restore.clicked.connect(self._restore)
        self.discard.clicked.connect(self._discard)
        self.later.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(text)
        column.addWidget(self._list)
        column.addWidget(buttons)

    def _item(self, copy: AnyCopy, seen: set[Path]) -> QListWidgetItem:
        item = QListWidgetItem(self.describe(copy))
        item.setToolTip(as_plain(sanitize(copy.file)))
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        marked = (
            isinstance(copy, RecoveryCopy) and copy.state.path not in seen and not copy.outdated
        )
        item.setCheckState(Qt.CheckState.Checked if marked else Qt.CheckState.Unchecked)
        if isinstance(copy, RecoveryCopy):
            seen.add(copy.state.path)
        return item

    def describe(self, copy: AnyCopy) -> str:
        """Describe a copy: image, time and number of strokes, or why it cannot be read."""
        moment = QDateTime.fromMSecsSinceEpoch(int(copy.time * 1000))
        when = QLocale().toString(moment, QLocale.FormatType.ShortFormat)
        if isinstance(copy, UnreadableCopy):
            return self.tr("{} of {}: {}").format(copy.file.name, when, translate(copy.error))
        strokes = len(copy.state.document.strokes)
        text = self.tr("{} of {}: 1 stroke") if strokes == 1 else self.tr("{} of {}: {} strokes")
        text = text.format(sanitize(copy.state.path.name), when, strokes)
        return text + (self.tr(", older than the saved project") if copy.outdated else "")

    def _marked(self) -> list[AnyCopy]:
        return [
            copy
            for row, copy in enumerate(self._offered)
            if self._list.item(row).checkState() is Qt.CheckState.Checked
        ]

    def _keep_one_of_each_image(self, changed: QListWidgetItem) -> None:
        """Let a newly marked copy take the mark from the others of its image."""
        chosen = self._offered[self._list.row(changed)]
        if changed.checkState() is not Qt.CheckState.Checked or isinstance(chosen, UnreadableCopy):
            return
        for row, copy in enumerate(self._offered):
            if (
                copy is not chosen
                and isinstance(copy, RecoveryCopy)
                and copy.state.path == chosen.state.path
            ):
                self._list.item(row).setCheckState(Qt.CheckState.Unchecked)

    def _restore(self) -> None:
        chosen = [copy for copy in self._marked() if isinstance(copy, RecoveryCopy)]
        self.decision = Decision(restore=tuple(chosen))
        self.accept()

    def _discard(self) -> None:
        marked = self._marked()
        if not marked:
            return
        names = "\n".join(self.describe(copy) for copy in marked)
        buttons = QMessageBox.StandardButton
        sure = QMessageBox.question(
            self,
            self.tr("Discard"),
            as_plain(self.tr("Remove these strokes permanently?") + f"\n\n{names}"),
            buttons.Discard | buttons.Cancel,
            buttons.Cancel,
        )
        if sure is buttons.Discard:
            self.decision = Decision(discard=tuple(marked))
            self.accept()


def ask_restore(parent: QWidget, offered: list[AnyCopy]) -> Decision:
    """Ask which recovery copies to restore, and which to discard."""
    dialog = RestoreDialog(offered, parent)
    dialog.exec()
    dialog.deleteLater()
    return dialog.decision


def complain(parent: QWidget, sentence: str, details: str = "") -> None:
    """Show an error message, unless the same one is still open."""
    sentence = "\n".join(map(sanitize, translate(sentence).split("\n")))
    for box in parent.findChildren(QMessageBox):
        if box.isVisible() and box.text() == sentence:
            return
    box = _plain_box(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle("segapp")
    box.setText(sentence)
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if details:
        copy = box.addButton(tr("Copy details"), QMessageBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(details))
        box.setDetailedText(details)
    box.open()


def ask_where(parent: QWidget, title: str, proposed: Path, kinds: tuple[str, ...]) -> Path | None:
    """Ask where to save; ``kinds`` are filters such as "CSV (*.csv)".

    A name without a suffix gets that of the chosen kind.
    """
    chosen, kind = QFileDialog.getSaveFileName(parent, title, str(proposed), ";;".join(kinds))
    if not chosen:
        return None
    path = Path(chosen)
    suffix = (kind or kinds[0]).rpartition("*")[2].rstrip(")")
    return path if path.suffix else path.with_name(path.name + suffix)


def save_bytes(parent: QWidget, path: Path, content: bytes) -> bool:
    """Write a file, or show why it cannot be written; return whether it is there."""
    try:
        with atomic_write(path) as file:
            file.write(content)
    except OSError as error:
        text = QCoreApplication.translate("SmallFiles", "{} cannot be written: {}.")
        complain(parent, text.format(sanitize(path), error.strerror or error))
        return False
    return True
