"""Brush size and opacities, and the state of the brush."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QWidget,
)

from segapp.qt.canvas.brush import (
    LARGEST_RADIUS,
    SMALLEST_RADIUS,
    Brush,
    BrushTarget,
    BrushUnit,
    Tool,
    scaled_radius,
)
from segapp.qt.widgets import WheelGuard

if TYPE_CHECKING:
    from segapp.model.document import Document


# One step changes the radius by 3.5 %.
_SLIDER_STEPS = 200


class PaintBox(QWidget):
    """Editors of the brush's size and the opacities of answer and strokes."""

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
        self.answer = self._opacity(self.tr("Opacity of the result over the image"))
        self.strokes = self._opacity(self.tr("Opacity of the strokes over the image"))
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
            (self.tr("Result"), self.answer, self.answer),
            (self.tr("Strokes"), self.strokes, self.strokes),
        ):
            label = QLabel(title)
            label.setBuddy(buddy)
            form.addRow(label, row)

    def _unit_box(self) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(self.tr("Unit of the brush size"))
        for unit, text, tip in (
            (
                BrushUnit.SCREEN,
                self.tr("screen"),
                self.tr("Pixels of the screen: the brush looks the same at every zoom"),
            ),
            (
                BrushUnit.PICTURE,
                self.tr("image"),
                self.tr("Pixels of the image: the brush marks the same at every zoom"),
            ),
        ):
            box.addItem(text, unit)
            box.setItemData(box.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        box.setToolTip(self.tr("Unit of the size: pixels of the screen or of the image"))
        box.activated.connect(lambda place: self.unit_changed.emit(BrushUnit(box.itemData(place))))
        return box

    def _opacity(self, tip: str) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, 100)
        slider.setAccessibleName(tip)
        slider.setToolTip(tip)
        return slider

    def show_brush(self, brush: Brush) -> None:
        """Show the brush's size and unit."""
        with QSignalBlocker(self._slider), QSignalBlocker(self._spin):
            self._slider.setValue(_position(brush.radius))
            self._spin.setValue(brush.radius)
        self._unit.setCurrentIndex(self._unit.findData(brush.unit))


def _radius(position: int) -> float:
    """Return the radius at a slider position, on a logarithmic scale."""
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(2 * SMALLEST_RADIUS * math.exp(span * position / _SLIDER_STEPS)) / 2


def _position(radius: float) -> int:
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(_SLIDER_STEPS * math.log(radius / SMALLEST_RADIUS) / span)


class BrushState(QObject):
    """The present brush, and changes of its parts."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.brush = Brush(unit=BrushUnit.SCREEN)

    def choose_left(self, index: int) -> None:
        """Assign a class to the left button, with a tool that marks classes."""
        self._set(replace(self.brush, left=index, tool=_marking_tool(self.brush.tool)))

    def choose_right(self, index: int) -> None:
        """Assign a class to the right button, with a tool that marks classes."""
        self._set(replace(self.brush, right=index, tool=_marking_tool(self.brush.tool)))

    def follow(self, left: int, right: int) -> None:
        """Set the new indices of both classes after a reordering."""
        self._set(replace(self.brush, left=left, right=right))

    def swap(self) -> None:
        """Exchange the classes of the buttons."""
        self._set(replace(self.brush, left=self.brush.right, right=self.brush.left))

    def set_tool(self, tool: Tool) -> None:
        """Choose a tool."""
        self._set(replace(self.brush, tool=tool))

    def set_keep_others(self, keep: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Set whether to paint around other classes instead of over them."""
        self._set(replace(self.brush, keep_others=keep))

    def set_target(self, target: BrushTarget) -> None:
        """Set the part of the document that is painted."""
        self._set(replace(self.brush, target=target))

    def set_radius(self, radius: float) -> None:
        """Set the radius, within its limits."""
        self._set(replace(self.brush, radius=min(max(radius, SMALLEST_RADIUS), LARGEST_RADIUS)))

    def set_unit(self, unit: BrushUnit) -> None:
        """Set the unit of the radius."""
        self._set(replace(self.brush, unit=unit))

    def step_radius(self, steps: int) -> None:
        """Enlarge the brush by steps, or shrink it if they are negative."""
        self.set_radius(scaled_radius(self.brush.radius, steps))

    def begin(self, document: Document) -> None:
        """Assign an object to the left button and the background to the right one."""
        grounds = [index for index, info in enumerate(document.classes) if info.is_background]
        right = grounds[0] if grounds else 1
        left = 1 if right == 0 else 0
        self._set(replace(self.brush, left=left, right=right))
        self.keep_to(document)

    def keep_to(self, document: Document) -> None:
        """Limit the classes to those of a document, and take their colours."""
        last = len(document.classes) - 1
        left, right = min(self.brush.left, last), min(self.brush.right, last)
        if left == right and self.brush.left != self.brush.right:  # one of them is gone
            right = 1 if left == 0 else 0
        self._set(
            replace(
                self.brush,
                left=left,
                right=right,
                left_colour=document.classes[left].colour,
                right_colour=document.classes[right].colour,
            )
        )

    def _set(self, brush: Brush) -> None:
        if brush != self.brush:
            self.brush = brush
            self.changed.emit()


def _marking_tool(tool: Tool) -> Tool:
    """Return the tool, or the brush in place of one that marks no class."""
    return Tool.BRUSH if tool in (Tool.ERASER, Tool.HAND, Tool.EXPLAIN, Tool.CUT) else tool
