"""Lets the user choose a vision network that helps to understand the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from segapp.qt.panels.choice_box import ChoiceBox

if TYPE_CHECKING:
    from PySide6.QtGui import QEnterEvent


class EncoderBox(QWidget):
    """A switch, the names of the encoders there are, and what the chosen one is doing."""

    chosen = Signal(str)  # a digest, or nothing when it is switched off
    entered = Signal()  # somebody may be about to choose

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("Understand the picture with an encoder"))
        self.switch.setObjectName("encoder")
        self.switch.setToolTip(
            self.tr("A vision network that you have added sees what belongs together")
        )
        self.names = ChoiceBox(self.tr("Encoder"))
        self.names.setObjectName("encoder_name")
        self._state = QLabel()
        self._state.setWordWrap(True)
        self._state.setProperty("tone", "faint")
        self._digest = ""
        self._offered: list[tuple[str, object]] = []
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        for part in (self.switch, self.names, self._state):
            rows.addWidget(part)
        self.switch.toggled.connect(self._choose)
        self.names.activated.connect(self._choose)
        self.offer([], "")

    @property
    def state_text(self) -> str:
        """What is said about the encoder."""
        return self._state.text()

    def offer(self, encoders: list[tuple[str, str]], why_none: str) -> None:
        """Offer encoders by name and digest; without any, a sentence says how to get one."""
        self._offered = list(encoders)
        self._why_none = why_none
        self.show_choice(self._digest)

    def show_choice(self, digest: str) -> None:
        """Show which one takes part, without emitting it."""
        self._digest = digest
        known = digest in [each for _, each in self._offered]
        rows = list(self._offered)
        if digest and not known:  # of a project that somebody else has made
            rows.append((self.tr("missing: {}").format(digest[:12]), digest))
        with QSignalBlocker(self.switch):
            self.switch.setChecked(bool(digest))
        self.switch.setEnabled(bool(rows))
        self.names.fill(rows, digest or (rows[0][1] if rows else ""))
        self.names.setVisible(bool(rows))
        self.names.setEnabled(bool(digest))
        if not rows:
            self.say(self._why_none)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Tell that the pointer is here."""
        self.entered.emit()
        super().enterEvent(event)

    def say(self, sentence: str) -> None:
        """Say what the encoder is doing."""
        self._state.setText(sentence)
        self._state.setVisible(bool(sentence))

    def _choose(self) -> None:
        digest = self.names.chosen if self.switch.isChecked() else ""
        self.chosen.emit(digest if isinstance(digest, str) else "")
