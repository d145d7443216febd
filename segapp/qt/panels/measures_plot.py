"""Histogram and scatter plot of measures, whose points are objects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPalette, QPen
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray
    from PySide6.QtGui import QMouseEvent, QPaintEvent

    from segapp.model.classes import Key

_MARGINS = (46, 10, 12, 30)  # left, top, right, bottom; for the numbers
_MOST_BINS = 40
_REACH = 9.0  # widget pixels within which a click takes a point
_RADIUS = 3.5


@dataclass(frozen=True, slots=True, eq=False)
class PlotValues:
    """Values of objects: numbers by column, and a colour each."""

    keys: tuple[Key, ...] = ()
    columns: tuple[str, ...] = ()
    values: tuple[tuple[float, ...], ...] = ()  # a row each object
    colours: tuple[tuple[int, int, int], ...] = ()

    def column(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column; NaN where there is none."""
        place = self.columns.index(name)
        return np.array([row[place] for row in self.values], np.float64)


class PlotArea(QWidget):
    """The drawing; a click takes the objects of a bar or the nearest point."""

    chosen = Signal(object)  # keys

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumSize(220, 150)
        self._keys: tuple[Key, ...] = ()
        self._x, self._y = np.zeros(0), np.zeros(0)
        self._colours: tuple[tuple[int, int, int], ...] = ()
        self._is_histogram = True
        self._selected: frozenset[Key] = frozenset()

    def show_values(self, shown: PlotValues, x: str, y: str) -> None:
        """Show a column, or two of them against each other."""
        self._keys, self._colours = shown.keys, shown.colours
        self._is_histogram = not y
        self._x = shown.column(x) if x else np.zeros(0)
        self._y = shown.column(y) if y else np.zeros(len(self._x))
        self.update()

    def choose(self, keys: Collection[Key]) -> None:
        """Highlight objects."""
        self._selected = frozenset(keys)
        self.update()

    @property
    def _frame(self) -> QRectF:
        left, top, right, bottom = _MARGINS
        return QRectF(self.rect()).adjusted(left, top, -right, -bottom)

    def bins(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the bin of each object, -1 for none, and the edges of the bins."""
        finite = np.isfinite(self._x)
        if not finite.any():
            return np.full(len(self._x), -1), np.array([0.0, 1.0])
        count = min(max(math.ceil(math.sqrt(finite.sum())) * 2, 1), _MOST_BINS)
        edges = np.histogram_bin_edges(self._x[finite], count)
        places = np.clip(np.searchsorted(edges, self._x, "right") - 1, 0, len(edges) - 2)
        return np.where(finite, places, -1), edges

    def points(self) -> list[QPointF | None]:
        """Return where each object's point is; None where it has no values."""
        frame = self._frame
        x, y = (
            _mapping(self._x, frame.left(), frame.right()),
            _mapping(self._y, frame.bottom(), frame.top()),
        )
        both = zip(self._x.tolist(), self._y.tolist(), strict=True)
        return [
            QPointF(x(one), y(other)) if math.isfinite(one) and math.isfinite(other) else None
            for one, other in both
        ]

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose objects."""
        self.chosen.emit(self._keys_at(event.position()))

    def _keys_at(self, at: QPointF) -> list[Key]:
        if self._is_histogram:
            places, edges = self.bins()
            frame = self._frame
            share = (at.x() - frame.left()) / max(frame.width(), 1.0)
            place = math.floor(share * (len(edges) - 1))
            return [key for key, own in zip(self._keys, places, strict=True) if own == place]
        distances = [
            (math.hypot(point.x() - at.x(), point.y() - at.y()), key)
            for point, key in zip(self.points(), self._keys, strict=True)
            if point is not None
        ]
        nearest = min(distances, default=(math.inf, (0, 0)))
        return [nearest[1]] if nearest[0] <= _REACH else []

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw axes, and bars or points."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        text = self.palette().color(QPalette.ColorRole.Text)
        faint = QColor(text.red(), text.green(), text.blue(), 90)
        frame = self._frame
        painter.setPen(QPen(faint, 1))
        painter.drawLine(frame.bottomLeft(), frame.bottomRight())
        painter.drawLine(frame.bottomLeft(), frame.topLeft())
        if self._is_histogram:
            self._paint_bars(painter, text)
        else:
            self._paint_points(painter, text)
        painter.end()

    def _paint_bars(self, painter: QPainter, text: QColor) -> None:
        places, edges = self.bins()
        frame, n_bins = self._frame, len(edges) - 1
        counts = np.bincount(places[places >= 0], minlength=n_bins)
        most = max(int(counts.max(initial=0)), 1)
        chosen = np.array([key in self._selected for key in self._keys], bool)
        marked = np.bincount(places[(places >= 0) & chosen], minlength=n_bins)
        accent = self.palette().color(QPalette.ColorRole.Highlight)
        width = frame.width() / n_bins
        for place in range(n_bins):
            for count, colour in ((counts[place], _faded(text, 120)), (marked[place], accent)):
                height = frame.height() * int(count) / most
                bar = QRectF(
                    frame.left() + place * width + 0.5, frame.bottom() - height, width - 1, height
                )
                painter.fillRect(bar, colour)
        _paint_ends(painter, frame, (float(edges[0]), float(edges[-1])), (0.0, float(most)), text)

    def _paint_points(self, painter: QPainter, text: QColor) -> None:
        order = sorted(
            zip(self.points(), self._keys, self._colours, strict=True),
            key=lambda item: item[1] in self._selected,
        )
        for point, key, colour in order:
            if point is not None:
                is_chosen = key in self._selected
                painter.setPen(QPen(text, 2.0 if is_chosen else 0.6))
                painter.setBrush(QColor(*colour))
                radius = _RADIUS + 2 * is_chosen
                painter.drawEllipse(point, radius, radius)
        _paint_ends(painter, self._frame, _ends(self._x), _ends(self._y), text)


def _faded(colour: QColor, alpha: int) -> QColor:
    return QColor(colour.red(), colour.green(), colour.blue(), alpha)


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    return float(finite.min()), float(finite.max())


def _mapping(values: NDArray[np.float64], low: float, high: float) -> Callable[[float], float]:
    first, last = _ends(values)
    span = last - first or 1.0
    return lambda value: low + (value - first) / span * (high - low)


def _paint_ends(
    painter: QPainter,
    frame: QRectF,
    x: tuple[float, float],
    y: tuple[float, float],
    colour: QColor,
) -> None:
    """Write the ends of both axes."""
    painter.setPen(colour)
    height = painter.fontMetrics().height()
    below = QRectF(frame.left(), frame.bottom() + 4, frame.width(), height)
    painter.drawText(below, Qt.AlignmentFlag.AlignLeft, f"{x[0]:.4g}")
    painter.drawText(below, Qt.AlignmentFlag.AlignRight, f"{x[1]:.4g}")
    room = QRectF(0, frame.top() - 2, frame.left() - 5, frame.height() + 4)
    painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, f"{y[1]:.4g}")
    low = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom
    painter.drawText(room, low, f"{y[0]:.4g}")


class MeasuresPlot(QWidget):
    """The plot with the choice of its columns."""

    chosen = Signal(object)  # keys

    def __init__(self, heading: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heading, self._shown = heading, PlotValues()
        self.across, self.up = QComboBox(), QComboBox()
        self.across.setAccessibleName(self.tr("Measure across"))
        self.up.setAccessibleName(self.tr("Measure upwards"))
        self.area = PlotArea()
        self.area.setAccessibleName(self.tr("Plot of the measures"))
        self.area.setToolTip(self.tr("Click a bar or a point to choose its objects"))
        self.area.chosen.connect(self.chosen)
        for box in (self.across, self.up):
            box.currentIndexChanged.connect(self._draw)
        row = QHBoxLayout()
        row.addWidget(self.across, 1)
        row.addWidget(QLabel(self.tr("against")))
        row.addWidget(self.up, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self.area, 1)

    def show_values(self, shown: PlotValues) -> None:
        """Show other values; the columns stay chosen where they are there."""
        if shown.columns != self._shown.columns:
            before = self.across.currentData(), self.up.currentData()
            with QSignalBlocker(self.across), QSignalBlocker(self.up):
                self.across.clear()
                self.up.clear()
                self.up.addItem(self.tr("number of objects"), "")
                for name in shown.columns:
                    self.across.addItem(self._heading(name), name)
                    self.up.addItem(self._heading(name), name)
                for box, name in zip((self.across, self.up), before, strict=True):
                    box.setCurrentIndex(max(box.findData(name), 0))
        self._shown = shown
        self._draw()

    def _draw(self) -> None:
        across, up = self.across.currentData(), self.up.currentData()
        self.area.show_values(self._shown, across or "", up or "")
