"""Saved models: their answer belongs to the strokes at the time of the request."""

import threading

import numpy as np
import pytest

from segapp.app import result
from segapp.model.answer import Answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.labelling import Labelling
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.files import file_dialogs


@pytest.fixture
def model(monkeypatch, tmp_path):
    """A model that calls everything background, once the test lets it."""
    go_on = threading.Event()

    class Model:
        classes = TWO_CLASSES
        settings = DEFAULT_SETTINGS

        def updates(self, rgb, channels, features):
            assert features is None
            assert go_on.wait(10)
            shape = rgb.shape[:2]
            labels, margin = np.ones(shape, np.uint8), np.ones(shape, np.float32)
            yield Answer(Labelling(labels, margin, np.zeros(shape, np.uint32), 2, 1))

    monkeypatch.setattr(result, "load_model", lambda _: Model())
    monkeypatch.setattr(file_dialogs, "ask_model", lambda *_, **__: tmp_path / "sky.shlmodel")
    yield go_on
    go_on.set()


def test_a_models_answer_stays_when_one_leaves_and_returns(
    make_window, picture_file, model, qtbot
):
    first, second = picture_file("a.png"), picture_file("b.png")
    window = make_window(first.parent)
    window.commands["apply_model"].trigger()
    model.set()
    qtbot.waitUntil(lambda: "sky" in window.status.currentMessage())
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert window.session.answers.answer.labelling.labels.min() == 1
    for path in (second, first):
        with qtbot.waitSignal(window.files.opened):
            window.files.open(path)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert window.session.answers.answer.labelling.labels.min() == 1
    window.session.undo()
    assert window.session.document.initial is None


def test_a_model_goes_beneath_the_strokes_that_are_there(
    answered, make_window, picture_file, model, qtbot, two_strokes
):
    window = answered(make_window(picture_file()))
    window.commands["apply_model"].trigger()
    model.set()
    qtbot.waitUntil(lambda: window.session.document.initial is not None)
    assert tuple(window.session.document.strokes) == two_strokes


def test_strokes_painted_meanwhile_are_not_called_answered_by_the_model(
    answered, make_window, picture_file, model, qtbot, two_strokes
):
    window = answered(make_window(picture_file()))
    window.commands["apply_model"].trigger()
    window.session.undo()
    window.session.add_stroke(two_strokes[1])
    window.session.add_stroke(two_strokes[0])
    model.set()
    qtbot.waitUntil(lambda: "strokes have changed" in window.status.currentMessage())
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert window.session.answers.answer.labelling.labels.min() == 0
