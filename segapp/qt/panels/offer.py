"""A question that stands beside the work and waits: answered by a click, or never."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from segapp.qt.panels.card import Card

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    Choices = tuple[tuple[str, Callable[[], None]], ...]


class Offer(Card):
    """A sentence at an edge of the canvas with a few buttons; nothing waits for it."""

    def __init__(
        self, canvas: QWidget, edge: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignTop
    ) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignHCenter | edge)
        self.buttons: list[QToolButton] = []

    def make(self, sentence: str, choices: Choices) -> None:
        """Ask, unless exactly this is asked already; any answer withdraws the question."""
        if self.isVisible() and self.text == sentence:
            return
        for button in self.buttons:
            self.row.removeWidget(button)
            button.deleteLater()
        self.buttons = []
        for text, call in choices:
            button = QToolButton()
            button.setText(text)
            button.setAccessibleDescription(sentence)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, chosen=call: self._answer(chosen))
            self.row.addWidget(button)
            self.buttons.append(button)
        self.set_text(sentence)
        self.show()
        self.place()

    def withdraw(self) -> None:
        """Ask no more."""
        self.hide()

    def _answer(self, call: Callable[[], None]) -> None:
        self.hide()
        call()
