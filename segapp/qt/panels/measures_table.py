"""Measures as rows of a table that can be sorted by any column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from segapp.files.export.measures import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QObject

    from segapp.values.measures import Part

    Row = tuple[Part | None, list[str]]
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

    def part(self, row: int) -> Part | None:
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
