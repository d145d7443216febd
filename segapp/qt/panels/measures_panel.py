"""Measures of classes and objects: table, histogram and scatter plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSignalBlocker,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction, QColor, QGuiApplication, QKeySequence, QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTableView,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from segapp.io.export.tables import WHOLE, as_csv
from segapp.qt.i18n import short_number
from segapp.qt.widgets import ScaleBox

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray
    from PySide6.QtGui import QHideEvent, QMouseEvent, QPaintEvent, QShowEvent

    from segapp.imaging.measures import MeasuredObject
    from segapp.model.classes import Key

    Row = tuple[MeasuredObject | None, list[str]]
    Index = QModelIndex | QPersistentModelIndex


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
    painter.drawText(below, Qt.AlignmentFlag.AlignLeft, short_number(x[0], 4))
    painter.drawText(below, Qt.AlignmentFlag.AlignRight, short_number(x[1], 4))
    room = QRectF(0, frame.top() - 2, frame.left() - 5, frame.height() + 4)
    for value, edge in ((y[1], Qt.AlignmentFlag.AlignTop), (y[0], Qt.AlignmentFlag.AlignBottom)):
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | edge, short_number(value, 4))


class MeasuresPlot(QWidget):
    """The plot with the choice of its columns."""

    chosen = Signal(object)  # keys

    def __init__(self, heading: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heading, self._shown = heading, PlotValues()
        self.across, self.up = QComboBox(), QComboBox()
        self.across.setAccessibleName(self.tr("Measure across"))
        self.up.setAccessibleName(self.tr("Measure upwards"))
        for box in (self.across, self.up):
            box.setAccessibleDescription(self.tr("Choose what the plot shows"))
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


_OBJECT = 1  # the column of the objects' numbers

_NO_NUMBERS = ("class", "object", "name", "objects")
VALUE = int(Qt.ItemDataRole.UserRole)
"""Role of the sort key of a cell."""


def tr(text: str) -> str:
    """Translate a word of the table."""
    return QCoreApplication.translate("Measures", text)


def heading(column: str) -> str:
    """Return the heading of a column of the file: "area µm²" for "area_µm2"."""
    known = {
        "class": tr("class"),
        "object": tr("object"),
        "name": tr("name"),
        "objects": tr("objects"),
        "parts": tr("parts"),
        "neighbours": tr("neighbours"),
        "left": tr("left"),
        "top": tr("top"),
        "width": tr("width"),
        "height": tr("height"),
        "area": tr("area"),
        "perimeter": tr("perimeter"),
        "major_axis": tr("major axis"),
        "minor_axis": tr("minor axis"),
        "feret": tr("Feret"),
        "circularity": tr("circularity"),
        "solidity": tr("solidity"),
        "eccentricity": tr("eccentricity"),
        "integrated": tr("integrated"),
        "mean": tr("mean"),
        "min": tr("min"),
        "max": tr("max"),
        "sd": tr("sd"),
    }
    if column in known:
        return known[column]
    colours = {"red": tr("red"), "green": tr("green"), "blue": tr("blue")}
    kind = next((name for name in known if column.startswith(f"{name}_")), "")
    rest = column.removeprefix(f"{kind}_")
    if kind == "area":
        rest = rest.removesuffix("2") + "²" if rest.endswith("2") else rest
    elif rest.startswith("channel_"):
        rest = tr("channel {}").format(rest.removeprefix("channel_"))
    return f"{known[kind]} {colours.get(rest, rest)}" if kind else column


class MeasuresTable(QAbstractTableModel):
    """Table model of the rows of the CSV file; the row of a class has no region."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns: Sequence[str] = ()
        self._rows: Sequence[Row] = ()

    def show_rows(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Show another table."""
        self.beginResetModel()
        self._columns, self._rows = columns, rows
        self.endResetModel()

    def object_at(self, row: int) -> MeasuredObject | None:
        """Return the region of a row, None for a class."""
        return self._rows[row][0]

    def texts(self, row: int) -> list[str]:
        """Return the cells of a row."""
        return self._rows[row][1]

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self._columns

    def rowCount(self, parent: Index | None = None) -> int:
        """Count the rows."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return the text of a cell, or its number as the sort key."""
        text = self._rows[index.row()][1][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr("all") if text == WHOLE and index.column() == _OBJECT else text
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return _value(text) if role == VALUE else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return the heading of a column; rows have none."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return heading(self._columns[section])
        return None


def _plotted(
    columns: Sequence[str], rows: Sequence[Row], colours: Sequence[tuple[int, int, int]]
) -> PlotValues:
    """Return the numbers of all objects in the colours of their classes."""
    named = [place for place, name in enumerate(columns) if name not in _NO_NUMBERS]
    own = [(each, texts) for each, texts in rows if each is not None]
    return PlotValues(
        tuple(each.key for each, _ in own),
        tuple(columns[place] for place in named),
        tuple(tuple(float(texts[place] or "nan") for place in named) for _, texts in own),
        tuple(colours[each.key[0]] for each, _ in own),
    )


class SortedMeasures(QSortFilterProxyModel):
    """The table sorted by a column: numbers by size, then texts."""

    def __init__(self, table: MeasuresTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setSourceModel(table)
        self.setSortRole(VALUE)

    def lessThan(self, left: Index, right: Index) -> bool:
        """Compare two cells of one column."""
        return _rank(left.data(VALUE)) < _rank(right.data(VALUE))


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _rank(value: float | str) -> tuple[bool, float, str]:
    if isinstance(value, str):
        return True, 0.0, value.casefold()
    return False, value, ""


class MeasuresPanel(QWidget):
    """The table with its scale; emits chosen regions and the wish to export."""

    shown = Signal()  # the panel has become visible
    scale_changed = Signal()
    object_chosen = Signal(object)  # MeasuredObject, or None for none
    objects_chosen = Signal(object)  # keys, in the plot
    object_activated = Signal(object)  # MeasuredObject to zoom to
    export_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scale_box = ScaleBox()
        self.scale_box.changed.connect(self.scale_changed)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._table = MeasuresTable(self)
        self._sorted = SortedMeasures(self._table, self)
        self.view = QTableView()
        self._set_up_view()
        self.copy = QPushButton(self.tr("Copy"))
        self.copy.setToolTip(self.tr("Copy the chosen rows, or all, for a spreadsheet"))
        self.copy.clicked.connect(self._copy)
        self.export = QPushButton(self.tr("Export CSV…"))
        self.export.setToolTip(self.tr("Write the table to a file"))
        self.export.clicked.connect(self.export_requested)
        buttons = QHBoxLayout()
        buttons.addWidget(self._text, 1)
        buttons.addWidget(self.copy)
        buttons.addWidget(self.export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(8)
        self.plot = MeasuresPlot(heading)
        self.plot.chosen.connect(self._choose_in_plot)
        self._tabs = QTabWidget()
        self._tabs.setDocumentMode(True)
        self._tabs.addTab(self.view, self.tr("Table"))
        self._tabs.addTab(self.plot, self.tr("Plot"))
        layout.addWidget(self.scale_box)
        layout.addWidget(self._tabs, 1)
        layout.addLayout(buttons)
        self.clear("")

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self._sorted)
        view.setAccessibleName(self.tr("Measures of classes and objects"))
        view.setAccessibleDescription(
            self.tr("Choosing a row shows its object in the image, Return zooms to it.")
        )
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setSortingEnabled(True)
        view.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        view.setAlternatingRowColors(True)
        view.setShowGrid(False)
        for header in (view.horizontalHeader(), view.verticalHeader()):
            header.setAccessibleName(view.accessibleName())
            header.setAccessibleDescription(view.accessibleDescription())
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(view.fontMetrics().height() + 8)
        view.setMinimumHeight(90)
        view.selectionModel().selectionChanged.connect(self._choose)
        view.activated.connect(
            lambda index: self.object_activated.emit(
                self._table.object_at(self._sorted.mapToSource(index).row())
            )
        )
        copying = QAction(view)
        copying.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copying.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copying.triggered.connect(self._copy)
        view.addAction(copying)

    def show_rows(
        self,
        columns: Sequence[str],
        rows: Sequence[Row],
        colours: Sequence[tuple[int, int, int]],
    ) -> None:
        """Show a table without a selection; ``colours`` are those of the classes."""
        with QSignalBlocker(self.view.selectionModel()):
            same = list(columns) == list(self._table.columns)
            self._table.show_rows(columns, rows)
        if not same:
            self.view.resizeColumnsToContents()
        self.plot.show_values(_plotted(columns, rows, colours))
        self.object_chosen.emit(None)
        count = sum(each is not None for each, _ in rows)
        self._text.setText(
            self.tr("one object") if count == 1 else self.tr("{} objects").format(count)
        )
        self._enable(on=bool(rows))

    def clear(self, reason: str) -> None:
        """Show an empty table and the reason."""
        self._table.show_rows(self._table.columns, ())
        self.plot.show_values(PlotValues())
        self.object_chosen.emit(None)
        self._text.setText(reason)
        self._enable(on=False)

    @property
    def text(self) -> str:
        """The text below the table."""
        return self._text.text()

    def texts(self) -> list[list[str]]:
        """Return the rows in the shown order."""
        return [
            self._table.texts(self._sorted.mapToSource(self._sorted.index(row, 0)).row())
            for row in range(self._sorted.rowCount())
        ]

    def _enable(self, *, on: bool) -> None:
        self.copy.setEnabled(on)
        self.export.setEnabled(on)

    def _choose(self, chosen: QItemSelection) -> None:
        del chosen  # newly selected rows alone
        rows = self.view.selectionModel().selectedRows()
        part = self._table.object_at(self._sorted.mapToSource(rows[0]).row()) if rows else None
        self.object_chosen.emit(part)

    def choose(self, keys: Collection[Key]) -> None:
        """Choose the rows of objects without emitting `object_chosen`."""
        self.plot.area.choose(keys)
        selection = self.view.selectionModel()
        with QSignalBlocker(selection):
            selection.clearSelection()
            for row in range(self._sorted.rowCount()):
                index = self._sorted.index(row, 0)
                each = self._table.object_at(self._sorted.mapToSource(index).row())
                if each is not None and each.key in keys:
                    rows = QItemSelectionModel.SelectionFlag.Rows
                    selection.select(index, QItemSelectionModel.SelectionFlag.Select | rows)
                    self.view.scrollTo(index)
        self.view.viewport().update()

    def _choose_in_plot(self, keys: Sequence[Key]) -> None:
        self.choose(keys)
        self.objects_chosen.emit(keys)

    def _copy(self) -> None:
        chosen = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        texts = self.texts()
        wanted = [texts[row] for row in chosen] if chosen else texts
        table = as_csv(self._table.columns, wanted, delimiter="\t")
        QGuiApplication.clipboard().setText(table)

    def showEvent(self, event: QShowEvent) -> None:
        """Emit `shown`."""
        super().showEvent(event)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Remove the selection, and so the contour in the picture."""
        super().hideEvent(event)
        self.view.clearSelection()
