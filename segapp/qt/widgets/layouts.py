"""Cards, banners, wrapping rows and dialog sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStyle, QToolButton, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QPaintEvent, QResizeEvent


_SPACING = 6


class Wrapping(QWidget):
    """Asks for no more width than its widest widget needs.

    Words of another language may be twice as long, and a row of buttons would then decide how
    much of the picture is left. It places its widgets itself: a layout written in Python
    shares its items with Qt, which neither side knows when to delete.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widgets: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add(self, widget: QWidget) -> None:
        """Put a widget after the others."""
        widget.setParent(self)
        self._widgets.append(widget)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        """Tell that narrow means high."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return how high the lines are together."""
        return self._lines(QRect(0, 0, width, 0), place=False)

    def sizeHint(self) -> QSize:
        """Ask for one line."""
        sizes = [widget.sizeHint() for widget in self._seen()]
        gaps = _SPACING * max(len(sizes) - 1, 0)
        across = sum(size.width() for size in sizes) + gaps
        return QSize(across, max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        """Do with as many lines as there are widgets."""
        sizes = [widget.minimumSizeHint() for widget in self._seen()]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def event(self, event: QEvent) -> bool:
        """Place the widgets again when one of them has changed its size."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.LayoutDirectionChange):
            self.updateGeometry()
            self._lines(self.rect(), place=True)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the widgets in lines."""
        super().resizeEvent(event)
        self._lines(self.rect(), place=True)

    def _seen(self) -> list[QWidget]:
        return [widget for widget in self._widgets if not widget.isHidden()]

    def _lines(self, rect: QRect, *, place: bool) -> int:
        """Go through the widgets line by line; return the height of all."""
        x = y = deepest = 0
        for widget in self._seen():
            size = widget.sizeHint()
            width = min(size.width(), rect.width())
            if x and x + width > rect.width():
                x, y = 0, y + deepest + _SPACING
                deepest = 0
            if place:
                box = QRect(rect.topLeft() + QPoint(x, y), QSize(width, size.height()))
                widget.setGeometry(QStyle.visualRect(self.layoutDirection(), rect, box))
            x += width + _SPACING
            deepest = max(deepest, size.height())
        return y + deepest


_FRAME = 40  # logical pixels that a window's frame may take: its size is not known before


def open_at(dialog: QWidget, width: int, height: int) -> None:
    """Give a dialog its first size; on a small screen its buttons must still be in reach."""
    room = dialog.screen().availableSize()
    dialog.resize(min(width, room.width() - _FRAME), min(height, room.height() - _FRAME))


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


if TYPE_CHECKING:
    Choices = tuple[tuple[str, Callable[[], None]], ...]


class Banner(Card):
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
