"""A choice of a few, side by side, with their names: one of them is pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from segapp.qt.actions.command import unmarked

if TYPE_CHECKING:
    from PySide6.QtGui import QAction


class Segmented(QFrame):
    """Buttons in one frame; the style sheet finds it by its name."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segmented")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.group = QButtonGroup(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(1, 1, 1, 1)
        self._row.setSpacing(0)

    def add_action(self, action: QAction) -> QToolButton:
        """Add a button for a command that excludes the others by itself."""
        button = QToolButton()
        button.setDefaultAction(action)
        self._add(button, unmarked(action.text()))
        return button

    def add_choice(self, text: str, tip: str, number: int) -> QToolButton:
        """Add a button of its own, known by a number in `group`."""
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setCheckable(True)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.group.addButton(button, number)
        self._add(button, text)
        return button

    def _add(self, button: QToolButton, name: str) -> None:
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(name)
        self._row.addWidget(button)
