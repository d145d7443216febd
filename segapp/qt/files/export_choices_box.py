"""What can be chosen about a format: the edge of cut-outs, the scale of measures."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import (
    QColorDialog,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.files.scale_box import ScaleBox
from segapp.qt.language import class_name
from segapp.values.export_choices import WIDEST_EDGE, ExportChoices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segapp.values.classes import ClassInfo

SOFT = ("cutout", "alpha")
"""The formats that have an edge."""
OF_OBJECTS = ("mask", *SOFT)
"""The formats of which it can be chosen what they are of."""
_WITH_TWO_CLASSES = 3
"""Choices of an object: with two classes there is one object, and nothing to choose."""


class Edge(Enum):
    """How the edge of a cut-out is chosen."""

    AUTOMATIC = "automatic"
    HARD = "hard"
    WIDTH = "width"


class ExportChoicesBox(QWidget):
    """Shows what concerns a format, and nothing for those without choices."""

    changed = Signal()  # another file would be written
    ground_changed = Signal()  # the same file looks different

    def __init__(
        self,
        choices: ExportChoices,
        classes: Sequence[ClassInfo] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._ground: QColor | None = None
        self.scale_box = ScaleBox()
        self.scale_box.show_choice(choices.scale, split=choices.split)
        self.scale_box.changed.connect(self.changed)
        self._only_row = self._make_only_row(classes)
        self._edge_row = self._make_edge_row(choices.edge)
        self._ground_row = self._make_ground_row()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for row in (self._only_row, self._edge_row, self._ground_row, self.scale_box):
            column.addWidget(row)

    def _make_only_row(self, classes: Sequence[ClassInfo]) -> QWidget:
        self.only = QComboBox()
        self.only.setAccessibleName(self.tr("Object"))
        self.only.setToolTip(self.tr("What is white, or cut out"))
        self.only.addItem(self.tr("Everything but the background"), None)
        for info in classes:
            self.only.addItem(class_name(info.name), info.name)
        self.only.currentIndexChanged.connect(lambda _: self.changed.emit())
        return _row(self.tr("Object"), self.only)

    def _make_edge_row(self, edge: float | None) -> QWidget:
        self.edge = QComboBox()
        self.edge.setAccessibleName(self.tr("Edge"))
        self.edge.setToolTip(self.tr("How cut-outs end at their outline"))
        for kind, text in (
            (Edge.AUTOMATIC, self.tr("Soft, as suits the picture")),
            (Edge.HARD, self.tr("Hard")),
            (Edge.WIDTH, self.tr("Soft within")),
        ):
            self.edge.addItem(text, kind)
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(0.5, WIDEST_EDGE)
        self.width_box.setDecimals(1)
        self.width_box.setValue(edge or 10.0)
        self.width_box.setSuffix(self.tr(" px"))
        self.width_box.setKeyboardTracking(False)
        self.width_box.setAccessibleName(self.tr("Width of the edge"))
        self.width_box.setToolTip(self.tr("Pixels on either side of the outline"))
        kind = Edge.AUTOMATIC if edge is None else Edge.WIDTH if edge else Edge.HARD
        self.edge.setCurrentIndex(list(Edge).index(kind))
        self.width_box.setEnabled(kind is Edge.WIDTH)
        self.edge.currentIndexChanged.connect(self._choose_edge)
        self.width_box.valueChanged.connect(lambda _: self.changed.emit())
        return _row(self.tr("Edge"), self.edge, self.width_box)

    def _make_ground_row(self) -> QWidget:
        self.ground = QComboBox()
        self.ground.setAccessibleName(self.tr("Preview on"))
        self.ground.setToolTip(self.tr("What is seen behind the cut-out here; not in the file"))
        for text, colour in (
            (self.tr("Chequerboard"), None),
            (self.tr("Black"), QColor("black")),
            (self.tr("White"), QColor("white")),
            (self.tr("Colour…"), QColor(64, 160, 64)),
        ):
            self.ground.addItem(text, colour)
        self.ground.activated.connect(self._choose_ground)
        return _row(self.tr("Preview on"), self.ground)

    @property
    def choices(self) -> ExportChoices:
        """What is chosen."""
        kind = self.edge.currentData()
        edge = {Edge.AUTOMATIC: None, Edge.HARD: 0.0}.get(kind, self.width_box.value())
        box = self.scale_box
        split, only = box.split.isChecked(), self.only.currentData()
        return ExportChoices(edge, box.scale, split, only)

    @property
    def ground_brush(self) -> QBrush | None:
        """What stands behind a cut-out; None is a chequerboard."""
        return QBrush(self._ground) if self._ground is not None else None

    def show_for(self, form: str) -> None:
        """Show what a format has to choose."""
        of_objects = form in OF_OBJECTS and self.only.count() > _WITH_TWO_CLASSES
        self._only_row.setVisible(of_objects)
        self._edge_row.setVisible(form in SOFT)
        self._ground_row.setVisible(form == "cutout")
        self.scale_box.setVisible(form == "measures")
        self.setVisible(of_objects or form in SOFT or form == "measures")

    def _choose_edge(self) -> None:
        self.width_box.setEnabled(self.edge.currentData() is Edge.WIDTH)
        self.changed.emit()

    def _choose_ground(self, index: int) -> None:
        colour = self.ground.itemData(index)
        if index == self.ground.count() - 1:
            chosen = QColorDialog.getColor(colour, self, self.tr("Preview on"))
            if not chosen.isValid():
                with QSignalBlocker(self.ground):
                    self.ground.setCurrentIndex(0)
                colour = None
            else:
                colour = chosen
                self.ground.setItemData(index, chosen)
        self._ground = colour
        self.ground_changed.emit()


def _row(text: str, *widgets: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(QLabel(text))
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return holder
