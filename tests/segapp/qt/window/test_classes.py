"""Classes by mouse and key: which button paints which, and how they get their names."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QModelIndex, QPointF, Qt
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QApplication, QColorDialog, QLineEdit, QToolButton

from segapp.model.classes import MAX_CLASSES, ClassInfo
from segapp.model.document import Document
from segapp.qt.canvas.brush import BrushUnit, Tool
from tests.segapp.qt.window.by_hand import paint

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(make_window, picture_file):
    return make_window(picture_file())


def test_digits_choose_the_left_buttons_class_and_leave_the_right_one_alone(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_2)
    assert (window.brush.brush.left, window.brush.brush.right) == (1, 1)
    qtbot.keyClick(window.canvas, Qt.Key.Key_1, SHIFT)
    assert (window.brush.brush.left, window.brush.brush.right) == (1, 0)
    paint(qtbot, window, RIGHT, (10, 10))
    assert window.session.document.strokes[-1].label == 0
    qtbot.keyClick(window.canvas, Qt.Key.Key_X)
    assert (window.brush.brush.left, window.brush.brush.right) == (0, 1)


def test_the_list_shows_the_class_of_each_button(window, qtbot):
    def told():
        rows = window.class_panel._list
        role = Qt.ItemDataRole.AccessibleTextRole
        return [rows.item(row).data(role) for row in range(rows.count())]

    assert told() == ["1: foreground, left button", "2: background, right button"]
    before = window.class_panel.grab().toImage()
    qtbot.keyClick(window.canvas, Qt.Key.Key_2)
    assert told() == ["1: foreground", "2: background, both buttons"]
    assert window.class_panel.grab().toImage() != before


def test_a_new_class_is_born_in_its_name_field_and_typing_fires_no_command(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_N, CONTROL | SHIFT)
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    assert editor.selectedText() == "class 3"
    for key in "ebmxk12[]s":  # every one of them is a command on the canvas
        qtbot.keyClick(QApplication.focusWidget(), key)
    assert window.brush.brush.tool is Tool.BRUSH
    assert window.commands["show_strokes"].isChecked()
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.document.classes[2].name == "ebmxk12[]s")
    assert window.brush.brush.left == 2


def test_editing_keys_in_a_name_leave_strokes_and_folder_alone(window, qtbot):
    paint(qtbot, window, LEFT, (10, 10))
    window.class_panel.edit_name()
    editor = QApplication.focusWidget()
    qtbot.keyClick(editor, Qt.Key.Key_Home)
    qtbot.keyClick(editor, Qt.Key.Key_Delete, CONTROL)
    assert len(window.session.document.strokes) == 1
    assert editor.text() != "foreground"
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    spin = window.class_panel.paint_box._spin
    spin.setFocus()
    qtbot.keyClick(spin, Qt.Key.Key_A, CONTROL)
    qtbot.keyClicks(spin, "12")
    qtbot.keyClick(spin, Qt.Key.Key_Return)
    assert window.brush.brush.radius == 12
    assert window.brush.brush.left == 0


@pytest.mark.parametrize("command", ["add_class", "rename_class"])
def test_a_name_is_typed_where_it_is_seen(window, qtbot, command):
    window.docks.paint.hide()
    window.commands[command].trigger()
    window.commands["rename_class"].trigger()  # while it is being typed: nothing new
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    assert not editor.visibleRegion().isEmpty()
    qtbot.keyClicks(editor, "road")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "road" in [info.name for info in window.session.document.classes])


def test_a_name_that_is_being_typed_is_kept_when_the_next_class_is_added(window, qtbot):
    row = window.class_panel.findChildren(QToolButton)
    add = next(b for b in row if b.defaultAction() is window.commands["add_class"])
    for name in ("road", "tree"):
        qtbot.mouseClick(add, LEFT)
        editor = QApplication.focusWidget()
        assert isinstance(editor, QLineEdit)
        qtbot.keyClicks(editor, name)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.document.classes[3].name == "tree")
    assert window.session.document.classes[2].name == "road"


def test_undo_in_the_middle_of_a_name_leaves_no_field_behind(window, qtbot):
    window.commands["add_class"].trigger()
    qtbot.keyClicks(QApplication.focusWidget(), "road")
    window.commands["undo"].trigger()  # by its button, which takes no focus
    qtbot.wait(20)
    assert window.class_panel.findChildren(QLineEdit, "qt_spinbox_lineedit") != []
    assert not [
        field
        for field in window.class_panel.findChildren(QLineEdit)
        if field.objectName() != "qt_spinbox_lineedit"
    ]


def test_a_letter_of_altgr_writes_where_windows_calls_it_ctrl_alt(window, qtbot):
    copied = []
    window.commands["copy_picture"].triggered.connect(lambda: copied.append(1))
    both = CONTROL | Qt.KeyboardModifier.AltModifier
    window.class_panel.edit_name()
    editor = QApplication.focusWidget()
    kind = QEvent.Type.ShortcutOverride
    letter, command = (QKeyEvent(kind, Qt.Key.Key_C, both, text) for text in ("ć", "\x03"))
    for event in (letter, command):
        event.ignore()
        QApplication.sendEvent(editor, event)
    assert letter.isAccepted()
    assert not command.isAccepted()
    qtbot.keyClick(editor, Qt.Key.Key_Escape)


def test_classes_are_added_renamed_recoloured_and_deleted(window, qtbot, monkeypatch):
    window.commands["add_class"].trigger()
    classes = window.session.document.classes
    assert len(classes) == 3
    assert len({info.colour for info in classes}) == 3
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    qtbot.keyClicks(editor, "sky")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.document.classes[2].name == "sky")
    monkeypatch.setattr(QColorDialog, "getColor", lambda *_: QColor(9, 8, 7))
    window.commands["recolour_class"].trigger()
    assert window.session.document.classes[2].colour == (9, 8, 7)
    paint(qtbot, window, LEFT, (10, 10))
    window.commands["delete_class"].trigger()
    assert len(window.session.document.classes) == 2
    assert tuple(window.session.document.strokes) == ()
    assert not window.commands["delete_class"].isEnabled()
    window.session.undo()
    assert window.session.document.classes[2].name == "sky"
    assert len(window.session.document.strokes) == 1


def test_a_brush_of_the_screen_marks_as_wide_on_any_picture(make_window, picture_file, qtbot):
    seen = []
    for name, size in (("small.png", (60, 80)), ("large.png", (3000, 4000))):
        window = make_window(picture_file(name, size))
        centre = (size[1] / 2, size[0] / 2)
        paint(qtbot, window, LEFT, centre)
        radius = window.session.document.strokes[-1].radius
        seen.append(radius * window.canvas.viewport.view.scale)
        paint(qtbot, window, LEFT, centre)
    assert seen == pytest.approx([window.brush.brush.radius] * 2)


def test_the_brushs_unit_is_chosen_in_the_panel_and_remembered(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    box = window.class_panel.paint_box._unit
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    assert window.brush.brush.unit is BrushUnit.PICTURE
    paint(qtbot, window, LEFT, (10, 10))
    assert window.session.document.strokes[-1].radius == window.brush.brush.radius
    window.close()
    assert make_window().brush.brush.unit is BrushUnit.PICTURE


@pytest.mark.parametrize("button", [LEFT, RIGHT])
def test_the_ring_has_the_colour_of_the_button_that_is_pressed(window, qtbot, button):
    window.brush.set_unit(BrushUnit.PICTURE)
    centre = window.canvas.viewport.view.to_widget(QPointF(40, 30)).toPoint()
    qtbot.mouseMove(window.canvas, centre / 2)
    qtbot.mouseMove(window.canvas, centre)
    assert window.canvas._cursor().colour == QColor(*window.session.document.classes[0].colour)
    qtbot.mousePress(window.canvas, button, pos=centre)
    index = window.brush.brush.label(button)
    colour = QColor(*window.session.document.classes[index].colour)
    assert window.canvas._cursor().colour == colour
    qtbot.mouseRelease(window.canvas, button, pos=centre)


def test_twenty_classes_have_twenty_colours(window):
    for _ in range(18):
        window.commands["add_class"].trigger()
    colours = np.array([info.colour for info in window.session.document.classes])
    apart = np.abs(colours[:, None].astype(int) - colours).max(axis=2) + 999 * np.eye(
        20, dtype=int
    )
    assert apart.min() > 30


def test_no_class_more_than_there_can_be_and_the_tip_says_why(window):
    few = window.session.document.classes
    many = [ClassInfo(f"{k}", (k, 0, 0)) for k in range(MAX_CLASSES - 1)]
    window.session.edit("many", Document(tuple(many)))
    add = window.commands["add_class"]
    tip = add.toolTip()
    add.trigger()
    assert len(window.session.document.classes) == MAX_CLASSES
    assert not add.isEnabled()
    assert "There can be at most 255 classes" in add.toolTip()
    add.trigger()
    window.session.edit("few", Document(few))
    assert add.isEnabled()
    assert add.toolTip() == tip


def names_of(window):
    return [info.name for info in window.session.document.classes]


@pytest.fixture
def four(window, qtbot):
    """A picture with four classes, the third of which has a stroke and is in hand."""
    classes = tuple(
        ClassInfo(name, (40 * k, 90, 200 - 40 * k))
        for k, name in enumerate(("leaf", "stem", "soil", "sky"))
    )
    window.session.edit("four", Document(classes))
    qtbot.keyClick(window.canvas, Qt.Key.Key_3)
    paint(qtbot, window, LEFT, (10, 10), (20, 12))
    return window


def test_a_class_is_moved_by_key_with_its_strokes_and_undone(four, qtbot):
    assert four.brush.brush.left == 2
    right = names_of(four)[four.brush.brush.right]
    qtbot.keyClick(four.canvas, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert names_of(four) == ["leaf", "soil", "stem", "sky"]
    assert four.session.document.strokes[-1].label == 1
    assert four.brush.brush.left == 1  # the same class is in hand
    assert names_of(four)[four.brush.brush.right] == right
    qtbot.keyClick(four.canvas, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert names_of(four)[0] == "soil"
    assert not four.commands["class_up"].isEnabled()
    assert four.commands["class_down"].isEnabled()
    assert four.session.document.background == 3  # the last stays the background
    for _ in range(2):
        four.commands["undo"].trigger()
    assert names_of(four) == ["leaf", "stem", "soil", "sky"]
    assert four.brush.brush.left == 2
    assert four.session.document.strokes[-1].label == 2


def test_a_shown_result_keeps_its_colours_when_classes_move(
    make_window, picture_file, answered, qtbot
):
    window = answered(make_window(picture_file()))
    session, view, made = window.session, window.labelling_view, []
    qtbot.waitUntil(lambda: not view.busy)
    view.rendered.connect(made.append)
    session.answers.set_live(False)
    session.edit("moving", session.document.with_class_moved(0, 1))
    assert [info.name for info in session.document.classes] == ["background", "foreground"]
    assert not view.busy
    assert made == []  # it looks as before
    leaf = ClassInfo("leaf", (9, 200, 9))
    session.edit("recolouring", session.document.with_class_changed(1, leaf))
    qtbot.waitUntil(lambda: len(made) == 1)
    assert made[0].labelling is session.answers.shown
    assert [info.name for info in made[0].classes] == ["leaf", "background"]
    session.answers.set_live(True)
    qtbot.waitUntil(lambda: session.answers.is_current and not view.busy)
    assert [info.name for info in made[-1].classes] == ["background", "leaf"]


def test_the_background_stays_one_when_another_class_becomes_the_last(four, qtbot):
    qtbot.keyClick(four.canvas, Qt.Key.Key_4)
    four.commands["class_up"].trigger()
    assert names_of(four) == ["leaf", "stem", "sky", "soil"]
    assert four.session.document.background == 2


def test_a_class_is_dragged(four, qtbot):
    rows = four.class_panel._list
    assert rows.dragDropMode() == rows.DragDropMode.InternalMove
    assert rows.model().moveRow(QModelIndex(), 3, QModelIndex(), 0)
    qtbot.waitUntil(lambda: names_of(four) == ["sky", "leaf", "stem", "soil"])
    assert [rows.item(row).text() for row in range(4)] == names_of(four)
    assert four.session.document.strokes[-1].label == 3
    assert rows.model().moveRow(QModelIndex(), 0, QModelIndex(), 3)  # before the fourth
    qtbot.waitUntil(lambda: names_of(four) == ["leaf", "stem", "sky", "soil"])
