"""Widgets side by side, and in further lines where they find no room: panels stay narrow."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QStyle, QWidget


class Wrapping(QLayout):
    """Asks for no more width than its widest widget needs.

    Words of another language may be twice as long, and a row of buttons would then decide how
    much of the picture is left.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(6)

    def addItem(self, item: QLayoutItem) -> None:
        """Put an item after the others."""
        self._items.append(item)

    def count(self) -> int:
        """Return how many items there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item; Qt goes on until there is none."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Give an item away."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """Take no more room than there is."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Tell that narrow means high."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return how high the lines are together."""
        return self._lines(QRect(0, 0, width, 0), place=False)

    def sizeHint(self) -> QSize:
        """Ask for one line."""
        sizes = [item.sizeHint() for item in self._seen()]
        gaps = self.spacing() * max(len(sizes) - 1, 0)
        across = sum(size.width() for size in sizes) + gaps
        return QSize(across, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Do with as many lines as there are widgets."""
        sizes = [item.minimumSize() for item in self._seen()]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def setGeometry(self, rect: QRect) -> None:
        """Place the widgets in lines."""
        super().setGeometry(rect)
        self._lines(rect, place=True)

    def _seen(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _lines(self, rect: QRect, *, place: bool) -> int:
        """Go through the items line by line; return the height of all."""
        x = y = deepest = 0
        for item in self._seen():
            size = item.sizeHint()
            width = min(size.width(), rect.width())
            if x and x + width > rect.width():
                x, y = 0, y + deepest + self.spacing()
                deepest = 0
            if place:
                box = QRect(rect.topLeft() + QPoint(x, y), QSize(width, size.height()))
                item.setGeometry(QStyle.visualRect(self._direction(), rect, box))
            x += width + self.spacing()
            deepest = max(deepest, size.height())
        return y + deepest

    def _direction(self) -> Qt.LayoutDirection:
        parent = self.parentWidget()
        return parent.layoutDirection() if parent else Qt.LayoutDirection.LeftToRight
