import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from segapp.qt.canvas.brush import (
    LARGEST_RADIUS,
    SMALLEST_RADIUS,
    BrushUnit,
    Tool,
    scaled_radius,
)
from segapp.qt.panels.brush_panel import BrushState

radii = st.floats(SMALLEST_RADIUS, LARGEST_RADIUS)


@given(radii, st.integers(1, 5))
def test_every_step_can_be_seen_and_stays_within_bounds(radius, steps):
    larger, smaller = scaled_radius(radius, steps), scaled_radius(radius, -steps)
    assert SMALLEST_RADIUS <= smaller <= radius <= larger <= LARGEST_RADIUS
    assert larger > radius or radius > LARGEST_RADIUS - 1
    assert smaller < radius or radius < SMALLEST_RADIUS + 1


@pytest.fixture
def state(qapp):
    return BrushState()


def test_each_button_keeps_its_class_whatever_the_other_paints(state):
    state.choose_left(1)
    assert (state.brush.left, state.brush.right) == (1, 1)
    state.choose_right(2)
    assert (state.brush.left, state.brush.right) == (1, 2)
    state.swap()
    assert (state.brush.left, state.brush.right) == (2, 1)


def test_a_brush_of_the_screen_is_smaller_in_the_picture_the_nearer_one_looks(state):
    assert state.brush.unit is BrushUnit.SCREEN
    assert state.brush.radius_in_picture(0.25) == 4 * state.brush.radius
    state.set_unit(BrushUnit.PICTURE)
    assert state.brush.radius_in_picture(0.25) == state.brush.radius


def test_choosing_a_class_takes_the_brush_in_hand(state):
    state.set_tool(Tool.ERASER)
    state.choose_left(1)
    assert state.brush.tool is Tool.BRUSH


def test_a_deleted_class_is_let_go(state):
    three = Document().with_class(ClassInfo("third", (1, 2, 3)))
    state.keep_to(three)
    state.choose_left(2)
    assert state.brush.left_colour != (1, 2, 3)  # until it follows the document
    state.keep_to(three)
    assert state.brush.left_colour == (1, 2, 3)
    state.keep_to(Document())
    assert state.brush.left == 1
    assert state.brush.right == 0


def test_a_picture_begins_with_an_object_left_and_the_background_right(state):
    state.begin(Document((ClassInfo("a", (1, 1, 1)), ClassInfo("b", (2, 2, 2)))))
    assert (state.brush.left, state.brush.right) == (0, 1)
    classes = tuple(ClassInfo(name, (1, 1, 1)) for name in ("apple", "pear", "Background"))
    state.begin(Document(classes))
    assert (state.brush.left, state.brush.right) == (0, 2)
    state.begin(Document(classes[::-1]))
    assert (state.brush.left, state.brush.right) == (1, 0)
