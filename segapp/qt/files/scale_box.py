"""How large a pixel is and whether touching parts are split: what measures depend on."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.number_box import NumberBox
from segapp.qt.wrapping import Wrapping
from segapp.values.measures import Scale

_SMALLEST, _LARGEST = 1e-6, 1e6


class ScaleBox(QWidget):
    """A length, its unit, and a switch."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pixel = NumberBox()
        self.pixel.setDecimals(6)
        self.pixel.setRange(_SMALLEST, _LARGEST)
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
        self.split = QCheckBox(self.tr("Split touching"))
        self.split.setToolTip(
            self.tr("Count parts that only touch as several, cut at their necks")
        )
        self.show_choice(Scale(), split=False)
        length = QWidget()
        row = QHBoxLayout(length)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel(self.tr("1 pixel =")))
        row.addWidget(self.pixel)
        row.addWidget(self.unit)
        lines = Wrapping()
        lines.add(length)
        lines.add(self.split)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(lines)
        self.pixel.valueChanged.connect(lambda _: self.changed.emit())
        self.unit.editingFinished.connect(self.changed)
        self.split.toggled.connect(lambda _: self.changed.emit())

    @property
    def scale(self) -> Scale:
        """How large a pixel is; without a unit it is counted in pixels."""
        return Scale(self.pixel.value(), self.unit.text().strip() or "px")

    def show_choice(self, scale: Scale, *, split: bool) -> None:
        """Show what was chosen, without telling of a change."""
        with QSignalBlocker(self.pixel), QSignalBlocker(self.unit), QSignalBlocker(self.split):
            self.pixel.setValue(scale.pixel)
            self.unit.setText(scale.unit)
            self.split.setChecked(split)
