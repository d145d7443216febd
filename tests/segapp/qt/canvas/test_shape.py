"""Shapes through real events, against the pixels that they enclose."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from skimage.draw import polygon2mask

from segapp.imaging.rasterise import rasterize
from segapp.model.document import Document, Patch, Stroke
from segapp.qt.canvas.brush import Brush, BrushTarget, Tool
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.layers import Layer, add_alpha

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
HEIGHT, WIDTH = 60, 80
CORNERS = [(10, 10), (50, 12), (60, 45), (20, 50)]


@pytest.fixture
def canvas(qtbot):
    made = Canvas()
    qtbot.addWidget(made)
    made.resize(480, 360)
    made.marks, made.fills = [], []
    made.stroke_finished.connect(made.marks.append)
    made.fill_requested.connect(lambda at, label: made.fills.append((at, label)))
    made.show()
    qtbot.waitExposed(made)
    made.set_picture(Layer(add_alpha(np.zeros((HEIGHT, WIDTH, 3), np.uint8))))
    made.set_document(Document())
    return made


def at(canvas, x, y):
    return canvas.viewport.view.to_widget(QPointF(x, y)).toPoint()


def real(canvas, x, y):
    """Return where a whole pixel of the screen lies in the picture."""
    place = canvas.viewport.view.to_image(QPointF(at(canvas, x, y)))
    return place.x(), place.y()


def drag(qtbot, canvas, *points, button=LEFT):
    qtbot.mousePress(canvas, button, pos=at(canvas, *points[0]))
    for point in points[1:]:
        qtbot.mouseMove(canvas, at(canvas, *point))
    qtbot.mouseRelease(canvas, button, pos=at(canvas, *points[-1]))


def marked(mark):
    """Return the pixels of a mark; its class is in `label`."""
    return rasterize(Document(strokes=(mark,)), (HEIGHT, WIDTH)) == mark.label


def inside(canvas, points):
    """Return the pixels with their centres in a polygon, by the rule of another library."""
    corners = np.array([real(canvas, *point)[::-1] for point in points]) - 0.5
    return polygon2mask((HEIGHT, WIDTH), corners)


def assert_alike(one, other):
    """Compare but for pixels whose centre the outline itself touches."""
    assert (one != other).sum() <= 6


def test_a_line_goes_straight_however_the_hand_went(canvas, qtbot):
    canvas.set_brush(Brush(radius=3.0, tool=Tool.LINE))
    drag(qtbot, canvas, (10, 10), (40, 55), (70, 30))
    (line,) = canvas.marks
    ends = (real(canvas, 10, 10), real(canvas, 70, 30))
    assert line == Stroke(ends, 3.0, 0)


@pytest.mark.parametrize(("button", "label"), [(LEFT, 0), (RIGHT, 1)])
def test_a_box_holds_what_lies_between_its_corners(canvas, qtbot, button, label):
    canvas.set_brush(Brush(tool=Tool.BOX))
    drag(qtbot, canvas, (50, 40), (5, 5), (20, 10), button=button)
    (box,) = canvas.marks
    assert isinstance(box, Patch)
    assert box.label == label
    assert_alike(marked(box), inside(canvas, [(20, 10), (50, 10), (50, 40), (20, 40)]))


def test_a_lasso_holds_what_is_drawn_around(canvas, qtbot):
    canvas.set_brush(Brush(tool=Tool.LASSO))
    drag(qtbot, canvas, *CORNERS)
    (lasso,) = canvas.marks
    assert_alike(marked(lasso), inside(canvas, CORNERS))


@pytest.mark.parametrize("end", ["double click", "Return"])
def test_a_polygon_is_clicked_corner_by_corner(canvas, qtbot, end):
    canvas.set_brush(Brush(tool=Tool.POLYGON))
    for corner in CORNERS:
        qtbot.mouseClick(canvas, LEFT, pos=at(canvas, *corner))
        qtbot.mouseMove(canvas, at(canvas, 30, 30))  # on the way, nothing is drawn
        assert canvas.marks == []
    if end == "Return":
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    else:
        qtbot.mouseDClick(canvas, LEFT, pos=at(canvas, *CORNERS[-1]))
        qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, *CORNERS[-1]))
    (polygon,) = canvas.marks
    assert polygon.label == 0
    assert_alike(marked(polygon), inside(canvas, CORNERS))
    qtbot.mouseClick(canvas, LEFT, pos=at(canvas, 5, 5))  # the next one begins
    assert len(canvas.marks) == 1


def test_a_polygon_of_the_right_button_has_its_class(canvas, qtbot):
    canvas.set_brush(Brush(tool=Tool.POLYGON))
    for corner in CORNERS:
        qtbot.mouseClick(canvas, RIGHT, pos=at(canvas, *corner))
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert [mark.label for mark in canvas.marks] == [1]


@pytest.mark.parametrize("by", ["Escape", "another tool", "two corners"])
def test_an_unfinished_polygon_leaves_nothing(canvas, qtbot, by):
    canvas.set_brush(Brush(tool=Tool.POLYGON))
    for corner in CORNERS[:2]:
        qtbot.mouseClick(canvas, LEFT, pos=at(canvas, *corner))
    if by == "Escape":
        qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    elif by == "another tool":
        canvas.set_brush(Brush(tool=Tool.BRUSH))
    else:
        qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.marks == []
    assert (canvas._strokes.numbers == 0).all()
    canvas.set_brush(Brush(tool=Tool.BRUSH))
    drag(qtbot, canvas, (30, 30), (40, 40))
    (stroke,) = canvas.marks
    assert stroke.points == (real(canvas, 30, 30), real(canvas, 40, 40))


@pytest.mark.parametrize("tool", [Tool.AROUND, Tool.AROUND_BOX])
@pytest.mark.parametrize(("button", "label"), [(LEFT, 1), (RIGHT, 0)])
def test_around_an_object_is_what_the_other_button_paints(canvas, qtbot, tool, button, label):
    canvas.set_brush(Brush(tool=tool))
    around = [(10, 10), (50, 10), (50, 40), (10, 40)]
    way = around if tool is Tool.AROUND else (around[0], around[2])
    drag(qtbot, canvas, *way, button=button)
    (outside,) = canvas.marks
    assert outside.label == label
    assert_alike(marked(outside), ~inside(canvas, around))


def test_a_click_draws_no_shape(canvas, qtbot):
    for tool in (Tool.BOX, Tool.LASSO, Tool.AROUND, Tool.AROUND_BOX):
        canvas.set_brush(Brush(tool=tool))
        qtbot.mouseClick(canvas, LEFT, pos=at(canvas, 30, 30))
    assert canvas.marks == []
    assert (canvas._strokes.numbers == 0).all()


def test_fill_says_where_and_with_what(canvas, qtbot):
    canvas.set_brush(Brush(tool=Tool.FILL))
    qtbot.mouseClick(canvas, RIGHT, pos=at(canvas, 30, 20))
    ((place, label),) = canvas.fills
    assert (place.x(), place.y()) == pytest.approx(real(canvas, 30, 20))
    assert label == 1
    assert canvas.marks == []


def test_only_strokes_for_the_learner_are_followed(canvas, qtbot):
    for target in BrushTarget:
        canvas.set_brush(Brush(radius=3.0, target=target))
        qtbot.mousePress(canvas, LEFT, pos=at(canvas, 10, 10))
        qtbot.mouseMove(canvas, at(canvas, 30, 30))
        assert (canvas.unfinished_stroke() is None) == (target is not BrushTarget.STROKES)
        qtbot.mouseRelease(canvas, LEFT, pos=at(canvas, 30, 30))
