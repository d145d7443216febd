"""Strokes as they were drawn, for events in any order and at any speed."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEventPoint, QMouseEvent, QPointingDevice, QTabletEvent, QTouchEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from segapp.model.document import Document
from segapp.qt.canvas.brush import Brush
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.layers import Layer, add_alpha

LEFT, RIGHT, NONE = (
    Qt.MouseButton.LeftButton,
    Qt.MouseButton.RightButton,
    Qt.MouseButton.NoButton,
)
PRESS, MOVE, RELEASE = (
    QEvent.Type.MouseButtonPress,
    QEvent.Type.MouseMove,
    QEvent.Type.MouseButtonRelease,
)


@pytest.fixture
def canvas(qtbot):
    made = Canvas()
    qtbot.addWidget(made)
    made.resize(640, 480)
    made.strokes = []
    made.stroke_finished.connect(made.strokes.append)
    made.show()
    qtbot.waitExposed(made)
    made.set_picture(Layer(add_alpha(np.zeros((300, 400, 3), np.uint8))))
    made.set_document(Document())
    made.set_brush(Brush(radius=3.0))
    made.viewport.show_actual_size()
    return made


def mouse(canvas, kind, x, y, button=LEFT, held=LEFT, time=0):
    """Let a mouse event arrive as the window system would have it: later, through the queue."""
    at = canvas.viewport.view.to_widget(QPointF(x, y))
    event = QMouseEvent(
        kind,
        at,
        canvas.mapToGlobal(at),
        NONE if kind == MOVE else button,
        held,
        Qt.KeyboardModifier.NoModifier,
    )
    event.setTimestamp(time)
    QApplication.postEvent(canvas, event)


def pen(canvas, kind, x, y, pressure, time=0):
    at = canvas.viewport.view.to_widget(QPointF(x, y))
    device = QPointingDevice.primaryPointingDevice()
    button = NONE if kind == QEvent.Type.TabletMove else LEFT
    held = NONE if kind == QEvent.Type.TabletRelease else LEFT
    event = QTabletEvent(
        kind, device, at, canvas.mapToGlobal(at), pressure, 0.0, 0.0, 0.0, 0.0, 0.0,
        Qt.KeyboardModifier.NoModifier, button, held,
    )  # fmt: skip
    event.setTimestamp(time)
    QApplication.sendEvent(canvas, event)


def points_of(stroke):
    return [(round(x), round(y)) for x, y in stroke.points]


def test_a_burst_of_events_keeps_every_corner_and_the_strokes_apart(canvas):
    """All are in the queue before the window sees the first, as when it was busy."""
    zigzag = [(10 + 5 * k, 20 + 60 * (k % 2)) for k in range(60)]
    for first, button in ((zigzag, LEFT), ([(x, y + 100) for x, y in zigzag], RIGHT)):
        mouse(canvas, PRESS, *first[0], button, button)
        for point in first[1:]:
            mouse(canvas, MOVE, *point, button, button)
        mouse(canvas, RELEASE, *first[-1], button, NONE)
    QApplication.processEvents()
    one, two = canvas.strokes
    assert points_of(one) == zigzag
    assert points_of(two) == [(x, y + 100) for x, y in zigzag]
    assert (one.label, two.label) == (0, 1)


def test_a_stroke_ends_where_the_button_was_let_go(canvas):
    mouse(canvas, PRESS, 10, 10)
    mouse(canvas, RELEASE, 50, 60, held=NONE)
    QApplication.processEvents()
    assert points_of(canvas.strokes[0]) == [(10, 10), (50, 60)]


def test_a_lost_release_does_not_join_two_strokes(canvas):
    mouse(canvas, PRESS, 10, 10)
    mouse(canvas, MOVE, 20, 10)
    mouse(canvas, MOVE, 80, 80, held=NONE)  # the release went to a menu, say
    mouse(canvas, PRESS, 100, 100)
    mouse(canvas, MOVE, 110, 100)
    mouse(canvas, PRESS, 200, 200)  # nor is a second press a part of the first
    mouse(canvas, RELEASE, 200, 200, held=NONE)
    QApplication.processEvents()
    assert [points_of(stroke) for stroke in canvas.strokes] == [
        [(10, 10), (20, 10)],
        [(100, 100), (110, 100)],
        [(200, 200)],
    ]


def test_moves_from_before_the_press_are_no_part_of_the_stroke(canvas):
    mouse(canvas, PRESS, 10, 10, time=1000)
    mouse(canvas, MOVE, 300, 200, time=990)
    mouse(canvas, MOVE, 20, 10, time=1010)
    mouse(canvas, RELEASE, 20, 10, held=NONE, time=1020)
    QApplication.processEvents()
    assert points_of(canvas.strokes[0]) == [(10, 10), (20, 10)]


def test_a_mouse_that_shakes_does_not_draw_into_the_pens_stroke(canvas):
    pen(canvas, QEvent.Type.TabletPress, 10, 10, 0.25)
    mouse(canvas, MOVE, 300, 200, held=NONE)
    QApplication.processEvents()
    pen(canvas, QEvent.Type.TabletMove, 20, 10, 0.75)
    pen(canvas, QEvent.Type.TabletRelease, 20, 10, 0.0)
    (stroke,) = canvas.strokes
    assert points_of(stroke) == [(10, 10), (20, 10)]
    assert stroke.pressures == pytest.approx((0.25, 0.75), abs=1e-4)


def test_pressure_is_the_radius(canvas):
    canvas.set_brush(Brush(radius=10.0))
    pen(canvas, QEvent.Type.TabletPress, 50, 50, 0.5)
    pen(canvas, QEvent.Type.TabletMove, 150, 50, 1.0)
    marked = canvas._strokes.numbers > 0
    heights = marked.sum(axis=0)
    assert heights[50] == pytest.approx(2 * 5.0, abs=1)
    assert heights[100] == pytest.approx(2 * 7.5, abs=1)
    assert heights[150] == pytest.approx(2 * 10.0, abs=1)
    pen(canvas, QEvent.Type.TabletRelease, 150, 50, 0.0)


@pytest.fixture
def fingers(canvas):
    """Lay fingers on the canvas, given as widget positions by number."""
    device = QTest.createTouchDevice()

    def touch(*places, kind=None):
        sequence = QTest.touchEvent(canvas, device, autoCommit=False)
        for number, (how, x, y) in enumerate(places):
            getattr(sequence, how)(number, QPointF(x, y).toPoint(), canvas)
        sequence.commit()

    return touch


def test_one_finger_moves_the_picture_and_paints_nothing(canvas, fingers):
    before = canvas.viewport.view
    fingers(("press", 100, 100))
    fingers(("move", 130, 90))
    fingers(("release", 130, 90))
    after = canvas.viewport.view
    assert (after.x - before.x, after.y - before.y) == pytest.approx((30, -10), abs=1)
    assert after.scale == before.scale
    assert canvas.strokes == []


def test_points_under_two_fingers_stay_under_them(canvas, fingers):
    first, last = [(200, 200), (300, 200)], [(150, 220), (350, 220)]
    under = [canvas.viewport.view.to_image(QPointF(*at)) for at in first]
    fingers(*(("press", *at) for at in first))
    fingers(*(("move", *at) for at in last))
    assert canvas.viewport.view.scale == pytest.approx(2.0)
    for point, at in zip(under, last, strict=True):
        shown = canvas.viewport.view.to_widget(point)
        assert (shown.x(), shown.y()) == pytest.approx(at, abs=1.0)
    place = canvas.viewport.view
    fingers(("release", *last[0]), ("move", *last[1]))  # one finger is left: nothing jumps
    assert canvas.viewport.view == place
    fingers(("press", 10, 10), ("release", *last[1]))


def test_a_hand_that_rests_beside_the_pen_moves_nothing(canvas, fingers):
    pen(canvas, QEvent.Type.TabletPress, 50, 50, 1.0)
    before = canvas.viewport.view
    fingers(("press", 400, 400))
    fingers(("move", 450, 400))
    assert canvas.viewport.view == before
    pen(canvas, QEvent.Type.TabletRelease, 50, 50, 0.0)
    fingers(("release", 450, 400))


def test_touches_are_taken_so_that_no_mouse_is_made_of_them(canvas):
    device = QTest.createTouchDevice()
    point = QEventPoint(1, QEventPoint.State.Pressed, QPointF(50, 50), QPointF(50, 50))
    event = QTouchEvent(QEvent.Type.TouchBegin, device, Qt.KeyboardModifier.NoModifier, [point])
    QApplication.sendEvent(canvas, event)
    assert event.isAccepted()
    assert canvas.strokes == []
