"""Choices of a cut-out's edge and background."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QColorDialog,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QMessageBox,
    QWidget,
)

from segapp.app.project_store import documents_folder
from segapp.imaging.matting import MAX_EDGE_WIDTH
from segapp.io.export.rasters import Backdrop, backdrop_pixels
from segapp.model.validation import SegappError, sanitize
from segapp.qt.files import file_dialogs
from segapp.qt.i18n import translate

_WIDTH = 10.0  # pixels of an edge at first


class Edge(Enum):
    """Kinds of edges of a cut-out."""

    AUTOMATIC = "automatic"
    HARD = "hard"
    WIDTH = "width"


class EdgeBox(QWidget):
    """Editor of the width of a soft edge."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = QComboBox()
        self.kind.setAccessibleName(self.tr("Edge"))
        self.kind.setToolTip(self.tr("Edge of the cut-out: hard or soft"))
        for kind, text in (
            (Edge.AUTOMATIC, self.tr("Soft (automatic)")),
            (Edge.HARD, self.tr("Hard")),
            (Edge.WIDTH, self.tr("Soft within")),
        ):
            self.kind.addItem(text, kind)
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(0.5, MAX_EDGE_WIDTH)
        self.width_box.setDecimals(1)
        self.width_box.setValue(_WIDTH)
        self.width_box.setSuffix(self.tr(" px"))
        self.width_box.setKeyboardTracking(False)
        self.width_box.setAccessibleName(self.tr("Width of the edge"))
        self.width_box.setToolTip(self.tr("Pixels on either side of the outline"))
        row = _row(self)
        row.addWidget(QLabel(self.tr("Edge")))
        row.addWidget(self.kind)
        row.addWidget(self.width_box)
        self._show_width()
        self.kind.currentIndexChanged.connect(self._show_width)
        self.kind.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.width_box.valueChanged.connect(lambda _: self.changed.emit())

    @property
    def edge(self) -> float | None:
        """The chosen width; 0 is hard, and ``None`` follows the image's size."""
        kind = self.kind.currentData()
        return {Edge.AUTOMATIC: None, Edge.HARD: 0.0}.get(kind, self.width_box.value())

    def show_choice(self, edge: float | None) -> None:
        """Show a width without emitting `changed`."""
        kind = Edge.AUTOMATIC if edge is None else Edge.WIDTH if edge else Edge.HARD
        with QSignalBlocker(self.kind), QSignalBlocker(self.width_box):
            self.kind.setCurrentIndex(list(Edge).index(kind))
            self.width_box.setValue(edge or self.width_box.value())
        self._show_width()

    def _show_width(self) -> None:
        self.width_box.setVisible(self.kind.currentData() is Edge.WIDTH)


class BackdropBox(QWidget):
    """Choice of the background that a cut-out is put before."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.backdrop: Backdrop | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName(self.tr("Background"))
        self.choice.setToolTip(self.tr("Background of the cut-out, here and in the file"))
        for text, backdrop in (
            (self.tr("Transparent"), None),
            (self.tr("White"), (255, 255, 255)),
            (self.tr("Black"), (0, 0, 0)),
        ):
            self.choice.addItem(text, backdrop)
        self._colour = self.choice.count()
        self.choice.addItem(self.tr("Colour…"))
        self.choice.addItem(self.tr("Image…"))
        self.choice.activated.connect(self._choose)
        row = _row(self)
        row.addWidget(QLabel(self.tr("Background")))
        row.addWidget(self.choice)

    def show_choice(self, backdrop: Backdrop | None) -> None:
        """Show a background without emitting `changed`."""
        self.backdrop = backdrop
        image = isinstance(backdrop, Path)
        name = sanitize(backdrop.name) if isinstance(backdrop, Path) else self.tr("Image…")
        self.choice.setItemText(self._colour + 1, name)
        fixed = [self.choice.itemData(row) for row in range(self._colour)]
        row = self._colour + image if backdrop not in fixed else fixed.index(backdrop)
        self.choice.setCurrentIndex(row)

    def _choose(self, row: int) -> None:
        chosen: Backdrop | None = self.backdrop
        if row < self._colour:
            chosen = self.choice.itemData(row)
        elif row == self._colour:
            chosen = self._ask_colour() or chosen
        else:
            chosen = self._ask_image() or chosen
        changed = chosen != self.backdrop
        self.show_choice(chosen)
        if changed:
            self.changed.emit()

    def _ask_colour(self) -> Backdrop | None:
        last = self.backdrop if isinstance(self.backdrop, tuple) else (64, 160, 64)
        colour = QColorDialog.getColor(QColor(*last), self, self.tr("Background"))
        return (colour.red(), colour.green(), colour.blue()) if colour.isValid() else None

    def _ask_image(self) -> Backdrop | None:
        last = self.backdrop.parent if isinstance(self.backdrop, Path) else documents_folder()
        path = file_dialogs.ask_image(self, self.tr("Background"), last)
        if path is None:
            return None
        try:
            backdrop_pixels(path, (1, 1))
        except SegappError as error:
            QMessageBox.warning(self, self.tr("Background"), translate(error))
            return None
        return path.absolute()


def _row(holder: QWidget) -> QHBoxLayout:
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    return row
