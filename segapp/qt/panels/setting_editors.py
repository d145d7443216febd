"""An editor for each setting, made from the type of its value."""

from __future__ import annotations

import math
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.language import worded
from segapp.qt.number_box import NumberBox
from segapp.qt.panels.setting_texts import SettingText, feature_texts
from segapp.values.settings import CleanUp, FeatureGroup, Settings, bounds_of

if TYPE_CHECKING:
    from collections.abc import Callable

_BOUNDS = bounds_of(Settings) | bounds_of(CleanUp)
# Digits behind the point, as many as a norm of 1.001 needs.
_DECIMALS = 3
_STEPS = 100  # of a slider, from 0 to 1


class SettingEditors(QObject):
    """Makes editors by the settings' names, shows values in them, and tells what changed."""

    changed = Signal(str, object)  # name of the setting, its new value
    refused = Signal()  # what was entered means nothing: show again what was

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._show: dict[str, Callable[[Any], None]] = {}
        self._features: dict[FeatureGroup, QCheckBox] = {}
        self._encoder: tuple[FeatureGroup, ...] = ()  # that group, when it takes part
        self._channels_offered = False
        self.by_name: dict[str, QWidget] = {}
        self.parts: list[QWidget] = []  # all that takes the wheel or emits

    def make(self, name: str, value: object, text: SettingText) -> QWidget:
        """Return an editor that fits the value's type."""
        if name == "features":
            editor: QWidget = self._feature_boxes()
        elif isinstance(value, bool):
            editor = self._check_box(name, text)
        elif name == "threshold":
            editor = self._slider(name)
        elif isinstance(value, int | float):
            editor = self._spin_box(name, whole=isinstance(value, int))
        elif isinstance(value, StrEnum):
            editor = self._choice(name, type(value))
        else:
            editor = self._numbers(name)
        if name != "features":
            self.parts.append(editor)
        editor.setObjectName(name)
        editor.setToolTip(text.tip)
        editor.setAccessibleName(text.label)
        editor.setAccessibleDescription(text.tip)
        self.by_name[name] = editor
        return editor

    def show(self, values: dict[str, Any]) -> None:
        """Show values without telling of a change."""
        with ExitStack() as quiet:
            for part in self.parts:
                quiet.enter_context(QSignalBlocker(part))
            for name, show in self._show.items():
                show(values[name])

    def _check_box(self, name: str, text: SettingText) -> QCheckBox:
        box = QCheckBox(text.label)
        box.toggled.connect(lambda on: self.changed.emit(name, on))
        self._show[name] = box.setChecked
        return box

    def _spin_box(self, name: str, *, whole: bool) -> QSpinBox | QDoubleSpinBox:
        low, high = _BOUNDS[name]
        if whole:
            box: QSpinBox | QDoubleSpinBox = QSpinBox()
            box.setRange(int(low), int(high))
        else:
            box = NumberBox()
            # The bounds are rounded to what is shown; the least value must not become 0.
            box.setDecimals(max(_DECIMALS, math.ceil(-math.log10(low)) if low > 0 else 0))
            box.setRange(low, high)
            box.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        box.setKeyboardTracking(False)
        box.setMinimumWidth(80)  # large bounds must not widen the panel
        box.valueChanged.connect(lambda value: self.changed.emit(name, value))
        self._show[name] = box.setValue
        return box

    def _slider(self, name: str) -> QSlider:
        low, high = _BOUNDS[name]
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(round(low * _STEPS), round(high * _STEPS))
        slider.setPageStep(_STEPS // 10)
        slider.setTickInterval(_STEPS)
        slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        slider.valueChanged.connect(lambda value: self.changed.emit(name, value / _STEPS))
        self._show[name] = lambda value: slider.setValue(round(value * _STEPS))
        return slider

    def _choice(self, name: str, kind: type[StrEnum]) -> QComboBox:
        box = QComboBox()
        for member in kind:
            box.addItem(worded(member.value.capitalize()), member)
        box.activated.connect(lambda index: self.changed.emit(name, kind(box.itemData(index))))
        self._show[name] = lambda value: box.setCurrentIndex(list(kind).index(value))
        return box

    def _numbers(self, name: str) -> QLineEdit:
        line = QLineEdit()
        line.setMinimumWidth(90)
        line.editingFinished.connect(lambda: self._take_numbers(name, line.text()))
        self._show[name] = lambda values: line.setText(", ".join(f"{v:g}" for v in values))
        return line

    def _take_numbers(self, name: str, text: str) -> None:
        try:
            numbers = tuple(float(part) for part in text.split(",") if part.strip())
        except ValueError:
            self.refused.emit()
        else:
            self.changed.emit(name, numbers)

    def _feature_boxes(self) -> QWidget:
        holder = QWidget()
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        texts = feature_texts()
        for group in FeatureGroup:
            if group is FeatureGroup.ENCODER:  # which one is chosen elsewhere
                continue
            text = texts.get(group, SettingText(group.value.capitalize(), ""))
            box = QCheckBox(text.label)
            box.setObjectName(f"features_{group.value}")
            box.setToolTip(text.tip)
            box.setAccessibleName(self.tr("Feature: {}").format(text.label))
            box.toggled.connect(self._change_features)
            layout.addWidget(box)
            self._features[group] = box
            self.parts.append(box)
        self._show["features"] = self._show_features
        return holder

    def offer_channels(self, *, offered: bool) -> None:
        """Let all channels be chosen, if there are more than are seen, and be unchosen always."""
        box = self._features[FeatureGroup.CHANNELS]
        box.setEnabled(offered or box.isChecked())
        self._channels_offered = offered

    def _show_features(self, groups: tuple[FeatureGroup, ...]) -> None:
        self._encoder = tuple(group for group in groups if group is FeatureGroup.ENCODER)
        for group, box in self._features.items():
            box.setChecked(group in groups)
        self.offer_channels(offered=self._channels_offered)

    def _change_features(self) -> None:
        chosen = tuple(group for group, box in self._features.items() if box.isChecked())
        if chosen:
            self.changed.emit("features", (*chosen, *self._encoder))
        else:  # without any feature there is nothing to learn from
            self.refused.emit()
