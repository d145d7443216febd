"""Measures as rows of a table that can be sorted by any column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QObject

    from segapp.values.measures import Part

    Row = tuple[Part | None, list[str]]
    Index = QModelIndex | QPersistentModelIndex

VALUE = int(Qt.ItemDataRole.UserRole)
"""The role of what a column is sorted by."""


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
            return text
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return _value(text) if role == VALUE else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Name a column; rows have no names."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].replace("_", " ")
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
