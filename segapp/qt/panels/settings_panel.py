"""The settings panel and its editors."""

from __future__ import annotations

import dataclasses
import math
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSlider,
    QSpinBox,
    QStackedWidget,
    QStyle,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from segapp.model.settings import (
    DEFAULT_SETTINGS,
    PRESETS,
    STROKE_DEPENDENT,
    CleanUp,
    FeatureGroup,
    Settings,
    bounds_of,
    preset_of,
    preset_with,
    with_encoder,
)
from segapp.model.validation import SegappError
from segapp.qt.actions import Segmented
from segapp.qt.i18n import translate
from segapp.qt.panels.encoder_panel import EncoderBox
from segapp.qt.panels.setting_texts import (
    EXAMPLES,
    BeforeAfter,
    SettingText,
    feature_texts,
    flat_values,
    preset_texts,
    setting_texts,
)
from segapp.qt.widgets import NumberBox, WheelGuard

if TYPE_CHECKING:
    from collections.abc import Callable


_BOUNDS = bounds_of(Settings) | bounds_of(CleanUp)
# Digits behind the point, as many as a norm of 1.001 needs.
_DECIMALS = 3
_STEPS = 100  # of a slider, from 0 to 1


class SettingEditors(QObject):
    """Editors of the settings, by name."""

    changed = Signal(str, object)  # name of the setting, its new value
    refused = Signal()  # an invalid entry, to be replaced by the present value

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._show: dict[str, Callable[[Any], None]] = {}
        self._features: dict[FeatureGroup, QCheckBox] = {}
        self._encoder: tuple[FeatureGroup, ...] = ()  # that group, when it takes part
        self._channels_offered = False
        self.by_name: dict[str, QWidget] = {}
        self.parts: list[QWidget] = []  # widgets that take the wheel or emit signals

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
        """Show values without emitting `changed`."""
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
            # Bounds are rounded to the shown decimals; the least value must not become 0.
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
            box.addItem(translate(member.value.capitalize()), member)
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
        """Enable the feature of all channels; a checked one can always be unchecked."""
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
        else:  # at least one feature is needed
            self.refused.emit()


_FIRST = ("threshold",)
_OUTLINE = ("refine", "smoothness", "colour_likelihood")


