"""Measures of classes and parts: a table, the scale, and ways out of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QSignalBlocker, Qt, Signal
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

from segapp.files.export.measures import as_csv
from segapp.qt.files.scale_box import ScaleBox
from segapp.qt.panels.measures_table import MeasuresTable, SortedMeasures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from segapp.values.measures import Part

    Row = tuple[Part | None, list[str]]


class MeasuresPanel(QWidget):
    """Shows rows and reports wishes: another scale, a part to look at, a file."""

    shown = Signal()  # somebody looks at it now
    choices_changed = Signal()
    part_chosen = Signal(object)  # Part, or None for none
    part_wanted = Signal(object)  # Part to be seen from near
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
