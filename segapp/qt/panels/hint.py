"""A card over the canvas that says how to begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent


class Hint(QWidget):
    """One or two lines at the lower edge of the canvas; a click or a stroke takes them away."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.RichText)
        self._close = QToolButton()
        self._close.setText("✕")
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Close the hint"))
        self._close.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 8, 10)
        row.setSpacing(12)
        row.addWidget(self._label)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        canvas.installEventFilter(self)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self._label.text()

    def say(self, text: str) -> None:
        """Show a text."""
        self._label.setText(text)
        self.show()
        self._place()

    def _place(self) -> None:
        canvas = self._canvas
        room = canvas.width() - 24
        self._label.setWordWrap(False)
        wanted = self.sizeHint()
        if wanted.width() > room:
            self._label.setWordWrap(True)
            wanted.setWidth(room)
            wanted.setHeight(max(self.heightForWidth(room), self.minimumSizeHint().height()))
        self.resize(wanted)
        self.move((canvas.width() - wanted.width()) // 2, canvas.height() - wanted.height() - 16)
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay at the canvas's lower edge."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = QColor(self.palette().color(QPalette.ColorRole.Base))
        ground.setAlpha(238)
        painter.setBrush(ground)
        painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 8, 8)
        painter.end()
