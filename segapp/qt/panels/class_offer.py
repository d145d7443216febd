"""Says that a picture's classes are not the folder's, and offers to bring them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QToolButton, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions


class ClassOffer(QWidget):
    """A line under the classes with two buttons, there when there is something to say."""

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._told = QLabel()
        self._told.setWordWrap(True)
        self._told.setAccessibleName(self.tr("Classes of picture and folder"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 0, 10, 6)
        layout.setSpacing(4)
        layout.addWidget(self._told)
        self.buttons: dict[str, QToolButton] = {}
        for name in ("share_classes", "take_classes"):
            button = QToolButton()
            button.setDefaultAction(actions[name])
            button.setText(actions.name_of(name))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            layout.addWidget(button)
            self.buttons[name] = button
        self.hide()

    @property
    def told(self) -> str:
        """What is said."""
        return self._told.text()

    def show_state(self, *, differs: bool, listed: bool) -> None:
        """Say how the classes stand: whether they differ, and whether the folder has a list."""
        self.setVisible(differs)
        self.buttons["take_classes"].setVisible(listed)
        self._told.setText(
            self.tr("This picture has classes of its own.")
            if listed
            else self.tr("The other pictures do not have these classes.")
        )
