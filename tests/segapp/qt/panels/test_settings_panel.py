import dataclasses

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSlider,
    QSpinBox,
    QToolButton,
    QWidget,
)

from segapp.model.settings import (
    DEFAULT_SETTINGS,
    IMAGE_SPECIFIC,
    PRESETS,
    CleanUp,
    FeatureGroup,
    Settings,
    bounds_of,
)
from segapp.qt.panels.setting_texts import feature_texts, preset_texts, setting_texts
from segapp.qt.panels.settings_panel import Explanation, SettingsPanel


@pytest.fixture
def panel(qtbot):
    made = SettingsPanel()
    qtbot.addWidget(made)
    made.show()
    made.changes = []
    made.changed.connect(made.changes.append)
    return made


def names():
    own = {field.name for field in dataclasses.fields(Settings)} - {"clean_up", "encoder"}
    return sorted(own | {field.name for field in dataclasses.fields(CleanUp)})


@pytest.mark.parametrize("name", names())
def test_every_setting_has_an_editor_and_says_what_it_does(panel, name):
    text = setting_texts()[name]
    assert text.label
    assert text.tip
    if name != "features":
        editor = panel.findChild(QWidget, name)
        assert editor.toolTip() == text.tip
        assert editor.accessibleName() == text.label


def test_every_feature_group_and_preset_is_explained(panel):
    own_box = {FeatureGroup.ENCODER}
    assert set(feature_texts()) == set(FeatureGroup) - own_box
    assert set(PRESETS) <= set(preset_texts())


def test_changing_one_value_changes_only_that(panel):
    panel.findChild(QSpinBox, "bits").setValue(9)
    assert panel.changes == [dataclasses.replace(DEFAULT_SETTINGS, bits=9)]
    panel.findChild(QCheckBox, "transductive").click()
    assert panel.changes[-1] == dataclasses.replace(
        DEFAULT_SETTINGS, bits=9, transductive=not DEFAULT_SETTINGS.transductive
    )


def test_clean_up_is_changed_inside_its_own_value(panel):
    panel.findChild(QSpinBox, "smallest_area").setValue(120)
    assert panel.changes[-1].clean_up == dataclasses.replace(
        DEFAULT_SETTINGS.clean_up, smallest_area=120
    )


def test_features_are_chosen_but_never_none(panel):
    boxes = {
        group: panel.findChild(QCheckBox, f"features_{group.value}")
        for group in FeatureGroup
        if group is not FeatureGroup.ENCODER  # which has a box of its own
    }
    boxes[FeatureGroup.RGB].click()
    assert set(panel.changes[-1].features) == {FeatureGroup.RGB, *DEFAULT_SETTINGS.features}
    for box in boxes.values():
        if box.isChecked():
            box.click()
    assert len(panel.changes[-1].features) == 1
    assert sum(box.isChecked() for box in boxes.values()) == 1


def test_three_ways_and_the_way_back(panel, qtbot):
    def pressed():
        return [
            name for name in PRESETS if panel.findChild(QToolButton, f"way_{name}").isChecked()
        ]

    assert pressed() == ["best"]
    for name in ("paper", "alike"):
        qtbot.mouseClick(panel.findChild(QToolButton, f"way_{name}"), Qt.MouseButton.LeftButton)
        assert panel.changes[-1] == PRESETS[name]
        assert pressed() == [name]
        assert panel._explanations.currentWidget().text() == preset_texts()[name].tip
    panel.findChild(QSpinBox, "bits").setValue(7)
    assert pressed() == []  # settings of one's own
    assert panel._defaults.isVisible()
    panel._defaults.click()
    assert panel.changes[-1] == DEFAULT_SETTINGS
    assert pressed() == ["best"]
    assert not panel._defaults.isVisible()


def test_alike_is_the_papers_learner_tidied_and_keeps_untouched_parts():
    alike, paper = PRESETS["alike"], PRESETS["paper"]
    assert alike == dataclasses.replace(paper, clean_up=alike.clean_up)
    assert not IMAGE_SPECIFIC & set(alike.features)
    assert alike.clean_up.fill_holes
    assert not alike.clean_up.keep_touching


def test_the_learner_is_folded_away_until_it_is_wanted(panel, qtbot):
    bits = panel.findChild(QSpinBox, "bits")
    assert not bits.isVisible()
    assert panel.findChild(QCheckBox, "fill_holes").isVisible()
    qtbot.mouseClick(panel.fold, Qt.MouseButton.LeftButton)
    assert bits.isVisible()


