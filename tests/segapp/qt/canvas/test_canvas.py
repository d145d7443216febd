import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QEventPoint,
    QInputDevice,
    QKeyEvent,
    QNativeGestureEvent,
    QPointingDevice,
    QTabletEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication
from scipy import ndimage

from segapp.imaging.rasterise import rasterize
from segapp.model.document import Document, Stroke
from segapp.qt.canvas.brush import Brush, Tool
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.layers import Layer, add_alpha
from segapp.qt.canvas.painting import LabelOverlay

LEFT, RIGHT, MIDDLE = (
    Qt.MouseButton.LeftButton,
    Qt.MouseButton.RightButton,
    Qt.MouseButton.MiddleButton,
)
HEIGHT, WIDTH = 60, 80


@pytest.fixture
def canvas(qtbot):
    made = Canvas()
    qtbot.addWidget(made)
    made.resize(480, 360)
    made.strokes = []
    made.stroke_finished.connect(made.strokes.append)
    made.show()
    qtbot.waitExposed(made)
    rng = np.random.default_rng(0)
    made.set_picture(Layer(add_alpha(rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8))))
    made.set_document(Document())
    made.set_brush(Brush(radius=3.0))
    return made


def at(canvas, x, y):
    return canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()


def drag(qtbot, canvas, points, button=LEFT):
    qtbot.mousePress(canvas, button, pos=at(canvas, *points[0]))
    for point in points[1:]:
        qtbot.mouseMove(canvas, at(canvas, *point))
    qtbot.mouseRelease(canvas, button, pos=at(canvas, *points[-1]))


def wheel(canvas, position, notches, modifiers=Qt.KeyboardModifier.NoModifier):
    event = QWheelEvent(
        QPointF(position),
        canvas.mapToGlobal(QPointF(position)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def test_left_paints_the_first_class_and_right_the_second(canvas, qtbot):
    drag(qtbot, canvas, [(10, 10), (30, 20)])
    drag(qtbot, canvas, [(50, 40), (60, 50)], RIGHT)
    assert [stroke.label for stroke in canvas.strokes] == [0, 1]
    assert canvas.strokes[0].points[0] == pytest.approx((10, 10), abs=0.2)
    assert canvas.strokes[0].points[-1] == pytest.approx((30, 20), abs=0.2)
    assert canvas.strokes[0].radius == 3.0


def test_a_click_alone_paints_a_dot(canvas, qtbot):
    qtbot.mouseClick(canvas, LEFT, pos=at(canvas, 40, 30))
    (dot,) = canvas.strokes
    assert len(dot.points) == 1
    assert rasterize(Document().with_stroke(dot), (HEIGHT, WIDTH))[30, 40] == 0


def test_fast_strokes_have_no_gaps_and_no_lost_start(canvas, qtbot):
    drag(qtbot, canvas, [(5, 5), (70, 50), (10, 50)])
    labels = rasterize(Document().with_stroke(canvas.strokes[0]), (HEIGHT, WIDTH))
    _, parts = ndimage.label(labels == 0)
    assert parts == 1
    assert labels[5, 5] == labels[50, 70] == labels[50, 10] == 0


def test_strokes_are_shown_as_they_are_learnt_from(canvas, qtbot):
    qtbot.mousePress(canvas, LEFT, pos=at(canvas, 5, 5))
    for point in [(20, 8), (40, 30), (41, 31), (10, 55)]:
        qtbot.mouseMove(canvas, at(canvas, *point))
    seen = canvas._strokes.numbers - 1
    qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, 10, 55))
    document = Document().with_stroke(canvas.strokes[0])
    np.testing.assert_array_equal(seen, rasterize(document, (HEIGHT, WIDTH)))


def test_the_stroke_is_on_the_screen_at_once(canvas, qtbot):
    centre = at(canvas, 40, 30)
    before = canvas.grab().toImage().pixelColor(centre)
    qtbot.mousePress(canvas, LEFT, pos=centre)
    during = canvas.grab().toImage().pixelColor(centre)
    assert before != during
    qtbot.mouseRelease(canvas, LEFT, pos=centre)


def test_escape_drops_the_stroke(canvas, qtbot):
    qtbot.mousePress(canvas, LEFT, pos=at(canvas, 10, 10))
    qtbot.mouseMove(canvas, at(canvas, 30, 30))
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert (canvas._strokes.numbers == 0).all()
    qtbot.mouseMove(canvas, at(canvas, 50, 50))
    qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, 50, 50))
    assert canvas.strokes == []
    assert (canvas._strokes.numbers == 0).all()


