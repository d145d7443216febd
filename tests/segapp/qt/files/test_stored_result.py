"""A finished picture shows its stored result at once, and learns only what is asked of it."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from segapp.app import state
from segapp.app.project_store import SaveLocation
from segapp.app.state import Stage
from segapp.imaging.overlay import ViewMode
from segapp.io.project import load_project, save_project
from segapp.model.settings import PRESETS
from tests.segapp.qt.conftest import QuickSegmenter, save_now, stroke

MARKS = (stroke(0, (10.0, 30.0)), stroke(1, (70.0, 30.0)))


class Counted(QuickSegmenter):
    asked: ClassVar = []
    prepared: ClassVar = []

    def prepare(self, settings):
        type(self).prepared.append(settings)

    def updates(self, document, settings):
        type(self).asked.append(document)
        yield from super().updates(document, settings)


@pytest.fixture
def finished(qtbot, make_window, picture_file):
    """Return a picture with a project that has a result, and the labels of that."""
    picture = picture_file()
    window = make_window(picture, Counted)
    for mark in MARKS:
        window.session.add_stroke(mark)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    labels = window.session.answers.answer.labelling.labels
    assert save_now(window, picture.with_suffix(".segapp"))
    window.close()
    Counted.asked, Counted.prepared = [], []
    return picture, labels


def is_shown(window):
    return window.session.answers.is_current and not window.labelling_view.busy


def test_a_stored_result_is_shown_without_learning(finished, make_window, qtbot):
    picture, labels = finished
    window = make_window(picture, Counted)
    answers = window.session.answers
    assert answers.progress.stage is Stage.CURRENT
    np.testing.assert_array_equal(answers.answer.labelling.labels, labels)
    qtbot.waitUntil(lambda: is_shown(window))
    qtbot.waitUntil(lambda: bool(Counted.prepared))  # for a stroke that may come
    assert Counted.asked == []
    window.session.add_stroke(MARKS[0])
    qtbot.waitUntil(lambda: answers.is_current)
    assert len(Counted.asked) == 1


def test_margins_are_learnt_when_a_view_needs_them(finished, make_window, qtbot):
    window = make_window(finished[0], Counted)
    shown = []
    window.labelling_view.rendered.connect(shown.append)
    window.labelling_view.set_mode(ViewMode.CONFIDENCE)
    qtbot.waitUntil(lambda: bool(shown) and shown[-1].mode is ViewMode.CONFIDENCE)
    assert len(Counted.asked) == 1


def test_the_least_certain_spot_is_learnt_when_it_is_asked_for(finished, make_window, qtbot):
    window = make_window(finished[0], Counted)
    qtbot.waitUntil(lambda: is_shown(window))
    window.commands["spot"].trigger()
    told = []
    window.answer_commands.message.connect(told.append)
    qtbot.waitUntil(lambda: bool(told))
    assert (len(Counted.asked), told) == (1, ["The result is certain everywhere"])


def test_an_outdated_result_is_shown_as_such_and_learnt_again(
    finished, make_window, gated, qtbot, monkeypatch
):
    picture, labels = finished
    monkeypatch.setattr(state, "program_digest", lambda: "of the next version")
    window = make_window(picture, gated)
    answers = window.session.answers
    assert answers.answer is None
    np.testing.assert_array_equal(answers.shown.labels, labels)
    assert "learnt again" in window.statusBar().currentMessage()
    gated.gate.release(9)
    qtbot.waitUntil(lambda: answers.is_current)
    np.testing.assert_array_equal(answers.answer.labelling.labels, labels)


def test_a_result_of_other_settings_is_not_shown_as_the_answer(finished, make_window, qtbot):
    path = finished[0].with_suffix(".segapp")
    save_project(path, replace(load_project(path), settings=PRESETS["paper"]))
    window = make_window(finished[0], Counted)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert len(Counted.asked) == 1


def test_opening_writes_nothing(finished, make_window, qtbot):
    path = finished[0].with_suffix(".segapp")
    save_project(path, replace(load_project(path), labels=None))
    before = path.read_bytes()
    window = make_window(finished[0], Counted)
    window.store.policy.choose(SaveLocation.BESIDE)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.autosave._timer.timeout.emit()
    assert window.autosave.wait(20)
    assert path.read_bytes() == before


def test_an_answer_that_comes_after_its_strokes_were_saved_is_saved(
    picture_file, make_window, gated, qtbot
):
    picture = picture_file()
    window = make_window(picture, gated)
    window.store.policy.choose(SaveLocation.BESIDE)
    for mark in MARKS:
        window.session.add_stroke(mark)
    assert window.autosave.wait(20)
    path = picture.with_suffix(".segapp")
    assert load_project(path).labels is None
    gated.gate.release(99)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.autosave._answer_timer.timeout.emit()
    assert window.autosave.wait(20)
    project = load_project(path)
    assert project.labels is not None
    assert tuple(project.document.strokes) == MARKS
    written = path.read_bytes()
    assert window.autosave.wait(20)
    assert (path.read_bytes(), window.autosave._new_answers) == (written, {})