def test_an_explanation_is_shown_and_hidden_by_its_button(panel, qtbot):
    explained = panel.findChildren(Explanation)
    assert len(explained) == len(setting_texts())
    assert not any(each.isVisible() for each in explained)
    for each in explained[:3]:
        qtbot.mouseClick(each.button, Qt.MouseButton.LeftButton)
        assert each.isVisible()
        qtbot.mouseClick(each.button, Qt.MouseButton.LeftButton)
        assert not each.isVisible()


def test_the_size_of_the_object_comes_first(panel):
    by_height = sorted(
        (panel.findChild(QWidget, name) for name in names() if name != "features"),
        key=lambda editor: editor.mapTo(panel, QPoint()).y(),
    )
    shown = [editor.objectName() for editor in by_height if editor.isVisible()]
    assert shown[0] == "threshold"


def test_settings_without_effect_cannot_be_changed(panel, qtbot):
    names = ("colour_likelihood", "smoothness")
    assert all(panel.findChild(QWidget, name).isEnabled() for name in names)
    refine = panel.findChild(QCheckBox, "refine")
    refine.setFocus()
    qtbot.keyClick(refine, Qt.Key.Key_Space)
    assert not panel.changes[-1].refine
    assert not any(panel.findChild(QWidget, name).isEnabled() for name in names)


def test_showing_is_not_changing(panel):
    panel.show_settings(PRESETS["paper"])
    assert panel.changes == []
    assert panel.findChild(QSpinBox, "passes").value() == PRESETS["paper"].passes
    samples = panel.findChild(QComboBox, "samples")
    assert samples.currentData() == PRESETS["paper"].samples


def test_numbers_with_commas_and_what_is_none(panel, qtbot):
    line = panel.findChild(QLineEdit, "bandwidths")
    line.setText("0.1, 2")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert panel.changes[-1].bandwidths == (0.1, 2.0)
    for nonsense in ("one, two", "-1"):
        line.setText(nonsense)
        qtbot.keyClick(line, Qt.Key.Key_Return)
        assert line.text() == "0.1, 2"
    assert len(panel.changes) == 1


def turn_wheel(widget):
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle,
        widget.mapToGlobal(middle),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


@pytest.mark.parametrize("name", ["samples", "bits", "smoothness"])
def test_scrolling_over_a_value_does_not_change_it(panel, name, qtbot):
    panel.fold.setChecked(True)
    panel.resize(panel.minimumSizeHint().width(), 200)
    qtbot.waitExposed(panel)
    editor = panel.findChild(QWidget, name)
    panel.setFocus()
    before = panel.verticalScrollBar().value()
    turn_wheel(editor)
    assert panel.changes == []
    assert panel.verticalScrollBar().value() > before


def test_numbers_are_shown_without_idle_zeros(panel):
    panel.show_settings(dataclasses.replace(DEFAULT_SETTINGS, smoothness=40.0, lambda1=0.125))
    assert panel.findChild(QDoubleSpinBox, "smoothness").text() == "40"
    assert panel.findChild(QDoubleSpinBox, "lambda1").text() == "0.125"


def test_the_panel_needs_no_sideways_scrolling(panel):
    panel.resize(panel.minimumSizeHint().width(), 400)
    assert panel.widget().width() <= panel.viewport().width()


def test_a_change_reaches_the_learner(make_window, picture_file, answered, qtbot):
    window = answered(make_window(picture_file()))
    window.settings_panel.findChild(QSpinBox, "bits").setValue(6)
    assert window.session.settings.bits == 6
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert window.isWindowModified()


@pytest.mark.parametrize("name", sorted(bounds_of(Settings) | bounds_of(CleanUp)))
def test_the_editors_know_the_bounds_of_the_settings(panel, name):
    low, high = (bounds_of(Settings) | bounds_of(CleanUp))[name]
    editor = panel.findChild(QWidget, name)
    if isinstance(editor, QLineEdit):
        return
    steps = 100 if isinstance(editor, QSlider) else 1  # a slider counts whole hundredths
    assert (editor.minimum(), editor.maximum()) == (steps * low, steps * high)
    for value in (low, high):
        editor.setValue(steps * value)
    shown = panel.changes[-1].clean_up if hasattr(CleanUp, name) else panel.changes[-1]
    assert getattr(shown, name) == high


def test_from_right_to_left_the_fold_points_to_where_words_go_on(qapp, qtbot):
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        panel = SettingsPanel()
        qtbot.addWidget(panel)
        panel.show()
        assert panel.fold.arrowType() is Qt.ArrowType.LeftArrow
        qtbot.mouseClick(panel.fold, Qt.MouseButton.LeftButton)
        assert panel.fold.arrowType() is Qt.ArrowType.DownArrow
    finally:
        qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