def test_the_eraser_erases_with_both_buttons(canvas, qtbot):
    canvas.set_brush(Brush(radius=3.0, tool=Tool.ERASER))
    drag(qtbot, canvas, [(10, 10), (30, 20)])
    drag(qtbot, canvas, [(10, 10), (30, 20)], RIGHT)
    assert [stroke.label for stroke in canvas.strokes] == [None, None]


def test_a_stroke_beside_the_picture_is_none(canvas, qtbot):
    canvas.set_brush(Brush(radius=1.0))
    qtbot.mouseClick(canvas, LEFT, pos=QPoint(1, 1))
    assert canvas.strokes == []


@pytest.mark.parametrize("tool", [tool for tool in Tool if tool is not Tool.HAND])
def test_a_click_on_the_margin_near_the_picture_is_no_stroke(canvas, qtbot, tool):
    canvas.set_brush(Brush(radius=10.0, tool=tool))
    for x, y in ((-10.6, 30.0), (-8.0, -8.0), (40.0, HEIGHT + 10.6)):
        drag(qtbot, canvas, [(x, y), (x - 0.5, y + (0.5 if y > 0 else -0.5))])
        canvas._input.finish_stroke()
    assert canvas.strokes == []
    assert not canvas._strokes.numbers.any()
    canvas.set_brush(Brush(radius=10.0))
    drag(qtbot, canvas, [(-9.0, 30.0)])
    assert len(canvas.strokes) == 1  # one that reaches into the picture


def test_the_wheel_zooms_at_the_pointer(canvas):
    position = QPoint(100, 250)
    fixed, scale = canvas.viewport.view.to_image(QPointF(position)), canvas.viewport.view.scale
    wheel(canvas, position, 3)
    now = canvas.viewport.view.to_image(QPointF(position))
    assert canvas.viewport.view.scale == pytest.approx(scale * 1.25**3)
    assert (now.x(), now.y()) == pytest.approx((fixed.x(), fixed.y()))
    wheel(canvas, position, -3)
    assert canvas.viewport.view.scale == pytest.approx(scale)


def test_pinching_zooms_at_the_pointer(canvas):
    place = QPointF(40, 30)
    below = canvas.viewport.view.to_image(place)
    before = canvas.viewport.view.scale
    QApplication.sendEvent(
        canvas,
        QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture,
            QPointingDevice.primaryPointingDevice(),
            2,
            place,
            place,
            place,
            0.5,
            QPointF(),
        ),
    )
    assert canvas.viewport.view.scale == pytest.approx(1.5 * before)
    assert canvas.viewport.view.to_image(place) == below


def test_ctrl_and_wheel_change_the_brush(canvas):
    wanted = []
    canvas.radius_requested.connect(wanted.append)
    wheel(canvas, QPoint(50, 50), 1, Qt.KeyboardModifier.ControlModifier)
    wheel(canvas, QPoint(50, 50), -1, Qt.KeyboardModifier.ControlModifier)
    assert wanted[0] > 3.0 > wanted[1] > 0


def test_fit_and_actual_size(canvas):
    canvas.viewport.zoom(3.0)
    canvas.viewport.show_actual_size()
    assert canvas.viewport.screen_scale == pytest.approx(1.0)
    canvas.viewport.fit()
    frame = canvas.viewport.view.to_widget(QPointF(WIDTH / 2, HEIGHT / 2))
    assert (frame.x(), frame.y()) == pytest.approx((canvas.width() / 2, canvas.height() / 2))


def test_a_fitted_picture_stays_fitted_when_the_window_grows(canvas):
    before = canvas.viewport.view.scale
    canvas.resize(800, 700)
    assert canvas.viewport.view.scale > before
    canvas.viewport.zoom(2.0)
    zoomed = canvas.viewport.view.scale
    canvas.resize(600, 500)
    assert canvas.viewport.view.scale == zoomed


def test_the_middle_button_drags_the_picture(canvas, qtbot):
    before = canvas.viewport.view
    qtbot.mousePress(canvas, MIDDLE, pos=QPoint(100, 100))
    qtbot.mouseMove(canvas, QPoint(130, 90))
    qtbot.mouseRelease(canvas, MIDDLE, pos=QPoint(130, 90))
    assert (canvas.viewport.view.x - before.x, canvas.viewport.view.y - before.y) == (30, -10)
    assert canvas.strokes == []


