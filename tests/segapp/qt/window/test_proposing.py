"""The object under the pointer, outlined and taken by a click."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, QPointF, Qt

from segapp.engine.trainer import Trainer
from segapp.model.document import Patch
from tests.segapp.qt.window.by_hand import paint

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def point(qtbot, window, x, y):
    place = window.canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()
    for at in (place + QPoint(4, 4), place):
        qtbot.mouseMove(window.canvas, at)
    return place


@pytest.fixture
def window(make_window, tmp_path):
    y, x = np.mgrid[:90, :120]
    inside = (x - 40) ** 2 + (y - 45) ** 2 < 18**2
    rgb = np.where(inside[..., None], (210, 120, 40), (60, 90, 140)).astype(np.uint8)
    rgb[(x - 40) ** 2 + (y - 45) ** 2 < 8**2] = 240, 200, 90  # a part, for smaller objects
    path = tmp_path / "disc.png"
    Image.fromarray(rgb).save(path)
    return make_window(path, Trainer)


def shown(window):
    return window.canvas._scene().proposal


def test_a_click_takes_the_outlined_object(window, qtbot):
    place = point(qtbot, window, 40, 45)
    qtbot.waitUntil(lambda: shown(window) != (), timeout=20_000)
    assert window.session.answers.answer is None
    qtbot.mouseClick(window.canvas, LEFT, pos=place)
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=20_000)
    labels = window.session.answers.answer.labelling.labels
    assert labels[45, 40] == 0
    assert labels[5, 5] == 1
    assert shown(window) == ()
    window.session.undo()
    assert window.session.document.initial is None


def test_with_strokes_objects_are_outlined_while_the_key_is_held(window, qtbot):
    paint(qtbot, window, RIGHT, (90, 20), (100, 60))
    place = point(qtbot, window, 40, 45)
    qtbot.wait(150)
    assert shown(window) == ()
    qtbot.keyPress(window.canvas, Qt.Key.Key_Q)
    qtbot.waitUntil(lambda: shown(window) != (), timeout=20_000)
    before = window.proposing.proposal.mask.sum()
    window.canvas.proposal_resized.emit(-2.0)
    qtbot.waitUntil(lambda: window.proposing.proposal.mask.sum() < before, timeout=20_000)
    qtbot.mouseClick(window.canvas, LEFT, pos=place)
    qtbot.waitUntil(lambda: len(window.session.document.strokes) == 2, timeout=20_000)
    assert isinstance(window.session.document.strokes[1], Patch)
    qtbot.keyRelease(window.canvas, Qt.Key.Key_Q)
    assert shown(window) == ()
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=20_000)


def test_a_stroke_is_painted_as_ever(window, qtbot):
    point(qtbot, window, 40, 45)
    qtbot.waitUntil(lambda: shown(window) != (), timeout=20_000)
    paint(qtbot, window, LEFT, (40, 45), (45, 50))
    assert len(window.session.document.strokes) == 1
    assert window.session.document.initial is None
    assert shown(window) == ()


def test_one_switch_ends_it(window, qtbot):
    window.commands["propose"].setChecked(False)
    place = point(qtbot, window, 40, 45)
    qtbot.keyPress(window.canvas, Qt.Key.Key_Q)
    qtbot.wait(150)
    assert shown(window) == ()
    qtbot.mouseClick(window.canvas, LEFT, pos=place)
    assert len(window.session.document.strokes) == 1
