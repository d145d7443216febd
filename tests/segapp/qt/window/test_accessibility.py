"""For those who listen, and for those who see little: names, descriptions, contrast."""

import itertools

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QColor, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QKeySequenceEdit,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QTabBar,
    QWidget,
)

from segapp.model.settings import PRESETS
from segapp.qt.canvas.canvas import Canvas, PictureView
from segapp.qt.window.theme import ThemeChoice, palette

CONTROLS = (
    Canvas,
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QKeySequenceEdit,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
)
ROLE = QPalette.ColorRole


def controls(top):
    """Return what a user acts on, without the parts that Qt's own widgets are made of."""
    for widget in (top, *top.findChildren(QWidget)):
        inside = widget.parentWidget()
        is_part = widget.objectName().startswith(("qt_", "_q_")) or isinstance(widget, QScrollBar)
        if inside is not None:
            is_part = is_part or isinstance(
                inside, (QComboBox, QAbstractSpinBox, QKeySequenceEdit, QLineEdit, QTabBar)
            )
            popup = inside.metaObject().className()
            is_part = is_part or popup.startswith("QComboBoxPrivate")
        if isinstance(widget, CONTROLS) and not is_part:
            yield widget


def told(widget, what):
    return QAccessible.queryAccessibleInterface(widget).text(what).strip()


def silent(top):
    """Return the controls of which a screen reader has nothing to say."""
    found = []
    for widget in controls(top):
        box = widget.parentWidget()
        if isinstance(box, QDialogButtonBox) and box.standardButton(widget).value:
            continue  # "Close" and the like, which every desktop has
        for what in (QAccessible.Text.Name, QAccessible.Text.Description):
            if not told(widget, what):
                name = widget.objectName() or getattr(widget, "text", str)()
                found.append(f"{what.name}: {type(widget).__name__} {name}")
    return found


@pytest.fixture
def window(make_window, picture_file, answered, qtbot):
    made = answered(make_window(picture_file()))
    made.session.set_settings(PRESETS["paper"])
    qtbot.waitUntil(lambda: made.session.answers.is_current)
    return made


def test_every_control_of_the_window_has_a_name_and_a_description(window):
    assert len(list(controls(window))) > 50
    assert silent(window) == []


@pytest.mark.parametrize("command", ["export", "shortcuts", "problem"])
def test_so_has_every_control_of_the_dialogs(window, qtbot, command):
    window.commands[command].trigger()
    dialog = QApplication.activeModalWidget()
    found = silent(dialog)
    dialog.reject()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert found == []


def test_so_has_the_comparison(window, qtbot):
    window.model_panel._open_comparison()
    dialog = QApplication.activeModalWidget()
    found = silent(dialog)
    dialog.reject()
    assert found == []


def test_every_entry_of_the_menus_says_what_it_does(window):
    for menu in window.menuBar().findChildren(QMenu):
        for action in menu.actions():
            if not action.isSeparator() and action.menu() is None:
                assert action.text()
    for name in window.commands:
        assert window.commands[name].statusTip(), name


def test_keys_alone_go_from_an_empty_window_to_a_stroke(window, qtbot):
    before = len(window.session.document.strokes)
    window.activateWindow()
    window.canvas.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(window.canvas, key)
    assert len(window.session.document.strokes) == before + 1


# Contrast -----------------------------------------------------------------------------------


def luminance(colour):
    """WCAG 2.2's relative luminance of an sRGB colour."""
    parts = [part / 255 for part in (colour.red(), colour.green(), colour.blue())]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_wcags():
    black, white = QColor(0, 0, 0), QColor(255, 255, 255)
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == 1
    assert contrast(QColor("#767676"), white) == pytest.approx(4.54, abs=0.01)  # the known edge


TEXTS = (
    *itertools.product(
        (ROLE.WindowText, ROLE.Text, ROLE.PlaceholderText, ROLE.Link, ROLE.BrightText),
        (ROLE.Window, ROLE.Base, ROLE.AlternateBase),
    ),
    (ROLE.ButtonText, ROLE.Button),
    (ROLE.ButtonText, ROLE.Midlight),  # under the pointer, and pressed for good
    (ROLE.ButtonText, ROLE.Mid),  # while it is pressed
    (ROLE.HighlightedText, ROLE.Highlight),
    (ROLE.ToolTipText, ROLE.ToolTipBase),
)
SIGNS = (
    (ROLE.Accent, ROLE.Window),  # the frame of what has the focus
    (ROLE.Accent, ROLE.Base),
    (ROLE.Accent, ROLE.Midlight),  # bars on their track
    (ROLE.Highlight, ROLE.Base),
    (ROLE.Dark, ROLE.Base),  # the box of a tick
    (ROLE.Dark, ROLE.Window),
)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("text", "ground"), TEXTS, ids=lambda role: role.name)
def test_text_has_the_contrast_of_aa(dark, text, ground):
    colours = palette(dark=dark)
    assert contrast(colours.color(text), colours.color(ground)) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("sign", "ground"), SIGNS, ids=lambda role: role.name)
def test_signs_have_the_contrast_of_aa(dark, sign, ground):
    colours = palette(dark=dark)
    assert contrast(colours.color(sign), colours.color(ground)) >= 3


@pytest.mark.parametrize("choice", [ThemeChoice.LIGHT, ThemeChoice.DARK])
def test_the_invitation_is_read_on_the_canvass_own_ground(qtbot, make_window, choice):
    window = make_window()
    window.theme.choose(choice)
    view = PictureView()
    qtbot.addWidget(view)
    view.setPalette(window.theme.palette)
    for role in (ROLE.WindowText, ROLE.PlaceholderText):
        assert contrast(window.theme.palette.color(role), view._background()) >= 4.5