def test_space_drags_the_picture_instead_of_painting(canvas, qtbot):
    before = canvas.viewport.view
    qtbot.keyPress(canvas, Qt.Key.Key_Space)
    drag_from = QPoint(100, 100)
    qtbot.mousePress(canvas, LEFT, pos=drag_from)
    qtbot.mouseMove(canvas, QPoint(120, 130))
    qtbot.mouseRelease(canvas, LEFT, pos=QPoint(120, 130))
    qtbot.keyRelease(canvas, Qt.Key.Key_Space)
    assert (canvas.viewport.view.x - before.x, canvas.viewport.view.y - before.y) == (20, 30)
    assert canvas.strokes == []


@pytest.mark.parametrize("way", ["space", "middle"])
def test_panning_in_the_middle_of_a_stroke_goes_on_with_it(canvas, qtbot, way):
    before = canvas.viewport.view
    qtbot.mousePress(canvas, LEFT, pos=at(canvas, 10, 10))
    qtbot.mouseMove(canvas, at(canvas, 30, 30))
    start = at(canvas, 30, 30)
    if way == "space":
        qtbot.keyPress(canvas, Qt.Key.Key_Space)
        qtbot.mouseMove(canvas, start)
    else:
        qtbot.mousePress(canvas, MIDDLE, pos=start)
    qtbot.mouseMove(canvas, start + QPoint(-40, -20))
    if way == "space":
        qtbot.keyRelease(canvas, Qt.Key.Key_Space)
    else:
        qtbot.mouseRelease(canvas, MIDDLE, pos=start + QPoint(-40, -20))
    assert (canvas.viewport.view.x - before.x, canvas.viewport.view.y - before.y) == (-40, -20)
    qtbot.mouseMove(canvas, at(canvas, 50, 20))
    qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, 50, 20))
    (stroke,) = canvas.strokes
    assert stroke.points[0] == pytest.approx((10, 10), abs=0.2)
    assert stroke.points[-1] == pytest.approx((50, 20), abs=0.2)
    assert all(10 - 0.3 <= x <= 50.3 for x, _ in stroke.points)


def test_the_hand_drags_with_the_left_button(canvas, qtbot):
    canvas.set_brush(Brush(tool=Tool.HAND))
    before = canvas.viewport.view
    qtbot.mousePress(canvas, LEFT, pos=QPoint(100, 100))
    qtbot.mouseMove(canvas, QPoint(110, 100))
    qtbot.mouseRelease(canvas, LEFT, pos=QPoint(110, 100))
    assert canvas.viewport.view.x - before.x == 10
    assert canvas.strokes == []


def test_the_preview_circle_has_the_brushs_size(canvas, qtbot):
    canvas.set_picture(Layer(add_alpha(np.full((HEIGHT, WIDTH, 3), 128, np.uint8))))
    canvas.set_brush(Brush(radius=10.0))
    bare = canvas.grab().toImage()
    qtbot.mouseMove(canvas, at(canvas, 40, 30))
    ringed = canvas.grab().toImage()
    on_ring, inside = at(canvas, 50, 30), at(canvas, 45, 30)
    assert ringed.pixelColor(on_ring) != bare.pixelColor(on_ring)
    assert ringed.pixelColor(inside) == bare.pixelColor(inside)
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.Leave))
    assert canvas.grab().toImage().pixelColor(on_ring) == bare.pixelColor(on_ring)


def test_holding_h_shows_the_bare_picture(canvas, qtbot):
    tint = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    tint[...] = (255, 0, 255, 255)
    bare = canvas.grab().toImage()
    canvas.set_opacity(1.0)
    canvas.set_overlay(LabelOverlay(Layer(tint)))
    place = at(canvas, 20, 20)
    assert canvas.grab().toImage().pixelColor(place).name() == "#ff00ff"
    qtbot.keyPress(canvas, Qt.Key.Key_H)
    assert canvas.grab().toImage().pixelColor(place) == bare.pixelColor(place)
    qtbot.keyRelease(canvas, Qt.Key.Key_H)
    assert canvas.grab().toImage().pixelColor(place).name() == "#ff00ff"


