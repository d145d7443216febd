"""A card over the canvas that says what to do next, until there is an answer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from segapp.qt.language import class_name
from segapp.qt.panels.card import Card

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from segapp.values.document import Document


class Hint(Card):
    """One sentence at the lower edge; a click ends it for good, or the first answer.

    An answer from one class alone does not: that there is another one is still to be said.
    """

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom)
        self._ended = True
        self._close = QToolButton()
        self._close.setText("✕")
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Close the hint"))
        self._close.setToolTip(self.tr("Close the hint; F1 shows all keys"))
        self._close.clicked.connect(self.end)
        self.row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)

    def begin(self) -> None:
        """Guide somebody who has not painted yet."""
        self._ended = False

    def end(self) -> None:
        """Say no more."""
        self._ended = True
        self.hide()

    def guide(self, document: Document, left: int, right: int, *, answered: bool) -> None:
        """Say what comes next for these strokes and these classes of the two buttons."""
        if self._ended:
            return
        marked = {mark.label for mark in document.strokes if mark.label is not None}
        if answered and len(marked) != 1:
            self.end()
            return
        names = [escape(class_name(document.classes[index].name)) for index in (left, right)]
        if not marked:
            text = self.tr(
                "Paint over the object with the <b>left</b> button. <b>F1</b> shows all keys."
            )
        elif len(marked) > 1:
            text = self.tr("Learning from your strokes …")
        elif left in marked and right not in marked:
            text = self.tr("Now mark the surroundings with the <b>right</b> button ({}).").format(
                names[1]
            )
        elif right in marked and left not in marked:
            text = self.tr("Now mark the object with the <b>left</b> button ({}).").format(
                names[0]
            )
        else:
            text = self.tr("Now choose another class and mark what belongs to it.")
        self.set_text(text)
        self.show()
        self.place()
