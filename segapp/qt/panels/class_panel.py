"""The classes: their names and colours, which button paints which, and the brush's size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.canvas.brush import LARGEST_RADIUS, SMALLEST_RADIUS
from segapp.qt.panels.class_delegate import BUTTON_ROLE, COLOUR_ROLE, ClassDelegate
from segapp.values.document import PALETTE

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint

    from segapp.qt.actions.actions import Actions
    from segapp.values.document import Document

# One step changes the radius by 3.5 %, which is about as fine as one can see.
_SLIDER_STEPS = 200


def swatch(colour: tuple[int, int, int], ratio: float = 1.0) -> QIcon:
    """Draw a class's colour as a small round icon."""
    side = 18
    drawn = QPixmap(round(side * ratio), round(side * ratio))
    drawn.setDevicePixelRatio(ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(QColor(*colour))
    painter.setPen(QPen(QColor(0, 0, 0, 90), 1))
    painter.drawEllipse(2, 2, side - 4, side - 4)
    painter.end()
    return QIcon(drawn)


def unused_colour(document: Document) -> tuple[int, int, int]:
    """Return a colour that no class has yet, as far as the palette reaches."""
    used = {info.colour for info in document.classes}
    free = [colour for colour in PALETTE if colour not in used]
    return free[0] if free else PALETTE[len(document.classes) % len(PALETTE)]


def unused_name(document: Document, pattern: str) -> str:
    """Return the first numbered name that no class has yet."""
    used = {info.name for info in document.classes}
    number = len(document.classes) + 1
    while pattern.format(number) in used:
        number += 1
    return pattern.format(number)


class ClassPanel(QWidget):
    """Shows the document's classes; wishes to change them go out as signals."""

    left_chosen = Signal(int)
    right_chosen = Signal(int)
    renamed = Signal(int, str)
    radius_changed = Signal(float)

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._left, self._right = 0, 1
        self._list = QListWidget()
        self._list.setAccessibleName(self.tr("Classes"))
        self._list.setItemDelegate(ClassDelegate(self._list))
        self._list.setToolTip(
            self.tr("The mouse shows which button paints a class, the digit which key chooses it")
        )
        self._list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._list.customContextMenuRequested.connect(self._open_menu)
        self._list.currentRowChanged.connect(self._choose)
        self._list.itemChanged.connect(self._take_name)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 10)
        layout.setSpacing(8)
        layout.addLayout(self._brush_row())
        layout.addWidget(self._list, 1)
        layout.addLayout(self._button_row())

    def _brush_row(self) -> QFormLayout:
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setRange(0, _SLIDER_STEPS)
        self._slider.setAccessibleName(self.tr("Brush size"))
        self._slider.setToolTip(self.tr("Radius of the brush ([ and ], or Ctrl+wheel)"))
        self._slider.valueChanged.connect(lambda value: self.radius_changed.emit(_radius(value)))
        self._spin = QDoubleSpinBox()
        self._spin.setRange(SMALLEST_RADIUS, LARGEST_RADIUS)
        self._spin.setDecimals(1)
        self._spin.setSuffix(self.tr(" px"))
        self._spin.setAccessibleName(self.tr("Radius of the brush in pixels of the picture"))
        self._spin.setKeyboardTracking(False)
        self._spin.valueChanged.connect(self.radius_changed)
        row = QHBoxLayout()
        row.addWidget(self._slider, 1)
        row.addWidget(self._spin)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        label = QLabel(self.tr("Brush"))
        label.setBuddy(self._spin)
        form.addRow(label, row)
        return form

    def _button_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        row.addStretch(1)
        for name in ("add_class", "rename_class", "delete_class"):
            button = QToolButton()
            button.setDefaultAction(self._actions[name])
            button.setAutoRaise(True)
            button.setIconSize(QSize(18, 18))
            row.addWidget(button)
        return row

    def show_document(self, document: Document) -> None:
        """Show names and colours."""
        with QSignalBlocker(self._list):
            self._list.clear()
            for info in document.classes:
                item = QListWidgetItem(info.name)
                item.setData(COLOUR_ROLE, info.colour)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
                item.setData(Qt.ItemDataRole.UserRole, info.name)
                item.setToolTip(self.tr("Double-click to rename; right-click for more"))
                self._list.addItem(item)
            self._list.setCurrentRow(self._left)
        self._actions.enable("delete_class", when=len(document.classes) > 2)
        self.show_buttons(self._left, self._right)

    def show_buttons(self, left: int, right: int) -> None:
        """Show which class each button paints."""
        self._left, self._right = left, right
        words = {left: self.tr("left button"), right: self.tr("right button")}
        with QSignalBlocker(self._list):
            self._list.setCurrentRow(left)
            for row in range(self._list.count()):
                item = self._list.item(row)
                side = {left: "left", right: "right"}.get(row, "")
                item.setData(BUTTON_ROLE, side)
                told = ", ".join(part for part in (item.text(), words.get(row)) if part)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{row + 1}: {told}")
        self._list.viewport().update()

    def show_radius(self, radius: float) -> None:
        """Show the brush's size."""
        with QSignalBlocker(self._slider), QSignalBlocker(self._spin):
            self._slider.setValue(_position(radius))
            self._spin.setValue(radius)

    @property
    def chosen(self) -> int:
        """The class that the left button paints."""
        return self._left

    def edit_name(self) -> None:
        """Let the user type a name for the chosen class."""
        item = self._list.currentItem()
        if item is not None:
            self._list.setFocus()
            self._list.editItem(item)

    def _choose(self, row: int) -> None:
        if row >= 0:
            self.left_chosen.emit(row)

    def _take_name(self, item: QListWidgetItem) -> None:
        before, name = item.data(Qt.ItemDataRole.UserRole), item.text().strip()
        if name and name != before:
            self.renamed.emit(self._list.row(item), name)
        elif name != before:
            item.setText(before)

    def _open_menu(self, at: QPoint) -> None:
        item = self._list.itemAt(at)
        if item is None:
            return
        row = self._list.row(item)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        left = menu.addAction(self.tr("Paint with the left button"))
        left.triggered.connect(lambda: self.left_chosen.emit(row))
        right = menu.addAction(self.tr("Paint with the right button"))
        right.triggered.connect(lambda: self.right_chosen.emit(row))
        menu.addSeparator()
        for name in ("rename_class", "recolour_class", "delete_class"):
            menu.addAction(self._actions[name])
        self._list.setCurrentRow(row)
        menu.popup(self._list.viewport().mapToGlobal(at))


def _radius(position: int) -> float:
    """Turn the slider's position into a radius: each step is the same factor."""
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(2 * SMALLEST_RADIUS * math.exp(span * position / _SLIDER_STEPS)) / 2


def _position(radius: float) -> int:
    span = math.log(LARGEST_RADIUS / SMALLEST_RADIUS)
    return round(_SLIDER_STEPS * math.log(radius / SMALLEST_RADIUS) / span)
