"""Cards, banners, wrapping rows and dialog sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStyle, QToolButton, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QPaintEvent, QResizeEvent

    Choices = tuple[tuple[str, Callable[[], None]], ...]

_SPACING = 6
_FRAME = 40  # logical pixels of a window's frame at most, whose size is unknown before
_MARGIN = 12  # widget pixels between a card and the canvas's edge
_GAP = 8  # and between two cards


class WrappingRow(QWidget):
    """Row of widgets that wraps into lines, and is at least as wide as the widest.

    Texts of another language may be twice as long, and an unwrapped row would take the picture's
    room. It is no `QLayout`, as Python and Qt would both own a layout's items.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widgets: list[QWidget] = []
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add(self, widget: QWidget) -> None:
        """Append a widget."""
        widget.setParent(self)
        self._widgets.append(widget)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        """Return True, as lines are wrapped."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        return self._lay_out(QRect(0, 0, width, 0), place=False)

    def sizeHint(self) -> QSize:
        """Return the size of a single line."""
        sizes = [widget.sizeHint() for widget in self._visible()]
        gaps = _SPACING * max(len(sizes) - 1, 0)
        across = sum(size.width() for size in sizes) + gaps
        return QSize(across, max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        """Return the size of the largest widget."""
        sizes = [widget.minimumSizeHint() for widget in self._visible()]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def event(self, event: QEvent) -> bool:
        """Lay out the widgets when the size of one has changed."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.LayoutDirectionChange):
            self.updateGeometry()
            self._lay_out(self.rect(), place=True)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the widgets in lines."""
        super().resizeEvent(event)
        self._lay_out(self.rect(), place=True)

    def _visible(self) -> list[QWidget]:
        return [widget for widget in self._widgets if not widget.isHidden()]

    def _lay_out(self, rect: QRect, *, place: bool) -> int:
        """Compute the lines, optionally place the widgets; return the height."""
        x = y = deepest = 0
        for widget in self._visible():
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


def open_at(dialog: QWidget, width: int, height: int) -> None:
    """Set the size of a dialog, limited so that it fits the screen."""
    room = dialog.screen().availableSize()
    dialog.resize(min(width, room.width() - _FRAME), min(height, room.height() - _FRAME))


class Card(QWidget):
    """Rich text on a rounded background, anchored to an edge of the canvas."""

    def __init__(self, canvas: QWidget, anchor: Qt.AlignmentFlag) -> None:
        super().__init__(canvas)
        self._canvas, self._anchor = canvas, anchor
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
        """The shown text."""
        return self.label.text()

    def set_text(self, text: str) -> None:
        """Show another text and fit the card to it."""
        if text != self.label.text():
            self.label.setText(text)
            if self.isVisible():
                self.place()

    def place(self) -> None:
        """Move to the anchor; be as wide as the text, but no wider than the canvas."""
        canvas = self._canvas
        room = canvas.width() - 2 * _MARGIN
        self.label.setWordWrap(False)
        wanted = self.sizeHint()
        if wanted.width() > room:
            self.label.setWordWrap(True)
            wanted.setWidth(room)
            wanted.setHeight(max(self.heightForWidth(room), self.minimumSizeHint().height()))
        left = _MARGIN
        if self._anchor & Qt.AlignmentFlag.AlignHCenter:
            left = (canvas.width() - wanted.width()) // 2
        top = _MARGIN
        if self._anchor & Qt.AlignmentFlag.AlignBottom:
            top = canvas.height() - wanted.height() - _MARGIN
        self.setGeometry(self._beside_others(QRect(left, top, wanted.width(), wanted.height())))
        self.raise_()

    def _beside_others(self, place: QRect) -> QRect:
        """Move away from the edge until no other card is covered."""
        upwards = bool(self._anchor & Qt.AlignmentFlag.AlignBottom)
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
        """Move the other cards into the free space."""
        super().hideEvent(event)
        for card in self._others():
            card.place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the canvas's size."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.place()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the background."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = QColor(self.palette().color(QPalette.ColorRole.Base))
        ground.setAlpha(238)
        painter.setBrush(ground)
        painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 8, 8)
        painter.end()


class Banner(Card):
    """A question at an edge of the canvas with a few buttons, which blocks nothing."""

    def __init__(
        self, canvas: QWidget, edge: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignTop
    ) -> None:
        super().__init__(canvas, Qt.AlignmentFlag.AlignHCenter | edge)
        self.buttons: list[QToolButton] = []
        self.label.setTextFormat(Qt.TextFormat.PlainText)  # with names of files

    def ask(self, question: str, choices: Choices) -> None:
        """Show a question unless it is shown already; a click on a button hides it."""
        if self.isVisible() and self.text == question:
            return
        for button in self.buttons:
            self.row.removeWidget(button)
            button.deleteLater()
        self.buttons = []
        for text, call in choices:
            button = QToolButton()
            button.setText(text)
            button.setAccessibleDescription(question)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, chosen=call: self._answer(chosen))
            self.row.addWidget(button)
            self.buttons.append(button)
        self.set_text(question)
        self.show()
        self.place()

    def _answer(self, call: Callable[[], None]) -> None:
        self.hide()
        call()
