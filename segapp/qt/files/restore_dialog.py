"""Offering strokes that a crash left behind, each by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.files.recovery import LeftCopy, UnreadableCopy

if TYPE_CHECKING:
    from pathlib import Path


Left = LeftCopy | UnreadableCopy


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the copies; those in neither tuple are kept for later."""

    restore: tuple[LeftCopy, ...] = ()
    discard: tuple[Left, ...] = ()


def newest_first(copies: list[LeftCopy], unreadable: list[UnreadableCopy]) -> list[Left]:
    """Sort what can be restored by its age, and put the rest behind it."""
    return [
        *sorted(copies, key=lambda copy: -copy.time),
        *sorted(unreadable, key=lambda copy: -copy.time),
    ]


class RestoreDialog(QDialog):
    """A list with a mark for each copy; of each image, the newest is marked at first."""

    def __init__(self, offered: list[Left], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Recovered strokes"))
        self.decision = Decision()
        self._offered = offered
        self._list = QListWidget()
        self._list.setAccessibleName(self.tr("Recovered strokes"))
        self._list.setMinimumSize(460, 140)
        seen: set[Path] = set()
        for left in offered:
            self._list.addItem(self._item(left, seen))
        self._list.itemChanged.connect(self._keep_one_of_each_image)
        text = QLabel(
            self.tr(
                "segapp ended without saving these strokes, the newest first. "
                "What you do not mark is kept and offered again."
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
        self.restore.setEnabled(any(isinstance(left, LeftCopy) for left in offered))
        self.restore.clicked.connect(self._restore)
        self.discard.clicked.connect(self._discard)
        self.later.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(text)
        column.addWidget(self._list)
        column.addWidget(buttons)

    def _item(self, left: Left, seen: set[Path]) -> QListWidgetItem:
        item = QListWidgetItem(self.describe(left))
        item.setToolTip(str(left.file))
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        marked = isinstance(left, LeftCopy) and left.state.path not in seen and not left.outdated
        item.setCheckState(Qt.CheckState.Checked if marked else Qt.CheckState.Unchecked)
        if isinstance(left, LeftCopy):
            seen.add(left.state.path)
        return item

    def describe(self, left: Left) -> str:
        """Name a copy: the image, when, and how many strokes; or why it cannot be read."""
        moment = QDateTime.fromMSecsSinceEpoch(int(left.time * 1000))
        when = QLocale().toString(moment, QLocale.FormatType.ShortFormat)
        if isinstance(left, UnreadableCopy):
            return self.tr("{} of {}: {}").format(left.file.name, when, left.reason)
        strokes = len(left.state.document.strokes)
        told = self.tr("{} of {}: {} strokes").format(left.state.path.name, when, strokes)
        return told + (self.tr(", older than the saved project") if left.outdated else "")

    def _marked(self) -> list[Left]:
        return [
            left
            for row, left in enumerate(self._offered)
            if self._list.item(row).checkState() is Qt.CheckState.Checked
        ]

    def _keep_one_of_each_image(self, changed: QListWidgetItem) -> None:
        """Let a newly marked copy take the mark from the others of its image."""
        chosen = self._offered[self._list.row(changed)]
        if changed.checkState() is not Qt.CheckState.Checked or isinstance(chosen, UnreadableCopy):
            return
        for row, left in enumerate(self._offered):
            if (
                left is not chosen
                and isinstance(left, LeftCopy)
                and left.state.path == chosen.state.path
            ):
                self._list.item(row).setCheckState(Qt.CheckState.Unchecked)

    def _restore(self) -> None:
        chosen = [left for left in self._marked() if isinstance(left, LeftCopy)]
        self.decision = Decision(restore=tuple(chosen))
        self.accept()

    def _discard(self) -> None:
        marked = self._marked()
        if not marked:
            return
        names = "\n".join(self.describe(left) for left in marked)
        buttons = QMessageBox.StandardButton
        sure = QMessageBox.question(
            self,
            self.tr("Discard"),
            self.tr("Remove these strokes for good?") + f"\n\n{names}",
            buttons.Discard | buttons.Cancel,
            buttons.Cancel,
        )
        if sure is buttons.Discard:
            self.decision = Decision(discard=tuple(marked))
            self.accept()
