import mmap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.imaging.rasterise import rasterize
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.qt.canvas.input import StrokeInProgress
from segapp.qt.canvas.stroke_layer import StrokeLayer

SIZE = (40, 50)
coordinates = st.floats(-10, 60, allow_nan=False)
marks = st.one_of(
    st.builds(
        Stroke,
        st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=4).map(tuple),
        st.floats(0.5, 15),
        st.sampled_from([None, 0, 1, 2]),
    ),
    st.builds(
        lambda left, top, label: Patch(left, top, 8, 2, b"\xf0\x0f", label),
        st.integers(-4, 48),
        st.integers(-1, 39),
        st.sampled_from([None, 0, 1]),
    ),
    st.builds(
        lambda left, label: Patch(left, 5, 24, 30, b"\xff" * 90, label),
        st.integers(-10, 40),
        st.sampled_from([None, 0, 1]),
    ),
)
CLASSES = (*Document().classes, ClassInfo("third", (1, 2, 3)))


def check(layer, document):
    labels = rasterize(document, SIZE)
    np.testing.assert_array_equal(layer.numbers - 1, labels)
    fresh = StrokeLayer(SIZE)
    fresh.show(document)
    np.testing.assert_array_equal(layer.layer.pixels, fresh.layer.pixels)
    areas = tuple(replace(mark, label=0 if is_area(mark) else None) for mark in document.strokes)
    hatched = rasterize(replace(document, strokes=areas), SIZE) >= 0
    drawn = layer.layer.pixels[..., 3] > 0
    assert (drawn == (labels >= 0))[~hatched].all()
    down, across = np.indices(SIZE)
    assert (drawn == ((down + across) % 3 == 0))[hatched].all()


def is_area(mark):
    return isinstance(mark, Patch) and mark.label is not None and mark.width == 24


STEPS = ["add", "undo", "clear", "drop", "recolour"]


@given(st.lists(st.tuples(st.sampled_from(STEPS), marks), max_size=8))
@settings(deadline=None, max_examples=60)
def test_whatever_is_done_the_pixels_are_those_of_the_document(steps):
    layer, document, past = StrokeLayer(SIZE), Document(CLASSES), []
    layer.show(document)
    for what, mark in steps:
        if what == "undo":
            document = past.pop() if past else document
        else:
            if isinstance(mark, Stroke):
                draw(layer, mark)
            past.append(document)
            if what == "add":
                document = document.with_stroke(mark)
            elif what == "clear":
                document = document.without_marks()
            elif what == "recolour":
                others = tuple(
                    replace(each, colour=each.colour[::-1]) for each in document.classes
                )
                document = replace(document, classes=others)
        layer.show(document)
        check(layer, document)


def resident():
    """Return the bytes of memory that this process has touched."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("this system does not tell by /proc how much memory is touched")
    return int(statm.read_text().split()[1]) * mmap.PAGESIZE


def test_no_memory_is_touched_without_strokes():
    before = resident()
    layer = StrokeLayer((6000, 8000))  # 96 MB of numbers
    layer.show(Document(strokes=(Stroke(((300.0, 300.0),), 20.0, 0),)))
    recoloured = tuple(replace(each, colour=(1, 2, 3)) for each in Document().classes)
    layer.show(Document(recoloured, (Stroke(((300.0, 300.0),), 20.0, 0),)))
    assert tuple(layer.layer.pixels[300, 300]) == (3, 2, 1, 255)
    assert resident() - before < 20e6


def draw(layer, stroke):
    live = StrokeInProgress(stroke.radius, stroke.label, with_pressure=False)
    for x, y in stroke.points:
        piece = live.add((x, y))
        if piece is not None:
            layer.stamp(piece)


def test_a_finished_stroke_is_not_painted_twice():
    layer = StrokeLayer(SIZE)
    stroke = Stroke(((5.0, 5.0), (30.0, 20.0)), 3.0, 0)
    draw(layer, stroke)
    box = layer.show(Document().with_stroke(stroke))
    assert box == (0, 0, 0, 0)
    check(layer, Document().with_stroke(stroke))


def test_a_dropped_stroke_brings_back_what_it_covered():
    layer, document = StrokeLayer(SIZE), Document().with_stroke(Stroke(((20.0, 20.0),), 6.0, 1))
    layer.show(document)
    draw(layer, Stroke(((15.0, 15.0), (25.0, 25.0)), 4.0, 0))
    layer.drop()
    check(layer, document)


def test_another_colour_shows_everywhere():
    layer, document = StrokeLayer(SIZE), Document().with_stroke(Stroke(((20.0, 20.0),), 6.0, 1))
    layer.show(document)
    changed = document.with_class_changed(1, ClassInfo("ground", (255, 0, 255)))
    layer.show(changed)
    check(layer, changed)


def test_a_stroke_around_other_classes_leaves_an_areas_lines():
    layer = StrokeLayer(SIZE)
    around = Document().with_stroke(Patch(0, 0, 24, 40, b"\xff" * 120, 1))
    layer.show(around)
    before = layer.layer.pixels.copy()
    piece = Stroke(((10.0, 20.0), (40.0, 20.0)), 4.0, 0)
    layer.stamp(piece, keep_others=True)
    np.testing.assert_array_equal(layer.layer.pixels[:, :24], before[:, :24])
    assert (layer.layer.pixels[20, 26:40, 3] == 255).all()
    layer.drop()
    layer.stamp(piece)
    assert (layer.layer.pixels[20, 10:40, 3] == 255).all()  # without gaps, upon the area
