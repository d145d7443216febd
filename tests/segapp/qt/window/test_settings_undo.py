"""Settings make the work unsaved, so undo takes them back, in turn with the strokes."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QToolButton

from segapp.io.images import load_image
from segapp.io.project import Project, save_project
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS

CONTROL = Qt.KeyboardModifier.ControlModifier
AGAIN = CONTROL | Qt.KeyboardModifier.ShiftModifier


def choose(window, qtbot, name):
    button = window.settings_panel.findChild(QToolButton, f"way_{name}")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_undo_and_redo_go_through_strokes_and_settings_in_their_order(
    make_window, picture_file, two_strokes, qtbot
):
    window = make_window(picture_file())
    session = window.session
    session.add_stroke(two_strokes[0])
    choose(window, qtbot, "paper")
    session.add_stroke(two_strokes[1])
    choose(window, qtbot, "alike")
    assert window.commands["undo"].text() == "&Undo change of settings"
    seen = [(len(session.document.strokes), session.settings)]
    while window.commands["undo"].isEnabled():
        qtbot.keyClick(window.canvas, Qt.Key.Key_Z, CONTROL)
        seen.append((len(session.document.strokes), session.settings))
    assert seen == [
        (2, PRESETS["alike"]),
        (2, PRESETS["paper"]),
        (1, PRESETS["paper"]),
        (1, DEFAULT_SETTINGS),
        (0, DEFAULT_SETTINGS),
    ]
    again = [seen.pop()]
    while window.commands["redo"].isEnabled():
        qtbot.keyClick(window.canvas, Qt.Key.Key_Z, AGAIN)
        again.append((len(session.document.strokes), session.settings))
    assert again == [(0, DEFAULT_SETTINGS), *seen[::-1]]


def test_undone_settings_are_shown_and_a_new_edit_forgets_what_was_undone(
    make_window, picture_file, two_strokes, qtbot
):
    window = make_window(picture_file())
    choose(window, qtbot, "paper")
    assert window.commands["undo"].isEnabled()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Z, CONTROL)
    assert window.settings_panel.findChild(QToolButton, "way_best").isChecked()
    assert window.commands["redo"].text() == "&Redo change of settings"
    window.session.add_stroke(two_strokes[0])
    assert not window.commands["redo"].isEnabled()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Z, CONTROL)
    choose(window, qtbot, "alike")
    assert not window.commands["redo"].isEnabled()


def test_steps_of_one_number_are_taken_back_at_once(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    session = window.session
    smoothness = window.settings_panel.findChild(QDoubleSpinBox, "smoothness")
    area = window.settings_panel.findChild(QSpinBox, "smallest_area")
    for _ in range(5):
        qtbot.keyClick(smoothness, Qt.Key.Key_Up)
    turned = session.settings
    assert turned.smoothness > DEFAULT_SETTINGS.smoothness
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down):
        qtbot.keyClick(area, key)
    both = session.settings
    session.undo()
    assert session.settings == turned
    session.undo()
    assert session.settings == DEFAULT_SETTINGS
    assert not window.commands["undo"].isEnabled()
    session.redo()
    session.redo()
    assert session.settings == both


def test_a_number_turned_back_is_no_edit(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    area = window.settings_panel.findChild(QSpinBox, "smallest_area")
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(area, key)
    assert window.session.settings == DEFAULT_SETTINGS
    assert not window.commands["undo"].isEnabled()


def test_a_stroke_in_between_keeps_the_steps_apart(make_window, picture_file, two_strokes, qtbot):
    window = make_window(picture_file())
    session = window.session
    area = window.settings_panel.findChild(QSpinBox, "smallest_area")
    qtbot.keyClick(area, Qt.Key.Key_Up)
    once = session.settings
    session.add_stroke(two_strokes[0])
    qtbot.keyClick(area, Qt.Key.Key_Up)
    session.undo()
    assert session.settings == once
    session.undo()
    assert tuple(session.document.strokes) == ()
    session.undo()
    assert session.settings == DEFAULT_SETTINGS


def test_undo_after_opening_a_project_brings_back_strokes_and_settings(
    make_window, picture_file, two_strokes, tmp_path, qtbot
):
    picture = load_image(picture_file())
    project = tmp_path / "elsewhere" / "other.segapp"
    project.parent.mkdir()
    document = Document(strokes=(two_strokes[1],))
    save_project(project, Project(document, PRESETS["paper"], picture.path, picture.sha256))
    window = make_window(picture.path)
    session = window.session
    session.add_stroke(two_strokes[0])
    choose(window, qtbot, "alike")
    before = session.state.content
    window.files.open(project)
    qtbot.waitUntil(lambda: session.settings == PRESETS["paper"])
    assert session.document == document
    qtbot.keyClick(window.canvas, Qt.Key.Key_Z, CONTROL)
    assert session.state.content == before
    assert window.settings_panel.findChild(QToolButton, "way_alike").isChecked()
