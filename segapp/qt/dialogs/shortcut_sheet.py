"""Dialog with all shortcuts, which can be searched and changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QBrush, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from segapp.app.project_store import documents_folder
from segapp.qt.actions.actions import Shortcuts, ShortcutsError
from segapp.qt.files.file_dialogs import ask_where, save_bytes
from segapp.qt.widgets.layouts import open_at

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex

    from segapp.qt.actions.actions import Actions


_NAME = Qt.ItemDataRole.UserRole  # of a row's command, None for the canvas's keys
_FILES = "JSON (*.json)"
_KEYS, _MEANING = 0, 1
_GAP = 14  # pixels between both columns


class _SpacedDelegate(QStyledItemDelegate):
    """Delegate with a gap to the right of the keys."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the text's size and the gap."""
        return super().sizeHint(option, index) + QSize(_GAP, 0)


class ShortcutSheet(QDialog):
    """Table of keys and meanings, with an editor for those of commands."""

    def __init__(
        self, actions: Actions, shortcuts: Shortcuts, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Shortcuts"))
        self._actions, self._shortcuts = actions, shortcuts
        self._search = QLineEdit()
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setAccessibleName(self.tr("Search the shortcuts"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._build_rows()
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(self._search)
        layout.addWidget(self._rows, 1)
        layout.addLayout(self._editing())
        layout.addLayout(self._buttons())
        shortcuts.changed.connect(self._show_keys)
        self._rows.setCurrentItem(self._commands[0])
        self._show_keys()
        open_at(self, 720, 600)

    # Building ---------------------------------------------------------------------------

    def _build_rows(self) -> None:
        self._rows = QTreeWidget()
        self._rows.setAccessibleName(self.tr("Shortcuts and their meaning"))
        self._rows.setHeaderLabels([self.tr("Key"), self.tr("Meaning")])
        self._rows.setRootIsDecorated(False)
        self._rows.setUniformRowHeights(True)
        self._rows.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._fixed, self._commands = [], list[QTreeWidgetItem]()
        for keys, meaning in self._canvas_keys():
            row = QTreeWidgetItem(self._rows, [keys, meaning])
            row.setToolTip(_MEANING, meaning)
            self._fixed.append(row)
        for name in self._actions:
            row = QTreeWidgetItem(self._rows, ["", ""])
            row.setData(_KEYS, _NAME, name)
            self._commands.append(row)
        height = self.fontMetrics().height() + 9
        for row in (*self._fixed, *self._commands):
            row.setSizeHint(_MEANING, QSize(0, height))
        self._rows.setItemDelegateForColumn(_KEYS, _SpacedDelegate(self._rows))
        self._rows.setAccessibleDescription(
            self.tr("Choose a command here, and press its new key in the field below")
        )
        header = self._rows.header()
        header.setAccessibleName(self.tr("Columns of the shortcuts"))
        header.setAccessibleDescription(self.tr("The key, and what it does"))
        header.setSectionResizeMode(_KEYS, QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._rows.currentItemChanged.connect(self._show_chosen)

    def _canvas_keys(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Left button"), self.tr("Paint its class; a click is a dot")),
            (self.tr("Right button"), self.tr("Paint its own class, initially the background")),
            (self.tr("Shift+click"), self.tr("Paint a straight line from the last stroke")),
            (self.tr("Wheel"), self.tr("Zoom at the pointer")),
            (self.tr("Ctrl+wheel"), self.tr("Change the brush's size")),
            (
                self.tr("Space or middle button"),
                self.tr("Hold and drag: move the image, also while painting"),
            ),
            (self.tr("One finger, two"), self.tr("Move the image; pinch to zoom")),
            (self.tr("Pen"), self.tr("Pressure is the brush's width; the other end erases")),
            ("1 – 9", self.tr("Choose the class of the left button")),
            (self.tr("Shift+1 – 9"), self.tr("Choose the class of the right button")),
            ("H", self.tr("Hold to show the image alone")),
            (
                "Q",
                self.tr("Hold to outline the object that a click takes; the wheel resizes it"),
            ),
            ("W", self.tr("Hold to show why the pixel under the pointer has its class")),
            ("Esc", self.tr("Cancel the stroke being drawn")),
            (self.tr("Arrow keys"), self.tr("Move the brush without a mouse (Shift: finely)")),
            (self.tr("Return"), self.tr("Put the brush down, and lift it")),
        ]

    def _editing(self) -> QHBoxLayout:
        self._chosen = QLabel()
        self._edit = QKeySequenceEdit()
        self._edit.setMaximumSequenceLength(1)
        self._edit.setClearButtonEnabled(True)
        self._edit.setFixedWidth(180)
        self._edit.setAccessibleName(self.tr("Key of the chosen command"))
        self._edit.setAccessibleDescription(self.tr("Press the new keys"))
        self._edit.keySequenceChanged.connect(self._take_keys)
        self._reset = QPushButton(self.tr("Reset"))
        self._reset.setToolTip(self.tr("Restore the command's default key"))
        self._reset.setAutoDefault(False)
        self._reset.clicked.connect(self._reset_chosen)
        self._note = QLabel()
        self._note.setWordWrap(True)
        row = QHBoxLayout()
        row.addWidget(self._chosen)
        row.addWidget(self._edit)
        row.addWidget(self._reset)
        row.addWidget(self._note, 1)
        return row

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        for text, tip, call in (
            (self.tr("Import…"), self.tr("Read all keys from a file"), self._import),
            (self.tr("Export…"), self.tr("Write all keys to a file"), self._export),
            (self.tr("Reset All"), self.tr("Restore all default keys"), self._reset_all),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.setAutoDefault(False)
            button.clicked.connect(call)
            row.addWidget(button)
        row.addStretch(1)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        row.addWidget(close)
        return row

    # Showing ----------------------------------------------------------------------------

    def _show_keys(self) -> None:
        """Show the present keys; conflicts are marked in all their rows."""
        warning = QBrush(self.palette().color(QPalette.ColorRole.BrightText))
        usual = QBrush(self.palette().color(QPalette.ColorRole.Text))
        for row in self._commands:
            name = row.data(_KEYS, _NAME)
            keys = QKeySequence(self._shortcuts.of(name), QKeySequence.SequenceFormat.PortableText)
            row.setText(_KEYS, keys.toString(QKeySequence.SequenceFormat.NativeText))
            told = f"{self._actions.name_of(name)} – {self._actions[name].statusTip()}"
            conflicts = self._shortcuts.conflicts(name)
            if conflicts:
                told = self.tr("{} (also: {})").format(told, ", ".join(conflicts))
            row.setText(_MEANING, told)
            row.setToolTip(_MEANING, told)
            for column in (_KEYS, _MEANING):
                row.setForeground(column, warning if conflicts else usual)
            font = row.font(_KEYS)
            font.setBold(self._shortcuts.of(name) != self._shortcuts.default(name))
            row.setFont(_KEYS, font)
        self._show_chosen()

    def _name(self) -> str | None:
        row = self._rows.currentItem()
        return row.data(_KEYS, _NAME) if row is not None else None

    def _show_chosen(self) -> None:
        name = self._name()
        for part in (self._edit, self._reset):
            part.setEnabled(name is not None)
        self._note.clear()
        if name is None:
            self._chosen.setText(self.tr("Mouse and hand gestures cannot be changed."))
            self._edit.clear()
            return
        self._chosen.setText(self.tr("Key of “{}”:").format(self._actions.name_of(name)))
        keys = QKeySequence(self._shortcuts.of(name), QKeySequence.SequenceFormat.PortableText)
        if self._edit.keySequence() != keys:
            self._edit.setKeySequence(keys)
        self._reset.setEnabled(self._shortcuts.of(name) != self._shortcuts.default(name))
        conflicts = self._shortcuts.conflicts(name)
        if conflicts:
            told = self.tr("Also the key of: {}. It will work for neither.").format(
                ", ".join(conflicts)
            )
            self._note.setText(told)

    def _filter(self, wanted: str) -> None:
        for row in (*self._fixed, *self._commands):
            text = f"{row.text(_KEYS)} {row.text(_MEANING)}".casefold()
            row.setHidden(wanted.casefold() not in text)

    # Changing ---------------------------------------------------------------------------

    def _take_keys(self) -> None:
        name = self._name()
        if name is not None:
            sequence = self._edit.keySequence()
            self._shortcuts.set(name, sequence.toString(QKeySequence.SequenceFormat.PortableText))

    def _reset_chosen(self) -> None:
        name = self._name()
        if name is not None:
            self._shortcuts.reset(name)

    def _reset_all(self) -> None:
        self._shortcuts.reset()

    def _export(self) -> None:
        start = documents_folder() / "segapp-shortcuts.json"
        path = ask_where(self, self.tr("Export shortcuts"), start, (_FILES,))
        if path is not None:
            save_bytes(self, path, self._shortcuts.to_text().encode("utf-8"))

    def _import(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self, self.tr("Import shortcuts"), str(documents_folder()), _FILES
        )
        if not chosen:
            return
        try:
            unknown = self._shortcuts.from_text(Path(chosen).read_text(encoding="utf-8"))
        except ShortcutsError as error:
            QMessageBox.warning(self, self.tr("Import shortcuts"), str(error))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or self.tr("it is not text")
            told = self.tr("{} cannot be read: {}.").format(chosen, reason)
            QMessageBox.warning(self, self.tr("Import shortcuts"), told)
        else:
            if unknown:
                self._note.setText(self.tr("{} commands are unknown here.").format(unknown))
