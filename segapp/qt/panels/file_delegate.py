"""How a picture looks in the list: small, with its name and what has become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QPen, QPixmap
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from segapp.files.folder_progress import Status
from segapp.qt.panels.file_model import STATUS_ROLE

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex

# Widget pixels of a row, and of the frame that a thumbnail is fitted into.
_HEIGHT, _WIDE, _HIGH, _GAP = 54, 60, 44, 8
_FAINT = 170  # of 255: less than the name, and still to be read
# Colours that colour-blind people tell apart; the words beside them say the same.
_COLOURS = {
    Status.MARKED: QColor(230, 159, 0),
    Status.ANSWERED: QColor(86, 180, 233),
    Status.DONE: QColor(0, 158, 115),
    Status.FAILED: QColor(213, 94, 0),
}


class FileDelegate(QStyledItemDelegate):
    """Paints a row."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """All rows are of one height, so that a long list is laid out at once."""
        del option, index
        return QSize(120, _HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw the ground as the style does, and the parts upon it."""
        row = QStyleOptionViewItem(option)
        style = QApplication.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, row, painter, row.widget)
        chosen = bool(row.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        text = row.palette.color(role)
        frame = QRectF(row.rect)
        painter.save()
        painter.setRenderHints(
            QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform
        )
        box = QRectF(frame.left() + 5, frame.center().y() - _HIGH / 2, _WIDE, _HIGH)
        _draw_thumbnail(painter, box, index.data(Qt.ItemDataRole.DecorationRole), text)
        words = frame.adjusted(_WIDE + 5 + _GAP, 8, -6, -8)
        name = row.fontMetrics.elidedText(
            str(index.data()), Qt.TextElideMode.ElideMiddle, int(words.width())
        )
        painter.setPen(text)
        painter.drawText(words, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, name)
        told = str(index.data(Qt.ItemDataRole.AccessibleDescriptionRole))
        # On the ground of the chosen row a fainter word could hardly be read.
        faint = text if chosen else _faded(text, _FAINT)
        _draw_status(painter, words, index.data(STATUS_ROLE), told, faint)
        painter.restore()


def _faded(colour: QColor, alpha: int) -> QColor:
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def _draw_thumbnail(
    painter: QPainter, box: QRectF, thumbnail: QPixmap | None, text: QColor
) -> None:
    """Fit it into its box; while there is none, a pale ground keeps its place."""
    if thumbnail is None or thumbnail.isNull():
        painter.fillRect(box, _faded(text, 18))
        return
    scale = min(box.width() / thumbnail.width(), box.height() / thumbnail.height())
    fitted = QRectF(0, 0, thumbnail.width() * scale, thumbnail.height() * scale)
    fitted.moveCenter(box.center())
    painter.drawPixmap(fitted, thumbnail, QRectF(thumbnail.rect()))


def _draw_status(
    painter: QPainter, words: QRectF, status: Status, told: str, faint: QColor
) -> None:
    """Draw a dot, with a tick in it when the picture is done, and the word."""
    dot = QRectF(words.left(), words.bottom() - 12, 10, 10)
    colour = _COLOURS.get(status)
    painter.setPen(QPen(faint, 1) if colour is None else Qt.PenStyle.NoPen)
    painter.setBrush(colour if colour is not None else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(dot)
    if status is Status.DONE:
        painter.setPen(QPen(QColor("white"), 1.6))
        middle = dot.center()
        painter.drawPolyline(
            [
                middle + type(middle)(-2.4, 0.2),
                middle + type(middle)(-0.6, 2.0),
                middle + type(middle)(2.6, -2.0),
            ]
        )
    painter.setPen(faint)
    painter.drawText(
        words.adjusted(16, 0, 0, 0),
        Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft,
        told,
    )
