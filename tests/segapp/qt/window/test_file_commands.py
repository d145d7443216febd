"""Strokes that a project was opened over are asked about before they are gone."""

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QMessageBox

from segapp.io.project import Project, load_project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Unsaved, ask_unsaved
from tests.segapp.qt.conftest import save_now


@pytest.fixture
def window(make_window, picture_file, two_strokes, qtbot, tmp_path):
    """Open a project over a stroke that is in no file."""
    path = picture_file()
    window = make_window(path)
    window.session.add_stroke(two_strokes[1])
    project = Project(Document(strokes=two_strokes[:1]), DEFAULT_SETTINGS, path, "")
    save_project(tmp_path / "work.segapp", project)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(tmp_path / "work.segapp")
    assert not window.session.unsaved_states()
    return window


@pytest.fixture
def close(window, monkeypatch):
    """Close the window, or try to; return what was asked about."""

    def close(answer):
        asked = []

        def ask(_, states, replaced):
            asked.extend((states, replaced))
            return answer

        monkeypatch.setattr(file_dialogs, "ask_unsaved", ask)
        window.close()
        return tuple([tuple(state.content.document.strokes) for state in each] for each in asked)

    return close


def test_closing_asks_about_strokes_under_an_opened_project(window, close, two_strokes):
    assert close(Unsaved.CANCEL) == ([], [two_strokes[1:]])
    assert window.isVisible()
    assert close(Unsaved.DISCARD) == ([], [two_strokes[1:]])
    assert not window.isVisible()


def test_they_are_saved_beside_what_the_picture_has(
    window, close, two_strokes, monkeypatch, tmp_path
):
    proposed = []

    def ask(_, path):
        proposed.append(path)
        return path

    monkeypatch.setattr(file_dialogs, "ask_project", ask)
    close(Unsaved.SAVE)
    assert not window.isVisible()
    assert tuple(load_project(proposed[0]).document.strokes) == two_strokes[1:]
    assert tuple(load_project(tmp_path / "work.segapp").document.strokes) == two_strokes[:1]
    state = window.session.state
    assert (state.location.path, state.unsaved) == (tmp_path / "work.segapp", False)


def test_without_a_place_for_them_the_window_stays(window, close, monkeypatch, two_strokes):
    monkeypatch.setattr(file_dialogs, "ask_project", lambda *_: None)
    close(Unsaved.SAVE)
    assert window.isVisible()
    assert close(Unsaved.DISCARD) == ([], [two_strokes[1:]])


def test_strokes_that_undo_brings_back_are_asked_about_once(window, close, two_strokes):
    window.commands["undo"].trigger()
    more = Stroke(((30.0, 30.0),), 4.0, 0)
    window.session.add_stroke(more)
    assert close(Unsaved.CANCEL) == ([(two_strokes[1], more)], [])
    window.commands["undo"].trigger()
    window.commands["undo"].trigger()
    assert tuple(window.session.document.strokes) == ()
    assert close(Unsaved.CANCEL) == ([()], [two_strokes[1:]])


def test_strokes_saved_after_an_undo_are_not_asked_about(window, close, qtbot, tmp_path):
    window.commands["undo"].trigger()
    assert save_now(window, tmp_path / "mine.segapp")
    with qtbot.waitSignal(window.files.opened):
        window.files.open(tmp_path / "work.segapp")
    assert close(Unsaved.CANCEL) == ()


def test_the_question_distinguishes_strokes_under_a_project_from_others(window):
    told = []

    def look():
        (box,) = window.findChildren(QMessageBox)
        told.append(box.text())
        box.reject()

    QTimer.singleShot(50, look)
    assert ask_unsaved(window, [], [window.session.state]) is Unsaved.CANCEL
    assert told == [
        "Save the strokes on picture.png that a project was opened over, before closing?"
    ]
