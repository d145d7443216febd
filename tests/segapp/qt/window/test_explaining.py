"""The key and the tool that explain a pixel."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt

from segapp.engine.trainer import Trainer
from segapp.qt.canvas.brush import Tool
from tests.segapp.qt.window.by_hand import paint

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def point(qtbot, window, x, y):
    place = window.canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()
    for at in (place + QPoint(3, 3), place):
        qtbot.mouseMove(window.canvas, at)
    return place


@pytest.fixture
def learnt(make_window, picture_file, qtbot):
    window = make_window(picture_file(size=(90, 120)), Trainer)
    paint(qtbot, window, LEFT, (20, 20), (30, 60))
    paint(qtbot, window, RIGHT, (90, 20), (100, 60))
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=30_000)
    return window


def test_strokes_glow_while_the_key_is_held(learnt, qtbot):
    card = learnt.explaining.card
    point(qtbot, learnt, 15, 50)
    qtbot.keyPress(learnt.canvas, Qt.Key.Key_W)
    qtbot.waitUntil(card.isVisible, timeout=10_000)
    assert "because" in card.text
    assert {glow.name.partition(":")[0] for glow in learnt.canvas._scene().glow} <= {"1", "2"}
    assert learnt.canvas._scene().glow
    qtbot.waitUntil(lambda: not learnt.session.answers._jobs.busy, timeout=30_000)
    assert "Without stroke" in card.text
    assert learnt.session.answers.is_current
    qtbot.keyRelease(learnt.canvas, Qt.Key.Key_W)
    assert not card.isVisible()
    assert learnt.canvas._scene().glow == ()


def test_the_tool_explains_a_click_and_paints_nothing(learnt, qtbot):
    learnt.brush.set_tool(Tool.EXPLAIN)
    strokes = learnt.session.document.strokes
    place = point(qtbot, learnt, 15, 50)
    qtbot.mouseClick(learnt.canvas, LEFT, pos=place)
    qtbot.waitUntil(learnt.explaining.card.isVisible, timeout=10_000)
    assert learnt.session.document.strokes == strokes
    learnt.brush.set_tool(Tool.BRUSH)
    assert not learnt.explaining.card.isVisible()


def test_a_stroke_ends_the_explanation_and_is_answered(learnt, qtbot):
    point(qtbot, learnt, 15, 50)
    qtbot.keyPress(learnt.canvas, Qt.Key.Key_W)
    qtbot.waitUntil(learnt.explaining.card.isVisible, timeout=10_000)
    paint(qtbot, learnt, RIGHT, (60, 80))
    qtbot.waitUntil(lambda: learnt.session.answers.is_current, timeout=30_000)
    assert len(learnt.session.document.strokes) == 3
    assert not learnt.explaining.card.isVisible()


def test_without_a_result_there_is_nothing_to_explain(make_window, picture_file, qtbot):
    window = make_window(picture_file(size=(90, 120)))
    point(qtbot, window, 15, 50)
    qtbot.keyPress(window.canvas, Qt.Key.Key_W)
    assert "There is no result to explain yet" in window.explaining.card.text
