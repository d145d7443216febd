"""A card with text over the canvas, at one of its edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPaintEvent

_MARGIN = 12  # widget pixels to the canvas's edge
_GAP = 8  # and between two cards


class Card(QWidget):
    """Rich text on a rounded ground; it keeps its place when the canvas changes its size."""

    def __init__(self, canvas: QWidget, where: Qt.AlignmentFlag) -> None:
        super().__init__(canvas)
        self._canvas, self._where = canvas, where
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(14, 9, 14, 9)
        self.row.setSpacing(12)
        self.row.addWidget(self.label)
        canvas.installEventFilter(self)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self.label.text()

    def set_text(self, text: str) -> None:
        """Say something else, on a card of the size that it needs."""
        if text != self.label.text():
            self.label.setText(text)
            if self.isVisible():
                self.place()

    def place(self) -> None:
        """Go to the edge, as wide as the text and at most as the canvas."""
        canvas = self._canvas
        room = canvas.width() - 2 * _MARGIN
        self.label.setWordWrap(False)
        wanted = self.sizeHint()
        if wanted.width() > room:
            self.label.setWordWrap(True)
            wanted.setWidth(room)
            wanted.setHeight(max(self.heightForWidth(room), self.minimumSizeHint().height()))
        left = _MARGIN
        if self._where & Qt.AlignmentFlag.AlignHCenter:
            left = (canvas.width() - wanted.width()) // 2
        top = _MARGIN
        if self._where & Qt.AlignmentFlag.AlignBottom:
            top = canvas.height() - wanted.height() - _MARGIN
        self.setGeometry(self._beside_others(QRect(left, top, wanted.width(), wanted.height())))
        self.raise_()

    def _beside_others(self, place: QRect) -> QRect:
        """Go further from the edge until no other card is covered."""
        upwards = bool(self._where & Qt.AlignmentFlag.AlignBottom)
        others = [card.geometry() for card in self._others()]
        for other in sorted(others, key=lambda box: box.top(), reverse=upwards):
            if not other.intersects(place):
                continue
            if upwards:
                place.moveBottom(other.top() - _GAP)
            else:
                place.moveTop(other.bottom() + _GAP)
        return place

    def _others(self) -> list[Card]:
        cards = self._canvas.findChildren(Card, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return [card for card in cards if card is not self and card.isVisible()]

    def hideEvent(self, event: QHideEvent) -> None:
        """Leave the room to those that had to stand aside."""
        super().hideEvent(event)
        for card in self._others():
            card.place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the place at the canvas's edge."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.place()
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
