"""Input widgets: numbers, choices, and guards for wheel and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from segapp.model.picture import PIXELS, Scale
from segapp.qt.i18n import translate
from segapp.qt.widgets.layouts import WrappingRow

if TYPE_CHECKING:
    from collections.abc import Sequence

_MIN_LENGTH, _MAX_LENGTH = 1e-6, 1e6  # of a pixel's side


class NumberBox(QDoubleSpinBox):
    """A spin box that omits trailing zeros."""

    def textFromValue(self, value: float) -> str:
        """Return "40" instead of "40.000"."""
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text.rstrip("0").removesuffix(point) if point in text else text


class ChoiceBox(QComboBox):
    """A combo box with a Python value for each row; Qt would turn tuples into lists."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._values: list[object] = []
        self.setAccessibleName(name)
        self.setToolTip(name)

    def fill(self, rows: Sequence[tuple[str, object]], chosen: object) -> None:
        """Set the rows, of text and value, and choose a value or else the first row."""
        with QSignalBlocker(self):
            self.clear()
            self.addItems([text for text, _ in rows])
            self._values = [value for _, value in rows]
            self.setCurrentIndex(self._values.index(chosen) if chosen in self._values else 0)

    @property
    def chosen(self) -> object:
        """The value of the chosen row."""
        index = self.currentIndex()
        return self._values[index] if 0 <= index < len(self._values) else None


class WheelGuard(QObject):
    """An event filter: the wheel scrolls a panel and changes focused values alone."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._area = owner if isinstance(owner, QScrollArea) else None

    def watch(self, editor: QWidget) -> None:
        """Guard an editor, which the wheel no longer focuses either."""
        editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        editor.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the wheel on to the scroll bar unless the editor has the focus."""
        is_wheel = event.type() == QEvent.Type.Wheel
        if is_wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            if self._area is not None:
                QApplication.sendEvent(self._area.verticalScrollBar(), event)
            return True
        return super().eventFilter(watched, event)


class ScaleBox(QWidget):
    """Editors of a pixel's length and unit, with a chip that tells their source."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pixel = NumberBox()
        self.pixel.setDecimals(6)
        self.pixel.setRange(_MIN_LENGTH, _MAX_LENGTH)
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
        self.source = QLabel()
        self.source.setObjectName("chip")
        self.source.setAccessibleName(self.tr("Source of the pixel size"))
        self.show_scale(PIXELS)
        length = QWidget()
        row = QHBoxLayout(length)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel(self.tr("1 pixel =")))
        row.addWidget(self.pixel)
        row.addWidget(self.unit)
        lines = WrappingRow()
        lines.add(length)
        lines.add(self.source)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(lines)
        self.pixel.valueChanged.connect(lambda _: self.changed.emit())
        self.unit.editingFinished.connect(self.changed)

    @property
    def scale(self) -> Scale:
        """The length of a pixel's side; without a unit it is in pixels."""
        return Scale(self.pixel.value(), self.unit.text().strip() or "px")

    def show_scale(self, scale: Scale) -> None:
        """Show a length with its source, without emitting `changed`."""
        with QSignalBlocker(self.pixel), QSignalBlocker(self.unit):
            self.pixel.setValue(scale.pixel)
            self.unit.setText(scale.unit)
        self.source.setVisible(bool(scale.source))
        self.source.setText(self.tr("from {}").format(translate(scale.source)))
