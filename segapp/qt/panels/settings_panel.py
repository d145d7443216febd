"""Edits a settings value; the fields come from the dataclass itself."""

from __future__ import annotations

import dataclasses
import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.panels.setting_texts import SettingText, feature_texts, preset_texts, setting_texts
from segapp.values.settings import (
    DEFAULT_SETTINGS,
    PRESETS,
    CleanUp,
    FeatureGroup,
    Settings,
    bounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_BOUNDS = bounds_of(Settings) | bounds_of(CleanUp)
# Digits behind the point, as many as a norm of 1.001 needs.
_DECIMALS = 3


class _NumberBox(QDoubleSpinBox):
    """Shows a number without zeros that say nothing."""

    def textFromValue(self, value: float) -> str:
        """Return 40 and not 40.000."""
        return self.locale().toString(value, "g", 6)


class _ScrollInstead(QObject):
    """Lets the wheel scroll a panel; only a value that has the focus turns with it."""

    def __init__(self, area: QScrollArea) -> None:
        super().__init__(area)
        self._area = area

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_wheel = event.type() == QEvent.Type.Wheel
        if is_wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            QApplication.sendEvent(self._area.verticalScrollBar(), event)
            return True
        return super().eventFilter(watched, event)


class SettingsPanel(QScrollArea):
    """Shows settings and emits the new value whenever one is changed."""

    changed = Signal(object)  # Settings

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = DEFAULT_SETTINGS
        self._show: dict[str, Callable[[Any], None]] = {}
        self._editors: list[QWidget] = []
        self._texts = setting_texts()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Settings"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._layout = QVBoxLayout(body)
        self._layout.setContentsMargins(10, 4, 10, 10)
        self._layout.setSpacing(10)
        self._add_presets()
        self._add_groups()
        guard = _ScrollInstead(self)
        for editor in (*self._editors, self._preset):
            editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            editor.installEventFilter(guard)
        self._layout.addStretch(1)
        self.setWidget(body)
        self.show_settings(self._settings)
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        self.setMinimumWidth(body.minimumSizeHint().width() + bar + 2)

    def _add_presets(self) -> None:
        self._preset = QComboBox()
        self._preset.setAccessibleName(self.tr("Preset"))
        texts = preset_texts()
        for name in PRESETS:
            text = texts.get(name, SettingText(name, ""))
            self._preset.addItem(text.label, name)
            self._preset.setItemData(
                self._preset.count() - 1, text.tip, Qt.ItemDataRole.ToolTipRole
            )
        self._preset.addItem(self.tr("Own settings"), None)
        self._preset.setToolTip(self.tr("A set of values that go well together"))
        self._preset.activated.connect(self._take_preset)
        self._defaults = QPushButton(self.tr("Back to defaults"))
        self._defaults.setToolTip(self.tr("Undo all changes of the settings"))
        self._defaults.clicked.connect(lambda: self._take(DEFAULT_SETTINGS))
        form = QFormLayout()
        form.addRow(self.tr("Preset"), self._preset)
        self._layout.addLayout(form)
        self._layout.addWidget(self._defaults)

    def _add_groups(self) -> None:
        learning = self._group(self.tr("Learning"))
        clean_up = self._group(self.tr("Clean-up"))
        details = self._group(self.tr("Details"))
        values = dataclasses.asdict(self._settings)
        for field in dataclasses.fields(Settings):
            if field.name == "clean_up":
                for part in dataclasses.fields(CleanUp):
                    self._add_field(clean_up, part.name, values["clean_up"][part.name])
            else:
                text = self._text(field.name)
                self._add_field(
                    details if text.advanced else learning, field.name, values[field.name]
                )

    def _group(self, title: str) -> QFormLayout:
        box = QGroupBox(title)
        form = QFormLayout(box)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self._layout.addWidget(box)
        return form

    def _text(self, name: str) -> SettingText:
        unnamed = SettingText(name.replace("_", " ").capitalize(), "", advanced=True)
        return self._texts.get(name, unnamed)

    def _add_field(self, form: QFormLayout, name: str, value: object) -> None:
        """Add the editor that fits the value's type."""
        text = self._text(name)
        if name == "features":
            form.addRow(self._feature_boxes())
            return
        if isinstance(value, bool):
            editor: QWidget = self._check_box(name, text)
            form.addRow(editor)
        elif isinstance(value, int | float):
            editor = self._spin_box(name, whole=isinstance(value, int))
            label = QLabel(text.label)
            label.setToolTip(text.tip)
            label.setBuddy(editor)
            form.addRow(label, editor)
        elif isinstance(value, StrEnum):
            editor = self._choice(name, type(value))
            form.addRow(text.label, editor)
        else:
            editor = self._numbers(name)
            form.addRow(text.label, editor)
        editor.setObjectName(name)
        editor.setToolTip(text.tip)
        editor.setAccessibleName(text.label)
        editor.setAccessibleDescription(text.tip)

    def _check_box(self, name: str, text: SettingText) -> QCheckBox:
        box = QCheckBox(text.label)
        box.toggled.connect(lambda on: self._change(name, on))
        self._show[name] = box.setChecked
        self._editors.append(box)
        return box

    def _spin_box(self, name: str, *, whole: bool) -> QSpinBox | QDoubleSpinBox:
        low, high = _BOUNDS[name]
        if whole:
            box: QSpinBox | QDoubleSpinBox = QSpinBox()
            box.setRange(int(low), int(high))
        else:
            box = _NumberBox()
            # The bounds are rounded to what is shown; the least value must not become 0.
            box.setDecimals(max(_DECIMALS, math.ceil(-math.log10(low)) if low > 0 else 0))
            box.setRange(low, high)
            box.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        box.setKeyboardTracking(False)
        box.setMinimumWidth(80)  # large bounds must not widen the panel
        box.valueChanged.connect(lambda value: self._change(name, value))
        self._show[name] = box.setValue
        self._editors.append(box)
        return box

    def _choice(self, name: str, kind: type[StrEnum]) -> QComboBox:
        box = QComboBox()
        for member in kind:
            box.addItem(member.value.capitalize(), member)
        box.activated.connect(lambda index: self._change(name, kind(box.itemData(index))))
        self._show[name] = lambda value: box.setCurrentIndex(list(kind).index(value))
        self._editors.append(box)
        return box

    def _numbers(self, name: str) -> QLineEdit:
        line = QLineEdit()
        line.setMinimumWidth(150)
        line.editingFinished.connect(lambda: self._take_numbers(name, line.text()))
        self._show[name] = lambda values: line.setText(", ".join(f"{v:g}" for v in values))
        self._editors.append(line)
        return line

    def _take_numbers(self, name: str, text: str) -> None:
        try:
            self._change(name, tuple(float(part) for part in text.split(",") if part.strip()))
        except ValueError:  # no numbers, or none that can be learnt with: back to what was
            self.show_settings(self._settings)

    def _feature_boxes(self) -> QWidget:
        holder = QWidget()
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        title = QLabel(self._text("features").label)
        title.setToolTip(self._text("features").tip)
        layout.addWidget(title)
        texts = feature_texts()
        self._features: dict[FeatureGroup, QCheckBox] = {}
        for group in FeatureGroup:
            text = texts.get(group, SettingText(group.value.capitalize(), ""))
            box = QCheckBox(text.label)
            box.setObjectName(f"features_{group.value}")
            box.setToolTip(text.tip)
            box.setAccessibleName(self.tr("Feature: {}").format(text.label))
            box.toggled.connect(self._change_features)
            layout.addWidget(box)
            self._features[group] = box
            self._editors.append(box)
        self._show["features"] = self._show_features
        return holder

    def _show_features(self, groups: tuple[FeatureGroup, ...]) -> None:
        for group, box in self._features.items():
            box.setChecked(group in groups)

    def _change_features(self) -> None:
        chosen = tuple(group for group, box in self._features.items() if box.isChecked())
        if chosen:
            self._change("features", chosen)
        else:  # without any feature there is nothing to learn from
            self.show_settings(self._settings)

    def show_settings(self, settings: Settings) -> None:
        """Show a value without emitting it."""
        self._settings = settings
        blockers = [QSignalBlocker(editor) for editor in self._editors]
        values = dataclasses.asdict(settings)
        for name, show in self._show.items():
            show(values["clean_up"][name] if name in values["clean_up"] else values[name])
        names = [name for name, preset in PRESETS.items() if preset == settings]
        place = self._preset.findData(names[0] if names else None)
        self._preset.setCurrentIndex(place)
        self._defaults.setEnabled(settings != DEFAULT_SETTINGS)
        for blocker in blockers:
            blocker.unblock()

    def _take_preset(self, index: int) -> None:
        name = self._preset.itemData(index)
        if name is not None:
            self._take(PRESETS[name])
        else:
            self.show_settings(self._settings)

    def _change(self, name: str, value: object) -> None:
        changed: dict[str, Any] = {name: value}
        if any(part.name == name for part in dataclasses.fields(CleanUp)):
            changed = {"clean_up": dataclasses.replace(self._settings.clean_up, **changed)}
        self._take(dataclasses.replace(self._settings, **changed))

    def _take(self, settings: Settings) -> None:
        if settings != self._settings:
            self.show_settings(settings)
            self.changed.emit(settings)
