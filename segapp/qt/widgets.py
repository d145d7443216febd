"""Widgets: cards, rows that wrap, inputs of numbers and choices, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import (
    QEvent,
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPalette,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSizePolicy,
    QStyle,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from segapp.io.export.datasets import AnnotationScope
from segapp.model.picture import PIXELS, Scale
from segapp.qt.i18n import class_name, short_number, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from PySide6.QtGui import QHideEvent, QPaintEvent, QResizeEvent

    from segapp.model.classes import ClassInfo

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


_MIN_LENGTH, _MAX_LENGTH = 1e-6, 1e6  # of a pixel's side


class NumberBox(QDoubleSpinBox):
    """A spin box that omits trailing zeros."""

    def textFromValue(self, value: float) -> str:
        """Return "40" instead of "40.000"."""
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text.rstrip("0").removesuffix(point) if point in text else text


class ChoiceBox(QComboBox):
    """A combo box with a Python value for each row; Qt would turn tuples into lists."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._values: list[object] = []
        self.setAccessibleName(name)
        self.setToolTip(name)

    def fill(self, rows: Sequence[tuple[str, object]], chosen: object) -> None:
        """Set the rows, of text and value, and choose a value or else the first row."""
        with QSignalBlocker(self):
            self.clear()
            self.addItems([text for text, _ in rows])
            self._values = [value for _, value in rows]
            self.setCurrentIndex(self._values.index(chosen) if chosen in self._values else 0)

    @property
    def chosen(self) -> object:
        """The value of the chosen row."""
        index = self.currentIndex()
        return self._values[index] if 0 <= index < len(self._values) else None


class ScopeBox(ChoiceBox):
    """A choice of the pixels of one annotation."""

    def __init__(self, chosen: AnnotationScope = AnnotationScope.OBJECT) -> None:
        super().__init__(self.tr("One annotation per object, part or class"))
        rows = (
            (self.tr("One per object"), AnnotationScope.OBJECT),
            (self.tr("One per part"), AnnotationScope.PART),
            (self.tr("One per class"), AnnotationScope.CLASS),
        )
        self.fill(rows, chosen)

    @property
    def scope(self) -> AnnotationScope:
        """The chosen pixels."""
        return AnnotationScope(self.chosen)


class WheelGuard(QObject):
    """An event filter: the wheel scrolls a panel and changes focused values alone."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._area = owner if isinstance(owner, QScrollArea) else None

    def watch(self, editor: QWidget) -> None:
        """Guard an editor, which the wheel no longer focuses either."""
        editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        editor.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the wheel on to the scroll bar unless the editor has the focus."""
        is_wheel = event.type() == QEvent.Type.Wheel
        if is_wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            if self._area is not None:
                QApplication.sendEvent(self._area.verticalScrollBar(), event)
            return True
        return super().eventFilter(watched, event)


class ScaleBox(QWidget):
    """Editors of a pixel's length and unit, with a chip that tells their source."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pixel = NumberBox()
        self.pixel.setDecimals(6)
        self.pixel.setRange(_MIN_LENGTH, _MAX_LENGTH)
        self.pixel.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        self.pixel.setKeyboardTracking(False)
        self.pixel.setMinimumWidth(90)
        self.pixel.setAccessibleName(self.tr("Length of a pixel's side"))
        self.pixel.setToolTip(self.tr("Length of a pixel's side, in the unit beside it"))
        self.unit = QLineEdit()
        self.unit.setMaximumWidth(56)
        self.unit.setMaxLength(12)
        self.unit.setAccessibleName(self.tr("Unit of length"))
        self.unit.setToolTip(self.tr("px, µm, mm …"))
        self.source = QLabel()
        self.source.setObjectName("chip")
        self.source.setAccessibleName(self.tr("Source of the pixel size"))
        self.show_scale(PIXELS)
        length = QWidget()
        row = QHBoxLayout(length)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel(self.tr("1 pixel =")))
        row.addWidget(self.pixel)
        row.addWidget(self.unit)
        lines = WrappingRow()
        lines.add(length)
        lines.add(self.source)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(lines)
        self.pixel.valueChanged.connect(lambda _: self.changed.emit())
        self.unit.editingFinished.connect(self.changed)

    @property
    def scale(self) -> Scale:
        """The length of a pixel's side; without a unit it is in pixels."""
        return Scale(self.pixel.value(), self.unit.text().strip() or "px")

    def show_scale(self, scale: Scale) -> None:
        """Show a length with its source, without emitting `changed`."""
        with QSignalBlocker(self.pixel), QSignalBlocker(self.unit):
            self.pixel.setValue(scale.pixel)
            self.unit.setText(scale.unit)
        self.source.setVisible(bool(scale.source))
        self.source.setText(self.tr("from {}").format(translate(scale.source)))


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
            text = f"{index + 1}: {short_number(self._values[index], 6)}"
            QToolTip.showText(event.globalPos(), text)
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
        text = " → ".join(short_number(self._values[each], 4) for each in (0, -1))
        painter.drawText(frame, up | right, text)
