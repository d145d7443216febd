"""How a class looks in the list: colour, name, its digit, and the button that paints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPalette, QPen
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex
    from PySide6.QtWidgets import QWidget

COLOUR_ROLE = Qt.ItemDataRole.UserRole + 1
BUTTON_ROLE = Qt.ItemDataRole.UserRole + 2  # "left", "right", "both" or ""
KEY_ROLE = Qt.ItemDataRole.UserRole + 3  # the digit that chooses it, or ""
# In pixels: a row that is easy to hit, and a colour about as high as its text.
_HEIGHT = 28
_SWATCH = 14
# What is kept free at the right for the key and the mouse.
_SIGNS = 64


class ClassDelegate(QStyledItemDelegate):
    """Paints a row; editing the name is Qt's own."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Leave room around the text."""
        return QSize(super().sizeHint(option, index).width(), _HEIGHT)

    def updateEditorGeometry(
        self,
        editor: QWidget,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Put the name's editor where the name is."""
        del index
        editor.setGeometry(option.rect.adjusted(8 + _SWATCH + 6, 2, -_SIGNS, -2))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the ground as the style does, and the parts upon it."""
        row = QStyleOptionViewItem(option)
        self.initStyleOption(row, index)
        chosen = bool(row.state & QStyle.StateFlag.State_Selected)
        name, row.text = row.text, ""
        style = QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, row, painter, row.widget)
        frame = QRectF(row.rect)
        role = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        text = row.palette.color(role)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _draw_swatch(painter, frame, QColor(*index.data(COLOUR_ROLE)), text, chosen=chosen)
        painter.setPen(text)
        room = frame.adjusted(8 + _SWATCH + 8, 0, -_SIGNS, 0)
        shown = row.fontMetrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width()))
        beside = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        beside |= Qt.AlignmentFlag.AlignAbsolute  # the name beside its colour, in every script
        painter.drawText(room, beside, shown)
        if index.data(KEY_ROLE):
            _draw_key(painter, frame, index.data(KEY_ROLE), text)
        if index.data(BUTTON_ROLE):
            _draw_mouse(painter, frame, index.data(BUTTON_ROLE), text)
        painter.restore()


def _faded(colour: QColor, alpha: int) -> QColor:
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def _draw_swatch(
    painter: QPainter, frame: QRectF, colour: QColor, text: QColor, *, chosen: bool
) -> None:
    """Draw the class's colour, with a ring where the row's ground may be of that colour too."""
    painter.setBrush(colour)
    painter.setPen(QPen(text, 1.6) if chosen else QPen(_faded(text, 110), 1))
    top = frame.center().y() - _SWATCH / 2
    painter.drawEllipse(QRectF(frame.left() + 8, top, _SWATCH, _SWATCH))


def _draw_key(painter: QPainter, frame: QRectF, digit: str, text: QColor) -> None:
    """Draw the digit that chooses the class, as on a key."""
    key = QRectF(frame.right() - 26, frame.center().y() - 9, 18, 18)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(_faded(text, 110), 1))
    painter.drawRoundedRect(key, 3, 3)
    painter.setPen(_faded(text, 200))
    painter.drawText(key, Qt.AlignmentFlag.AlignCenter, digit)


def _draw_mouse(painter: QPainter, frame: QRectF, button: str, text: QColor) -> None:
    """Draw a mouse with the button filled that paints the class."""
    body = QRectF(frame.right() - 50, frame.center().y() - 9, 13, 18)
    outline = QPainterPath()
    outline.addRoundedRect(body, 6, 6)
    middle = body.center().x()
    filled = QPainterPath()
    for side, left in (("left", body.left()), ("right", middle + 0.5)):
        if button in (side, "both"):
            filled.addRect(QRectF(left, body.top(), body.width() / 2 - 0.5, 8))
    painter.fillPath(outline.intersected(filled), text)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(_faded(text, 200), 1.2))
    painter.drawPath(outline)