def test_a_new_answer_is_painted_where_it_differs_and_looks_as_if_all_were(canvas, qtbot):
    painted = []

    class Watch(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Paint:
                painted.append(event.rect())
            return False

    watch = Watch()
    tint = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    tint[10:30, 20:50] = (255, 0, 0, 255)
    canvas.set_overlay(LabelOverlay(Layer(tint)))
    QApplication.processEvents()
    canvas.installEventFilter(watch)
    other = tint.copy()
    other[40:44, 60:70] = (0, 0, 255, 255)
    canvas.set_overlay(LabelOverlay(Layer(other)))
    qtbot.waitUntil(lambda: bool(painted))
    everything = canvas.width() * canvas.height()
    assert sum(rect.width() * rect.height() for rect in painted) < everything / 4
    canvas.removeEventFilter(watch)
    seen = canvas.screen().grabWindow(canvas.winId()).toImage()
    canvas.update()
    QApplication.processEvents()
    assert seen == canvas.screen().grabWindow(canvas.winId()).toImage()
    assert not seen.isNull()


def test_opacity_blends_picture_and_answer(canvas):
    canvas.set_picture(Layer(add_alpha(np.zeros((HEIGHT, WIDTH, 3), np.uint8))))
    canvas.set_overlay(LabelOverlay(Layer(np.full((HEIGHT, WIDTH, 4), 255, np.uint8))))
    for opacity in (0.0, 0.25, 1.0):
        canvas.set_opacity(opacity)
        value = canvas.grab().toImage().pixelColor(at(canvas, 20, 20)).red()
        assert value == pytest.approx(255 * opacity, abs=2)


class PaintWatch(QObject):
    def __init__(self, widget):
        super().__init__(widget)
        self.boxes = []
        widget.installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            self.boxes.append(event.region().boundingRect())
        return False


def test_a_brush_move_repaints_only_around_the_brush(canvas, qtbot):
    canvas.viewport.zoom(4.0)
    qtbot.mousePress(canvas, LEFT, pos=QPoint(100, 100))
    QApplication.processEvents()
    watch = PaintWatch(canvas)
    qtbot.mouseMove(canvas, QPoint(104, 100))
    qtbot.waitUntil(lambda: bool(watch.boxes))
    qtbot.mouseRelease(canvas, LEFT, pos=QPoint(104, 100))
    reach = 2 * (4.0 * canvas.viewport.view.scale + 10)  # boxes are of whole image pixels
    assert watch.boxes[0].width() <= reach + 4
    assert watch.boxes[0].height() <= reach


def tablet(canvas, kind, position, pressure, pointer=QPointingDevice.PointerType.Pen, stamp=0):
    device = QPointingDevice(
        "pen",
        7,
        QInputDevice.DeviceType.Stylus,
        pointer,
        QInputDevice.Capability.Position | QInputDevice.Capability.Pressure,
        1,
        1,
    )
    held = LEFT if kind != QEvent.Type.TabletRelease else Qt.MouseButton.NoButton
    button = Qt.MouseButton.NoButton if kind == QEvent.Type.TabletMove else LEFT
    event = QTabletEvent(
        kind,
        device,
        QPointF(position),
        canvas.mapToGlobal(QPointF(position)),
        pressure,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        Qt.KeyboardModifier.NoModifier,
        button,
        held,
    )
    event.setTimestamp(stamp)
    QApplication.sendEvent(canvas, event)
    assert isinstance(event.points()[0], QEventPoint)


def test_a_pen_paints_with_its_pressure_and_erases_with_its_other_end(canvas):
    for pointer in (QPointingDevice.PointerType.Pen, QPointingDevice.PointerType.Eraser):
        tablet(canvas, QEvent.Type.TabletPress, at(canvas, 20, 20), 0.5, pointer)
        tablet(canvas, QEvent.Type.TabletMove, at(canvas, 40, 20), 1.0, pointer)
        tablet(canvas, QEvent.Type.TabletRelease, at(canvas, 40, 20), 0.0, pointer)
    pen, eraser = canvas.strokes
    assert pen.pressures == (0.5, 1.0)
    assert pen.label == 0
    assert eraser.label is None


def test_keys_alone_can_paint(canvas, qtbot):
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    for _ in range(3):
        qtbot.keyClick(canvas, Qt.Key.Key_Down)
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    (stroke,) = canvas.strokes
    assert len(stroke.points) == 4
    assert stroke.points[-1][1] > stroke.points[0][1]


def test_a_held_return_puts_the_brush_down_once(canvas, qtbot):
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    for is_repeat in [False] + 20 * [True]:
        event = QKeyEvent(
            QEvent.Type.KeyPress,
            Qt.Key.Key_Return,
            Qt.KeyboardModifier.NoModifier,
            "\r",
            is_repeat,
        )
        QApplication.sendEvent(canvas, event)
    assert canvas.strokes == []
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert [len(stroke.points) for stroke in canvas.strokes] == [2]


def test_a_pen_draws_a_polygon_corner_by_corner(canvas):
    canvas.set_brush(Brush(radius=3.0, tool=Tool.POLYGON))
    corners, stamp = [(10, 10), (60, 10), (60, 50), (10, 50)], 1000
    for x, y in [*corners, corners[-1]]:  # the last one twice, which ends it
        tablet(canvas, QEvent.Type.TabletPress, at(canvas, x, y), 0.5, stamp=stamp)
        tablet(canvas, QEvent.Type.TabletRelease, at(canvas, x, y), 0.0, stamp=stamp + 40)
        stamp += 3000 if (x, y) != corners[-1] else 120
    (mark,) = canvas.strokes
    inside = rasterize(Document(strokes=(mark,)), (HEIGHT, WIDTH)) == 0
    assert inside[12:48, 12:58].all()
    assert inside.sum() == pytest.approx(50 * 40, rel=0.05)


def test_a_blocked_canvas_takes_nothing(canvas, qtbot):
    qtbot.mousePress(canvas, LEFT, pos=at(canvas, 10, 10))
    canvas.block(on=True)
    assert len(canvas.strokes) == 1  # begun before
    drag(qtbot, canvas, [(10, 10), (30, 20)])
    tablet(canvas, QEvent.Type.TabletPress, at(canvas, 20, 20), 0.5)
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert len(canvas.strokes) == 1
    before = canvas.grab().toImage()
    qtbot.waitUntil(lambda: canvas._greyed)
    assert canvas.grab().toImage() != before
    canvas.block(on=False)
    drag(qtbot, canvas, [(10, 10), (30, 20)])
    assert len(canvas.strokes) == 2


def test_shift_alone_makes_the_arrows_fine(canvas, qtbot):
    # On a Mac every arrow key comes with the keypad's modifier.
    keypad, shift = Qt.KeyboardModifier.KeypadModifier, Qt.KeyboardModifier.ShiftModifier
    moves = []
    canvas.pointer_moved.connect(moves.append)
    for modifier in (Qt.KeyboardModifier.NoModifier, keypad, shift):
        qtbot.keyClick(canvas, Qt.Key.Key_Right, modifier)
    steps = np.diff([at.x() for at in moves])
    assert steps[0] > 1.5
    assert steps[1] == 1


def test_shift_click_draws_a_line_from_the_last_stroke(canvas, qtbot):
    qtbot.mouseClick(canvas, LEFT, pos=at(canvas, 10, 10))
    qtbot.mouseClick(canvas, LEFT, Qt.KeyboardModifier.ShiftModifier, at(canvas, 60, 40))
    line = canvas.strokes[1]
    assert line.points[0] == canvas.strokes[0].points[-1]
    assert line.points[-1] == pytest.approx((60, 40), abs=0.2)


def test_other_classes_can_be_painted_around(canvas, qtbot):
    first = Stroke(((40.0, 30.0),), 6.0, 1)
    document = Document().with_stroke(first)
    canvas.set_document(document)
    canvas.set_brush(Brush(radius=3.0, keep_others=True))
    qtbot.mousePress(canvas, LEFT, pos=at(canvas, 20, 30))
    qtbot.mouseMove(canvas, at(canvas, 60, 30))
    seen = canvas._strokes.numbers - 1
    qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, 60, 30))
    (mark,) = canvas.strokes
    labels = rasterize(document.with_stroke(mark), (HEIGHT, WIDTH))
    np.testing.assert_array_equal(seen, labels)
    assert labels[30, 40] == 1
    assert labels[30, 25] == labels[30, 55] == 0
    before = rasterize(document, (HEIGHT, WIDTH))
    assert (labels[before == 1] == 1).all()
    qtbot.mouseClick(canvas, LEFT, pos=at(canvas, 40, 30))  # all of it is taken
    assert len(canvas.strokes) == 1


def test_the_canvas_takes_the_keys_when_the_pointer_comes(canvas, qtbot):
    assert canvas.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert canvas.accessibleName()
