import numpy as np
import pytest

from segapp.imaging.rasterise import EMPTY_RECTANGLE, rasterize
from segapp.model.document import Document, Patch, Stroke
from segapp.qt.canvas.brush import Brush
from segapp.qt.canvas.input import StrokePainter
from segapp.qt.canvas.stroke_layer import StrokeLayer

SIZE = (40, 60)


@pytest.fixture
def strokes(qapp):
    return StrokeLayer(SIZE)


def draw(pen, brush, *points, label=0):
    pen.begin(brush, label, with_pressure=False)
    for point in points:
        pen.extend(point)
    return pen.finish()


def test_a_pen_is_down_from_press_to_lift(strokes):
    pen = StrokePainter(strokes)
    assert not pen.is_drawing
    assert pen.extend((5.0, 5.0)) == EMPTY_RECTANGLE
    assert pen.cancel() == EMPTY_RECTANGLE
    pen.begin(Brush(radius=2.0), 1, with_pressure=False)
    assert pen.is_drawing
    left, top, right, bottom = pen.extend((5.0, 6.0))
    assert left <= 3 < 7 <= right
    assert top <= 4 < 8 <= bottom
    assert pen.finish() == Stroke(((5.0, 6.0),), 2.0, 1)
    assert not pen.is_drawing
    assert pen.last_end == (5.0, 6.0)


def test_a_dropped_stroke_leaves_nothing_behind(strokes):
    pen = StrokePainter(strokes)
    pen.begin(Brush(), 0, with_pressure=False)
    drawn = pen.extend((20.0, 20.0))
    assert pen.cancel() == drawn
    assert not pen.is_drawing
    assert pen.last_end is None
    assert (strokes.numbers == 0).all()


def test_a_stroke_beside_the_picture_is_none(strokes):
    pen = StrokePainter(strokes)
    assert draw(pen, Brush(radius=2.0), (-20.0, 5.0)) is None
    assert pen.is_drawing  # until it is dropped
    pen.cancel()
    assert not pen.is_drawing


def test_a_pen_may_paint_around_other_classes(strokes):
    document = Document().with_stroke(Stroke(((30.0, 20.0),), 6.0, 1))
    strokes.show(document)
    pen = StrokePainter(strokes)
    around = draw(pen, Brush(radius=3.0, keep_others=True), (10.0, 20.0), (50.0, 20.0))
    assert isinstance(around, Patch)
    labels = rasterize(document.with_stroke(around), SIZE)
    np.testing.assert_array_equal(strokes.numbers - 1, labels)
    assert labels[20, 30] == 1
