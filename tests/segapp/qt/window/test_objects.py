"""Objects in the window: new, select, join, cut, accept, name, flags, move and delete."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPointF, Qt

from segapp.model.document import Stroke
from segapp.qt.canvas.brush import Tool

BOXES = ((10, 10, 30, 30), (10, 40, 30, 90), (40, 20, 55, 50))  # top, left, bottom, right


@pytest.fixture
def window(make_window, tmp_path, qtbot):
    """Open three red boxes on blue ground, answered, with a stroke in the first."""
    rgb = np.full((60, 100, 3), (40, 40, 200), np.uint8)
    for top, left, bottom, right in BOXES:
        rgb[top:bottom, left:right] = (200, 40, 40)
    path = tmp_path / "boxes.png"
    Image.fromarray(rgb).save(path)
    opened = make_window(path)
    opened.session.add_stroke(Stroke(((15.0, 15.0),), 1.0, 0))
    opened.session.add_stroke(Stroke(((5.0, 5.0),), 1.0, 1))
    settle(opened, qtbot)
    return opened


def settle(window, qtbot):
    objects, answers = window.object_commands, window.session.answers
    qtbot.waitUntil(lambda: answers.is_current and not objects._jobs.busy)
    qtbot.waitUntil(lambda: objects._listed.labelling is answers.answer.labelling)


def rows(window):
    return window.object_panel._model.rows


def drag(window, qtbot, start, end, button=Qt.MouseButton.LeftButton):
    canvas = window.canvas
    view = canvas.viewport.view
    one, other = (view.to_widget(QPointF(*at)).toPoint() for at in (start, end))
    qtbot.mousePress(canvas, button, pos=one)
    qtbot.mouseMove(canvas, (one + other) / 2)
    qtbot.mouseMove(canvas, other)
    qtbot.mouseRelease(canvas, button, pos=other)
    settle(window, qtbot)


def click(window, qtbot, x, y, modifier=Qt.KeyboardModifier.NoModifier):
    at = window.canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton, modifier, at)


def test_each_part_is_an_object_that_is_proposed(window):
    assert [row.area for row in rows(window)] == [400, 1000, 450]
    assert not any(row.held for row in rows(window))
    assert window.object_panel.count.text() == "3 objects"
    assert window.object_panel.count.toolTip() == "foreground: 3 objects"
    assert window.session.answers.answer.labelling.objects is None


def test_a_new_object_begins_with_the_next_stroke(window, qtbot):
    window.commands["new_object"].trigger()
    assert "Paint foreground 4" in window.status.currentMessage()
    drag(window, qtbot, (50, 20), (60, 20))
    document = window.session.document
    assert [mark.object_number for mark in document.strokes] == [1, 0, 4]
    assert [(row.key[1], row.held) for row in rows(window)] == [(1, True), (2, False), (4, True)]
    drag(window, qtbot, (70, 20), (75, 20))
    assert window.session.document.strokes[-1].object_number == 4
    window.commands["undo"].trigger()
    window.commands["undo"].trigger()
    settle(window, qtbot)
    assert window.session.document.object_keys() == set()


def test_background_strokes_belong_to_no_object(window, qtbot):
    window.commands["new_object"].trigger()
    drag(window, qtbot, (70, 5), (80, 5), Qt.MouseButton.RightButton)
    assert window.session.document.strokes[-1].object_number == 0


def test_a_box_is_an_object_and_one_inside_goes_on_with_it(window, qtbot):
    window.brush.set_tool(Tool.BOX)
    drag(window, qtbot, (42, 12), (60, 28))
    assert window.session.document.strokes[-1].object_number == 2  # of the box that it lies in
    drag(window, qtbot, (80, 33), (95, 55))
    assert window.session.document.strokes[-1].object_number == 4
    drag(window, qtbot, (85, 40), (90, 45))
    assert window.session.document.strokes[-1].object_number == 4


def test_clicks_select_and_shift_adds(window, qtbot):
    window.brush.set_tool(Tool.SELECT)
    click(window, qtbot, 50, 20)
    assert window.object_commands.selected == ((0, 2),)
    assert sum(each.length() for each in window.canvas._selection) == 2 * (20 + 50)
    assert window.object_panel.keys() == [(0, 2)]
    click(window, qtbot, 15, 15, Qt.KeyboardModifier.ShiftModifier)
    assert set(window.object_commands.selected) == {(0, 1), (0, 2)}
    click(window, qtbot, 3, 3)
    assert window.object_commands.selected == ()
    window.object_panel.view.selectionModel().select(
        window.object_panel._model.index(2),
        window.object_panel.view.selectionCommand(window.object_panel._model.index(2)),
    )
    assert window.object_commands.selected == ((0, 3),)


def test_joined_cut_and_joined_again(window, qtbot):
    objects = window.object_commands
    objects.select([(0, 1), (0, 2)])
    window.commands["join_objects"].trigger()
    settle(window, qtbot)
    assert [row.area for row in rows(window)] == [1400, 450]
    window.brush.set_tool(Tool.CUT)
    drag(window, qtbot, (60, 5), (60, 34))
    assert sum(row.area for row in rows(window)) == 1850
    assert len(rows(window)) == 3
    drag(window, qtbot, (50, 20), (70, 20), Qt.MouseButton.RightButton)
    assert [row.area for row in rows(window)] == [1400, 450]
    for _ in range(3):
        window.commands["undo"].trigger()
    settle(window, qtbot)
    assert [row.area for row in rows(window)] == [400, 1000, 450]
    assert window.session.document.strokes.objects == frozenset()


def test_the_line_of_a_cut_is_no_stroke(window, qtbot):
    before = window.session.document.strokes
    window.brush.set_tool(Tool.CUT)
    drag(window, qtbot, (60, 5), (60, 34))
    assert window.session.document.strokes == before
    assert len(window.session.document.cuts) == 1
    drag(window, qtbot, (2, 50), (8, 55))
    assert "across objects" in window.status.currentMessage()
    assert len(window.session.document.cuts) == 1


def test_proposals_at_necks_are_counted_accepted_and_kept(window, qtbot):
    window.commands["split_class"].trigger()
    settle(window, qtbot)
    assert window.session.document.classes[0].split
    assert window.commands["split_class"].isChecked()
    count = len(rows(window))
    window.commands["accept_objects"].trigger()
    settle(window, qtbot)
    assert all(row.held for row in rows(window))
    assert len(window.session.document.object_keys()) == count
    assert not window.object_panel.accept.isVisible()


def test_names_and_flags(window, qtbot):
    model = window.object_panel._model
    assert model.setData(model.index(1), "long one")
    assert window.session.document.object_info((0, 2)).name == "long one"
    assert rows(window)[1].title == "long one"
    settle(window, qtbot)
    window.object_commands.select([(0, 2)])
    window.commands["crowd_object"].trigger()
    window.commands["occluded_object"].trigger()
    info = window.session.document.object_info((0, 2))
    assert (info.name, info.crowd, info.occluded) == ("long one", True, True)
    text = model.data(model.index(1))
    assert "crowd" in text
    assert "occluded" in text
    assert window.commands["crowd_object"].isChecked()


def test_an_object_moves_to_another_class(window, qtbot):
    window.commands["add_class"].trigger()
    settle(window, qtbot)
    window.object_commands.select([(0, 2)])
    window.object_panel.move_requested.emit(2)
    settle(window, qtbot)
    assert (2, 1) in window.session.document.object_keys()
    labels = window.session.answers.answer.labelling.labels
    assert (labels[10:30, 40:90] == 2).all()


def test_a_deleted_object_is_background(window, qtbot):
    window.object_commands.select([(0, 2)])
    window.commands["delete_object"].trigger()
    settle(window, qtbot)
    assert (window.session.answers.answer.labelling.labels[10:30, 40:90] == 1).all()
    assert [row.area for row in rows(window)] == [400, 450]


def test_another_image_has_its_own_objects(window, qtbot, tmp_path):
    window.object_commands.select([(0, 2)])
    other = tmp_path / "other.png"
    Image.new("RGB", (30, 20)).save(other)
    window.files.open(other)
    qtbot.waitUntil(lambda: window.session.picture.path == other)
    assert window.object_commands.selected == ()
    assert rows(window) == []


def test_every_edit_has_a_key_and_undo_takes_it_back(window, qtbot):
    window.commands["add_class"].trigger()
    window.class_panel.end_name()
    settle(window, qtbot)
    shift, none = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.NoModifier
    edits = (
        ([(0, 2)], [(Qt.Key.Key_G, none)]),
        ([(0, 2)], [(Qt.Key.Key_G, shift)]),
        ([(0, 1), (0, 2)], [(Qt.Key.Key_J, none)]),
        ([(0, 2)], [(Qt.Key.Key_3, none), (Qt.Key.Key_T, none)]),
        ([(0, 2)], [(Qt.Key.Key_Delete, shift)]),
        ([], [(Qt.Key.Key_1, none), (Qt.Key.Key_I, shift)]),
    )
    for chosen, keys in edits:
        before = window.session.document
        window.object_commands.select(chosen)
        for key, modifier in keys:
            qtbot.keyClick(window.canvas, key, modifier)
        settle(window, qtbot)
        assert window.session.document != before
        qtbot.keyClick(window.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        settle(window, qtbot)
        assert window.session.document == before
        assert [row.area for row in rows(window)] in ([400, 1000, 450], [])
    for key, tool in ((Qt.Key.Key_V, Tool.SELECT), (Qt.Key.Key_C, Tool.CUT)):
        qtbot.keyClick(window.canvas, key)
        assert window.brush.brush.tool is tool
    qtbot.keyClick(window.canvas, Qt.Key.Key_I)
    assert window.brush.brush.tool is Tool.BRUSH
    assert "Paint foreground 4" in window.status.currentMessage()


def test_a_class_in_use_that_objects_have_already_is_no_place_to_move_to(window, qtbot):
    before = window.session.document
    window.object_commands.select([(0, 2)])
    qtbot.keyClick(window.canvas, Qt.Key.Key_T)
    assert window.session.document == before
    assert "another class" in window.status.currentMessage()
