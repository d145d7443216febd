"""Charts of the learnt model: bars, codeword grid, objective curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPalette,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from segapp.qt.i18n import class_name, short_number

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QPaintEvent

    from segapp.model.classes import ClassInfo


# Heights in pixels of a bar with its text, and of a codeword.
_ROW = 17
_CELL = 16


class Bars(QWidget):
    """Named values as horizontal bars."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[tuple[str, float, str], ...] = ()
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_rows(self, rows: tuple[tuple[str, float, str], ...]) -> None:
        """Show rows of name, value and the value as text."""
        self._rows = rows
        self.setAccessibleDescription("; ".join(f"{name} {text}" for name, _, text in rows))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return the size of one line for each row."""
        return QSize(200, max(len(self._rows), 1) * _ROW + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw name, bar and number of each row."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(self.font())
        names = max((metrics.horizontalAdvance(name) for name, _, _ in self._rows), default=0.0)
        numbers = max((metrics.horizontalAdvance(text) for _, _, text in self._rows), default=0.0)
        names = min(names, self.width() * 0.5)
        largest = max((value for _, value, _ in self._rows), default=0.0) or 1.0
        room = max(self.width() - names - numbers - 16, 10.0)
        text_colour = self.palette().color(QPalette.ColorRole.WindowText)
        track = self.palette().color(QPalette.ColorRole.Midlight)
        bar = self.palette().color(QPalette.ColorRole.Accent)
        for index, (name, value, text) in enumerate(self._rows):
            top = index * _ROW
            painter.setPen(text_colour)
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, names)
            line = Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, top, names + 1, _ROW), line, shown)
            right = QRectF(self.width() - numbers - 1, top, numbers + 1, _ROW)
            painter.drawText(right, line | Qt.AlignmentFlag.AlignRight, text)
            frame = QRectF(names + 8, top + 4, room, _ROW - 8)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(track)
            painter.drawRoundedRect(frame, 3, 3)
            painter.setBrush(bar)
            frame.setWidth(room * value / largest)
            painter.drawRoundedRect(frame, 3, 3)
        painter.end()


class CodewordGrid(QWidget):
    """Rows of filled (+1) and empty (-1) squares, in the class's colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._codewords: NDArray[np.int8] = np.zeros((0, 0, 0), np.int8)
        self._classes: tuple[ClassInfo, ...] = ()
        self.setAccessibleName(self.tr("Codewords"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_codewords(self, codewords: NDArray[np.int8], classes: tuple[ClassInfo, ...]) -> None:
        """Show an array of classes x codewords x bits; classes of zeros are left out."""
        learnt = [bool(words.any()) for words in codewords[: len(classes)]]
        self._codewords = codewords[: len(classes)][learnt]
        self._classes = tuple(info for info, is_in in zip(classes, learnt, strict=False) if is_in)
        self.setAccessibleDescription("; ".join(self._descriptions()))
        self.updateGeometry()
        self.update()

    def _descriptions(self) -> list[str]:
        return [
            class_name(info.name) + " " + "".join("+" if bit > 0 else "-" for bit in word)
            for info, words in zip(self._classes, self._codewords, strict=False)
            for word in words
        ]

    def sizeHint(self) -> QSize:
        """Return the size of one line for each codeword."""
        n_classes, n_words, _ = self._codewords.shape
        return QSize(200, max(n_classes * (n_words * _CELL + 4), _CELL) + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw each class's name and squares."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(self.font())
        names = max(
            (metrics.horizontalAdvance(class_name(i.name)) for i in self._classes), default=0.0
        )
        names = min(names, self.width() * 0.4)
        n_bits = max(self._codewords.shape[2], 1)
        side = min(_CELL - 3.0, (self.width() - names - 10) / n_bits - 2)
        top = 1.0
        for info, words in zip(self._classes, self._codewords, strict=False):
            painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
            shown = metrics.elidedText(class_name(info.name), Qt.TextElideMode.ElideRight, names)
            frame = QRectF(0, top, names + 1, _CELL)
            painter.drawText(frame, Qt.AlignmentFlag.AlignVCenter, shown)
            colour = QColor(*info.colour)
            for word in words:
                for bit, sign in enumerate(word):
                    cell = QRectF(names + 10 + bit * (side + 2), top + 1.5, side, side)
                    painter.setPen(QPen(colour, 1.2))
                    painter.setBrush(colour if sign > 0 else Qt.BrushStyle.NoBrush)
                    painter.drawRoundedRect(cell, 2, 2)
                top += _CELL
            top += 4
        painter.end()


class Curve(QWidget):
    """A line of values, on a logarithmic scale if all are positive."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: tuple[float, ...] = ()
        self.setAccessibleName(name)
        self.setFixedHeight(96)

    def show_values(self, values: tuple[float, ...]) -> None:
        """Show the values so far."""
        self._values = values
        if values:
            first, last = values[0], values[-1]
            text = self.tr("from {} to {}").format(short_number(first, 4), short_number(last, 4))
            self.setAccessibleDescription(text)
        self.update()

    def event(self, event: QEvent) -> bool:
        """Show the value under the pointer as a tool tip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self._values:
            share, last = event.pos().x() / max(self.width(), 1), len(self._values) - 1
            index = min(max(round(share * last), 0), last)
            QToolTip.showText(event.globalPos(), f"{index + 1}: {self._values[index]:.6g}")
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line with its first and last value."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
        painter.setBrush(self.palette().color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(frame, 4, 4)
        if self._values:
            self._draw_line(painter, frame.adjusted(8, 10, -8, -10))
        painter.end()

    def _draw_line(self, painter: QPainter, frame: QRectF) -> None:
        values = np.array(self._values)
        if values.min() > 0:  # the objective falls by powers of ten at first
            values = np.log(values)
        span = float(values.max() - values.min()) or 1.0
        heights = frame.bottom() - (values - values.min()) / span * frame.height()
        places = np.linspace(frame.left(), frame.right(), max(len(values), 2))
        points = [QPointF(x, y) for x, y in zip(places, heights, strict=False)]
        accent = self.palette().color(QPalette.ColorRole.Accent)
        painter.setPen(QPen(accent, 1.8))
        painter.drawPolyline(QPolygonF(points))
        painter.setBrush(accent)
        painter.drawEllipse(points[-1], 2.5, 2.5)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        up, right = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignRight
        text = f"{self._values[0]:.4g} → {self._values[-1]:.4g}"
        painter.drawText(frame, up | right, text)
