"""Widgets side by side, and in further lines where they find no room: panels stay narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QSize
from PySide6.QtWidgets import QSizePolicy, QStyle, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

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
