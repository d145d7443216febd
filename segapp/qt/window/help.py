"""Help: every command with its keys, what the mouse does, and what this program is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions


class ShortcutSheet(QDialog):
    """Rows of keys and meaning, to be searched."""

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Shortcuts"))
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._search = QLineEdit()
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setAccessibleName(self.tr("Search the shortcuts"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        body = QWidget()
        self._grid = QGridLayout(body)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        for keys, meaning in self._hand():
            self._add(keys, meaning)
        for each in actions:
            action = actions[each]
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            if keys:
                self._add(keys, f"{actions.name_of(each)} – {action.statusTip()}")
        self._grid.setRowStretch(len(self._rows), 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(body)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self._search)
        layout.addWidget(scroll, 1)
        layout.addWidget(buttons)
        self.resize(620, 560)

    def _hand(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Left button"), self.tr("Paint its class; a click is a dot")),
            (self.tr("Right button"), self.tr("Paint its own class, the background at first")),
            (self.tr("Shift+click"), self.tr("Paint a straight line from the last stroke")),
            (self.tr("Wheel"), self.tr("Zoom at the pointer")),
            (self.tr("Ctrl+wheel"), self.tr("Change the brush's size")),
            (
                self.tr("Space or middle button"),
                self.tr("Hold and drag: move the picture, also while painting"),
            ),
            ("1 – 9", self.tr("Choose the class of the left button")),
            (self.tr("Shift+1 – 9"), self.tr("Choose the class of the right button")),
            ("H", self.tr("Hold to see the bare picture")),
            ("Esc", self.tr("Drop the stroke that is being drawn")),
            (self.tr("Arrow keys"), self.tr("Move the brush without a mouse (Shift: finely)")),
            (self.tr("Return"), self.tr("Put the brush down, and lift it")),
        ]

    def _add(self, keys: str, meaning: str) -> None:
        key, text = QLabel(f"<b>{keys}</b>"), QLabel(meaning)
        key.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        text.setWordWrap(True)
        row = len(self._rows)
        self._grid.addWidget(key, row, 0)
        self._grid.addWidget(text, row, 1)
        self._rows.append((key, text))

    def _filter(self, wanted: str) -> None:
        for key, text in self._rows:
            found = wanted.casefold() in f"{key.text()} {text.text()}".casefold()
            key.setVisible(found)
            text.setVisible(found)


def open_shortcuts(window: QWidget, actions: Actions) -> None:
    """Open the shortcut sheet."""
    sheet = ShortcutSheet(actions, window)
    sheet.finished.connect(sheet.deleteLater)
    sheet.open()


def open_about(window: QWidget) -> None:
    """Say what this program is."""
    box = QMessageBox(window)
    box.setWindowTitle(window.tr("About segapp"))
    box.setText(
        window.tr(
            "<h3>segapp</h3><p>Scribble on an object and on its surroundings; the rest is "
            "learnt from your strokes alone, by supervised hash learning through "
            "codewords (*SHL).</p>"
        )
    )
    box.finished.connect(box.deleteLater)
    box.open()