class SettingsPanel(QScrollArea):
    """Panel that edits the settings."""

    changed = Signal(object)  # Settings

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = DEFAULT_SETTINGS
        self._labels: dict[str, list[QWidget]] = {}  # disabled together with an editor
        self._texts = setting_texts()
        self._editors = SettingEditors(self)
        self._editors.changed.connect(self._change)
        self._editors.refused.connect(lambda: self.show_settings(self._settings))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Settings"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._layout = QVBoxLayout(body)
        self._layout.setContentsMargins(10, 8, 10, 10)
        self._layout.setSpacing(8)
        self.encoder = EncoderBox()
        self.encoder.chosen.connect(
            lambda digest: self._take(with_encoder(self._settings, digest))
        )
        self._add_presets()
        self._add_groups()
        guard = WheelGuard(self)
        for editor in (*self._editors.parts, self.encoder.names):
            guard.watch(editor)
        self._layout.addStretch(1)
        self.setWidget(body)
        self.show_settings(self._settings)

    def minimumSizeHint(self) -> QSize:
        """Return the width of all settings and a small height."""
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        body = self.widget()
        width = body.minimumSizeHint().width() if body is not None else 0
        return QSize(width + bar + 2, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Update the geometry when the settings need another width."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    # Building -----------------------------------------------------------------------------

    def _add_presets(self) -> None:
        self.presets = Segmented(self.tr("What to find"))
        self._names = list(PRESETS)
        self._explanations = QStackedWidget()  # as high as the longest: nothing moves below
        for number, name in enumerate(self._names):
            text = preset_texts().get(name, SettingText(name, ""))
            button = self.presets.add_choice(text.label, text.tip, number)
            button.setObjectName(f"way_{name}")
            self._explanations.addWidget(_faint(text.tip))
        self._explanations.addWidget(_faint(self.tr("Custom settings.")))
        self.presets.group.idClicked.connect(lambda number: self._take_preset(self._names[number]))
        self._defaults = QPushButton(self.tr("Restore defaults"))
        self._defaults.setToolTip(self.tr("Restore the default settings"))
        self._defaults.clicked.connect(lambda: self._take(DEFAULT_SETTINGS))
        kept = self._defaults.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # likewise
        self._defaults.setSizePolicy(kept)
        for part in (self.presets, self._explanations, self._defaults):
            self._layout.addWidget(part)

    def _add_groups(self) -> None:
        values = flat_values(self._settings)
        clean_up = [part.name for part in dataclasses.fields(CleanUp)]
        first = _form()
        self._layout.addLayout(first)
        self._add_fields(first, _FIRST, values)
        self._add_fields(self._group(self.tr("Outline")), _OUTLINE, values)
        self._add_fields(self._group(self.tr("Clean-up")), clean_up, values)
        self._layout.addSpacing(4)
        self._layout.addWidget(self.encoder)
        shown = (*_FIRST, *_OUTLINE, *clean_up)
        rest = [name for name in self._texts if name not in shown]
        rest += [name for name in values if name not in (*self._texts, "encoder")]
        self._add_fields(self._fold(self.tr("Learner")), rest, values)

    def _group(self, title: str) -> QFormLayout:
        heading = QLabel(f"<b>{title}</b>")
        self._layout.addSpacing(4)
        self._layout.addWidget(heading)
        form = _form()
        self._layout.addLayout(form)
        return form

    def _fold(self, title: str) -> QFormLayout:
        """Add a group that is folded at first."""
        self.fold = QToolButton()
        self.fold.setText(title)
        self.fold.setObjectName("fold")
        self.fold.setCheckable(True)
        self.fold.setAutoRaise(True)
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.fold.setToolTip(self.tr("Features and options of the learner"))
        self._folded = QWidget()
        self._folded.setLayout(_form())
        self.fold.toggled.connect(self._unfold)
        self._unfold(on=False)
        self._layout.addSpacing(4)
        self._layout.addWidget(self.fold)
        self._layout.addWidget(self._folded)
        form = self._folded.layout()
        if not isinstance(form, QFormLayout):
            raise TypeError("the folded part lost its form")
        return form

    def _unfold(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        self._folded.setVisible(on)
        closed = Qt.ArrowType.LeftArrow if self.isRightToLeft() else Qt.ArrowType.RightArrow
        self.fold.setArrowType(Qt.ArrowType.DownArrow if on else closed)

    def _add_fields(
        self, form: QFormLayout, names: list[str] | tuple[str, ...], values: dict[str, Any]
    ) -> None:
        for name in names:
            unnamed = SettingText(name.replace("_", " ").capitalize(), "")
            text = self._texts.get(name, unnamed)
            editor = self._editors.make(name, values[name], text)
            explanation = Explanation(name, text)
            self._labels[name] = [explanation]
            row = _beside(editor, explanation.button)
            if isinstance(editor, QCheckBox):
                form.addRow(row)
            else:
                label = QLabel(text.label)
                label.setToolTip(text.tip)
                label.setBuddy(editor)
                self._labels[name].append(label)
                form.addRow(label, row)
            form.addRow(explanation)
            show = partial(form.setRowVisible, explanation)
            explanation.button.toggled.connect(show)
            show(explanation.button.isChecked())

    # Values -------------------------------------------------------------------------------

    def show_settings(self, settings: Settings) -> None:
        """Show settings without emitting `changed`."""
        self._settings = settings
        self._editors.show(flat_values(settings))
        self.encoder.show_choice(settings.encoder)
        preset = preset_of(settings)
        self.presets.group.setExclusive(False)  # custom settings press no button
        for number, name in enumerate(self._names):
            self.presets.group.button(number).setChecked(name == preset)
        self.presets.group.setExclusive(True)
        shown = len(self._names) if preset is None else self._names.index(preset)
        self._explanations.setCurrentIndex(shown)
        self._defaults.setVisible(preset is None or FeatureGroup.CHANNELS in settings.features)
        self._enable("smoothness", "colour_likelihood", when=settings.refine)
        self._enable("unlabelled_weight", "few_strokes", when=settings.transductive)
        groups = set(settings.features)
        self._enable("position_bandwidths", when=FeatureGroup.POSITION in groups)
        self._enable("stroke_bandwidths", when=bool(groups & STROKE_DEPENDENT))

    def offer_channels(self, offered: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Enable the feature of all channels if the picture has hidden ones."""
        self._editors.offer_channels(offered=offered)

    def _enable(self, *names: str, when: bool) -> None:
        """Enable or disable settings with their labels."""
        for name in names:
            for part in (self._editors.by_name[name], *self._labels[name]):
                part.setEnabled(when)

    def _take_preset(self, name: str) -> None:
        self._take(preset_with(name, self._settings))

    def _change(self, name: str, value: object) -> None:
        changed: dict[str, Any] = {name: value}
        try:
            if any(part.name == name for part in dataclasses.fields(CleanUp)):
                changed = {"clean_up": dataclasses.replace(self._settings.clean_up, **changed)}
            settings = dataclasses.replace(self._settings, **changed)
        except SegappError:  # keep the settings if the values are invalid
            settings = self._settings
        self._take(settings)

    def _take(self, settings: Settings) -> None:
        changed = settings != self._settings
        self.show_settings(settings)
        if changed:
            self.changed.emit(settings)


def _form() -> QFormLayout:
    form = QFormLayout()
    form.setContentsMargins(0, 0, 0, 0)
    form.setVerticalSpacing(4)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    return form


def _beside(editor: QWidget, button: QToolButton) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(6)
    row.addWidget(editor, 1)
    row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
    return row


class Explanation(QWidget):
    """Text and example of a setting, shown by its button."""

    def __init__(self, name: str, text: SettingText) -> None:
        super().__init__()
        self.button = QToolButton()
        self.button.setText("i")
        self.button.setObjectName("info")
        self.button.setCheckable(True)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.setToolTip(text.tip)
        self.button.setAccessibleName(self.tr("Explain {}").format(text.label))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(_faint(text.tip))
        if name in EXAMPLES:
            column.addWidget(BeforeAfter(name))


def _faint(text: str) -> QLabel:
    """Return a faint label below a setting."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setContentsMargins(0, 0, 0, 7)  # nearer to its own setting than to the next one
    label.setProperty("tone", "faint")
    return label
