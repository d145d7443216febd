"""A choice of one of several, each of which means something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox

if TYPE_CHECKING:
    from collections.abc import Sequence


class ChoiceBox(QComboBox):
    """A box that knows what its rows mean; Qt would turn tuples into lists."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._meanings: list[object] = []
        self.setAccessibleName(name)
        self.setToolTip(name)

    def fill(self, rows: Sequence[tuple[str, object]], chosen: object) -> None:
        """Offer rows of text and meaning; the first is chosen where none is meant."""
        with QSignalBlocker(self):
            self.clear()
            self.addItems([text for text, _ in rows])
            self._meanings = [meaning for _, meaning in rows]
            self.setCurrentIndex(self._meanings.index(chosen) if chosen in self._meanings else 0)

    @property
    def chosen(self) -> object:
        """What the chosen row means."""
        place = self.currentIndex()
        return self._meanings[place] if 0 <= place < len(self._meanings) else None
