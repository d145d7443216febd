"""Measures of classes and regions: the table, its panel, and the measuring thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QItemSelection,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSignalBlocker,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from segapp.io.export.tables import WHOLE, as_csv
from segapp.qt.widgets.inputs import ScaleBox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from segapp.imaging.components import MeasuredRegion

    Row = tuple[MeasuredRegion | None, list[str]]
    Index = QModelIndex | QPersistentModelIndex

_PART = 1  # the column that numbers the parts

VALUE = int(Qt.ItemDataRole.UserRole)
"""The role of what a column is sorted by."""


def tr(text: str) -> str:
    """Translate a word of the table."""
    return QCoreApplication.translate("Measures", text)


def heading(column: str) -> str:
    """Return a column's name of the file as people read it: "area µm²" for "area_µm2"."""
    known = {
        "class": tr("class"),
        "part": tr("part"),
        "count": tr("count"),
        "left": tr("left"),
        "top": tr("top"),
        "width": tr("width"),
        "height": tr("height"),
    }
    kind, _, rest = column.partition("_")
    if kind == "area":
        squared = rest.removesuffix("2") + "²" if rest.endswith("2") else rest
        return tr("area {}").format(squared)
    if kind == "perimeter":
        return tr("perimeter {}").format(rest)
    if kind == "mean":
        colours = {"red": tr("red"), "green": tr("green"), "blue": tr("blue")}
        number = rest.removeprefix("channel_")
        return tr("mean {}").format(colours.get(rest) or tr("channel {}").format(number))
    return known.get(column, column)


class MeasuresTable(QAbstractTableModel):
    """Rows as the CSV file has them; a row about a whole class stands for no part."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns: Sequence[str] = ()
        self._rows: Sequence[Row] = ()

    def show_rows(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Show another table."""
        self.beginResetModel()
        self._columns, self._rows = columns, rows
        self.endResetModel()

    def part(self, row: int) -> MeasuredRegion | None:
        """Return the part that a row is about."""
        return self._rows[row][0]

    def texts(self, row: int) -> list[str]:
        """Return what stands in a row."""
        return self._rows[row][1]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return self._columns

    def rowCount(self, parent: Index | None = None) -> int:
        """Count the rows."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a text, or the number that it is."""
        text = self._rows[index.row()][1][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr("all") if text == WHOLE and index.column() == _PART else text
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return _value(text) if role == VALUE else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Name a column; rows have no names."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return heading(self._columns[section])
        return None


class SortedMeasures(QSortFilterProxyModel):
    """The rows in the order of a column: numbers by size, names after them by letter."""

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
    """Shows rows and reports wishes: another scale, a part to look at, a file."""

    shown = Signal()  # somebody looks at it now
    choices_changed = Signal()
    part_chosen = Signal(object)  # MeasuredRegion, or None for none
    part_wanted = Signal(object)  # MeasuredRegion to be seen from near
    export_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scale_box = ScaleBox()
        self.scale_box.changed.connect(self.choices_changed)
        self._told = QLabel()
        self._told.setWordWrap(True)
        self._table = MeasuresTable(self)
        self._sorted = SortedMeasures(self._table, self)
        self.view = QTableView()
        self._set_up_view()
        self.copy = QPushButton(self.tr("Copy"))
        self.copy.setToolTip(self.tr("Copy the chosen rows, or all, for a spreadsheet"))
        self.copy.clicked.connect(self._copy)
        self.export = QPushButton(self.tr("Export CSV…"))
        self.export.setToolTip(self.tr("Write the table to a file"))
        self.export.clicked.connect(self.export_wanted)
        buttons = QHBoxLayout()
        buttons.addWidget(self._told, 1)
        buttons.addWidget(self.copy)
        buttons.addWidget(self.export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(8)
        layout.addWidget(self.scale_box)
        layout.addWidget(self.view, 1)
        layout.addLayout(buttons)
        self.withdraw("")

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self._sorted)
        view.setAccessibleName(self.tr("Measures of classes and parts"))
        view.setAccessibleDescription(
            self.tr("Choosing a row shows its part in the picture, Return goes near it.")
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
            lambda index: self.part_wanted.emit(
                self._table.part(self._sorted.mapToSource(index).row())
            )
        )
        copying = QAction(view)
        copying.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copying.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copying.triggered.connect(self._copy)
        view.addAction(copying)

    def show_rows(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Show a table; nothing is chosen in it."""
        with QSignalBlocker(self.view.selectionModel()):
            same = list(columns) == list(self._table.columns)
            self._table.show_rows(columns, rows)
        if not same:
            self.view.resizeColumnsToContents()
        self.part_chosen.emit(None)
        count = sum(part is not None for part, _ in rows)
        self._tell(self.tr("one part") if count == 1 else self.tr("{} parts").format(count))
        self._enable(on=bool(rows))

    def withdraw(self, reason: str) -> None:
        """Show that there is nothing to measure, and why."""
        self._table.show_rows(self._table.columns, ())
        self.part_chosen.emit(None)
        self._tell(reason)
        self._enable(on=False)

    @property
    def told(self) -> str:
        """What is said below the table."""
        return self._told.text()

    def texts(self) -> list[list[str]]:
        """Return the rows in the order in which they are shown."""
        return [
            self._table.texts(self._sorted.mapToSource(self._sorted.index(row, 0)).row())
            for row in range(self._sorted.rowCount())
        ]

    def _tell(self, sentence: str) -> None:
        self._told.setText(sentence)

    def _enable(self, *, on: bool) -> None:
        self.copy.setEnabled(on)
        self.export.setEnabled(on)

    def _choose(self, chosen: QItemSelection) -> None:
        del chosen  # only what is new in it; all of it counts
        rows = self.view.selectionModel().selectedRows()
        part = self._table.part(self._sorted.mapToSource(rows[0]).row()) if rows else None
        self.part_chosen.emit(part)

    def _copy(self) -> None:
        chosen = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        texts = self.texts()
        wanted = [texts[row] for row in chosen] if chosen else texts
        table = as_csv(self._table.columns, wanted, delimiter="\t")
        QGuiApplication.clipboard().setText(table)

    def showEvent(self, event: QShowEvent) -> None:
        """Say that somebody looks."""
        super().showEvent(event)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Take the outline away with the table."""
        super().hideEvent(event)
        self.view.clearSelection()
