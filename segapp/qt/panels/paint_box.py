"""Sliders for the hand and the eye: the brush's size, and how strongly paint covers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QWidget,
)

from segapp.qt.canvas.brush import LARGEST_RADIUS, SMALLEST_RADIUS, BrushUnit
from segapp.qt.panels.wheel_guard import WheelGuard

if TYPE_CHECKING:
    from segapp.qt.canvas.brush import Brush

# One step changes the radius by 3.5 %, which is about as fine as one can see.
_SLIDER_STEPS = 200


class PaintBox(QWidget):
    """Shows the brush's size with its unit, and the opacities of answer and strokes."""

    radius_changed = Signal(float)
    unit_changed = Signal(object)  # BrushUnit

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setRange(0, _SLIDER_STEPS)
        self._slider.setAccessibleName(self.tr("Brush size"))
        self._slider.setToolTip(self.tr("Radius of the brush ([ and ], or Ctrl+wheel)"))
        self._slider.setMinimumWidth(50)
        self._slider.valueChanged.connect(lambda value: self.radius_changed.emit(_radius(value)))
        self._spin = QDoubleSpinBox()
        self._spin.setRange(SMALLEST_RADIUS, LARGEST_RADIUS)
        self._spin.setDecimals(1)
        self._spin.setFixedWidth(self.fontMetrics().horizontalAdvance("500.0") + 32)
        self._spin.setAccessibleName(self.tr("Radius of the brush"))
        self._spin.setToolTip(self._slider.toolTip())
        self._spin.setKeyboardTracking(False)
        self._spin.valueChanged.connect(self.radius_changed)
        self._unit = self._unit_box()
        self.answer = self._opacity(self.tr("How strongly the answer covers the picture"))
        self.strokes = self._opacity(self.tr("How strongly the strokes cover the picture"))
        guard = WheelGuard(self)
        for editor in (self._slider, self._spin, self._unit, self.answer, self.strokes):
            guard.watch(editor)
        size = QHBoxLayout()
        size.setSpacing(6)
        size.addWidget(self._slider, 1)
        size.addWidget(self._spin)
        size.addWidget(self._unit)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(6)
        for title, row, buddy in (
            (self.tr("Brush"), size, self._spin),
            (self.tr("Answer"), self.answer, self.answer),
            (self.tr("Strokes"), self.strokes, self.strokes),
        ):
            label = QLabel(title)
            label.setBuddy(buddy)
            form.addRow(label, row)

    def _unit_box(self) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(self.tr("Unit of the brush's size"))
        for unit, text, tip in (
            (
                BrushUnit.SCREEN,
                self.tr("screen"),
                self.tr("Pixels of the screen: the brush looks alike at every zoom"),
            ),
            (
                BrushUnit.PICTURE,
                self.tr("picture"),
                self.tr("Pixels of the picture: the brush marks alike at every zoom"),
            ),
        ):
            box.addItem(text, unit)
            box.setItemData(box.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        box.setToolTip(self.tr("What the size is measured in: pixels of screen or picture"))
        box.activated.connect(lambda place: self.unit_changed.emit(BrushUnit(box.itemData(place))))
        return box

    def _opacity(self, tip: str) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, 100)
        slider.setAccessibleName(tip)
        slider.setToolTip(tip)
        return slider

    def show_brush(self, brush: Brush) -> None:
        """Show the brush's size and its unit."""
        with QSignalBlocker(self._slider), QSignalBlocker(self._spin):
            self._slider.setValue(_position(brush.radius))
            self._spin.setValue(brush.radius)
        self._unit.setCurrentIndex(self._unit.findData(brush.unit))


def _radius(position: int) -> float:
    """Turn the slider's position into a radius: each step is the same factor."""
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(2 * SMALLEST_RADIUS * math.exp(span * position / _SLIDER_STEPS)) / 2


def _position(radius: float) -> int:
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(_SLIDER_STEPS * math.log(radius / SMALLEST_RADIUS) / span)
