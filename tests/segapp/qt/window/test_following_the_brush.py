"""The answer follows the brush, through real events: the newest wins, and none of it is final."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt

from segapp.app.state import Stage
from segapp.engine.trainer import Trainer, segment
from segapp.imaging.overlay import ViewMode
from segapp.imaging.rasterise import rasterize
from segapp.model.document import Document, Patch, Stroke
from segapp.qt.session.session import thin_out

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def place(window, x, y):
    return window.canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()


def press(qtbot, window, x, y, button=LEFT):
    qtbot.mousePress(window.canvas, button, pos=place(window, x, y))


def move(qtbot, window, x, y):
    qtbot.mouseMove(window.canvas, place(window, x, y))


def release(qtbot, window, x, y, button=LEFT):
    qtbot.mouseRelease(window.canvas, button, pos=place(window, x, y))


def let_through(window, gated, steps, qtbot):
    gated.gate.release(steps)
    qtbot.waitUntil(lambda: gated.gate._value == 0)


def test_the_drag_shows_a_preview_that_says_so(make_window, picture_file, qtbot, answered):
    window = answered(make_window(picture_file()))
    answers, before = window.session.answers, window.session.answers.answer
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    assert not window.preview_badge.isVisible()
    press(qtbot, window, 60, 10)
    move(qtbot, window, 70, 12)
    qtbot.waitUntil(lambda: answers.preview is not None)
    assert answers.progress.stage is Stage.FOLLOWING
    assert "Not final" in window.status.state_text
    qtbot.waitUntil(window.preview_badge.isVisible)
    assert answers.shown is answers.preview.labelling
    assert answers.answer is before  # what may leave the program is what it was
    assert len(window.session.document.strokes) == 2
    release(qtbot, window, 70, 12)
    qtbot.waitUntil(lambda: answers.is_current)
    qtbot.waitUntil(lambda: not window.preview_badge.isVisible())
    assert len(window.session.document.strokes) == 3
    assert answers.preview is None


def test_the_newest_state_of_the_stroke_wins(make_window, picture_file, qtbot, gated, answered):
    gated.gate.release(100)
    window = answered(make_window(picture_file(), gated))
    while gated.gate.acquire(blocking=False):
        pass
    gated.asked.clear()
    press(qtbot, window, 60, 10)
    for x in range(61, 75):
        move(qtbot, window, x, 10)
    qtbot.waitUntil(lambda: len(gated.asked) == 1)  # the others wait for their turn
    let_through(window, gated, 2, qtbot)
    qtbot.waitUntil(lambda: len(gated.asked) == 2)
    first, second = (document.strokes[-1] for document in gated.asked)
    assert len(first.points) == 1
    assert second.points[-1][0] == pytest.approx(74, abs=0.5)
    gated.gate.release(100)
    release(qtbot, window, 74, 10)
    qtbot.waitUntil(lambda: window.session.answers.is_current)


def test_a_dropped_stroke_takes_back_what_was_seen_of_it(
    make_window, picture_file, qtbot, answered
):
    window = answered(make_window(picture_file()))
    answers, before = window.session.answers, window.session.answers.answer
    press(qtbot, window, 60, 10)
    move(qtbot, window, 70, 12)
    qtbot.waitUntil(lambda: answers.preview is not None)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert answers.shown is before.labelling
    assert answers.progress.stage is Stage.CURRENT
    release(qtbot, window, 70, 12)


def test_without_live_updates_nothing_follows(make_window, picture_file, qtbot, answered):
    window = answered(make_window(picture_file()))
    window.commands["live"].setChecked(False)
    press(qtbot, window, 60, 10)
    move(qtbot, window, 70, 12)
    qtbot.wait(30)
    assert window.session.answers.preview is None
    assert window.session.answers.progress.stage is Stage.CURRENT
    release(qtbot, window, 70, 12)


def test_the_first_stroke_that_can_be_answered_is_followed(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    press(qtbot, window, 60, 20, RIGHT)
    move(qtbot, window, 64, 20)
    assert window.session.answers.progress.stage is not Stage.FOLLOWING  # nothing but background
    release(qtbot, window, 64, 20, RIGHT)
    press(qtbot, window, 20, 20)
    move(qtbot, window, 22, 22)
    qtbot.waitUntil(lambda: window.session.answers.preview is not None)
    labels = window.session.answers.shown.labels
    assert labels[5, 5] == 0
    assert labels[5, 75] == 1
    release(qtbot, window, 22, 22)
    qtbot.waitUntil(lambda: window.session.answers.is_current)


@pytest.mark.slow
def test_the_learners_answer_after_a_drag_is_that_of_a_fresh_one(make_window, picture_file, qtbot):
    window = make_window(picture_file(size=(90, 120)), Trainer)
    answers = window.session.answers
    for button, y in ((LEFT, 20), (RIGHT, 70), (LEFT, 80), (RIGHT, 10)):
        press(qtbot, window, 20, y, button)
        for x in range(25, 100, 5):
            move(qtbot, window, x, y)
            qtbot.wait(5)
        release(qtbot, window, 100, y, button)
    qtbot.waitUntil(lambda: answers.is_current, timeout=30_000)
    session = window.session
    alone = segment(session.picture.rgb, session.document, session.settings)
    np.testing.assert_array_equal(answers.shown.labels, alone.labels)


@pytest.mark.slow
def test_every_view_shows_a_preview_that_is_smaller_than_the_picture(
    make_window, picture_file, qtbot
):
    window = make_window(picture_file(size=(1201, 1603)), Trainer)
    for label, x in ((0, 300.0), (1, 1300.0)):
        window.session.add_stroke(Stroke(((x, 500.0),), 30.0, label))
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=60_000)
    modes = [mode for mode in ViewMode if mode is not ViewMode.COMPONENTS]
    for number, mode in enumerate(modes):
        y = 150 + 150 * number
        window.labelling_view.set_mode(mode)
        press(qtbot, window, 300, y)
        with qtbot.waitSignal(
            window.labelling_view.rendered, timeout=60_000, check_params_cb=lambda r: r.is_preview
        ):
            move(qtbot, window, 400, y)
        assert window.session.answers.preview.times == 2
        window.canvas.grab()  # it can be painted
        release(qtbot, window, 400, y)
        qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=60_000)


def test_a_thinned_stroke_covers_nearly_the_same():
    turns = np.linspace(0, 6, 400)
    points = tuple((100 + 60 * np.sin(t), 100 + 60 * np.sin(1.7 * t)) for t in turns)
    stroke = Stroke(points, 6.0, 0, tuple(0.5 + 0.5 * np.cos(turns) ** 2))
    thin = thin_out(stroke)
    assert len(thin.points) < len(points) / 2
    assert thin.points[0] == points[0]
    assert thin.points[-1] == points[-1]
    whole, less = (rasterize(Document(strokes=(s,)), (200, 200)) >= 0 for s in (stroke, thin))
    assert (whole != less).sum() < 0.03 * whole.sum()
    patch = Patch(0, 0, 8, 1, b"\xff", 0)
    assert thin_out(patch) is patch
