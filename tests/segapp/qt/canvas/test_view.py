import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF, QRectF, QSize

from segapp.qt.canvas.viewport import LARGEST_SCALE, SMALLEST_SCALE, View

coordinates = st.floats(-5000, 5000)
points = st.builds(QPointF, coordinates, coordinates)
views = st.builds(View, st.floats(SMALLEST_SCALE, LARGEST_SCALE), coordinates, coordinates)
sizes = st.builds(QSize, st.integers(1, 5000), st.integers(1, 5000))


def near(point):
    return pytest.approx((point.x(), point.y()), abs=1e-5)


@given(views, points)
def test_the_two_ways_undo_each_other(view, point):
    back = view.to_widget(view.to_image(point))
    assert (back.x(), back.y()) == near(point)


@given(views, st.floats(0.01, 100), points)
def test_zooming_keeps_what_is_under_the_pointer(view, factor, anchor):
    before, after = view.to_image(anchor), view.zoomed(factor, anchor).to_image(anchor)
    assert (after.x(), after.y()) == pytest.approx((before.x(), before.y()), rel=1e-6, abs=1e-4)


@given(sizes, sizes)
def test_a_fitted_picture_is_whole_and_centred(image, window):
    view = View.fitted(image, window)
    frame = view.rect_to_widget(QRectF(0, 0, image.width(), image.height()))
    assert frame.center().x() == pytest.approx(window.width() / 2, abs=1e-6)
    assert frame.center().y() == pytest.approx(window.height() / 2, abs=1e-6)
    if view.scale > SMALLEST_SCALE and min(window.width(), window.height()) > 40:
        assert frame.width() <= window.width()
        assert frame.height() <= window.height()


@given(views, sizes, sizes)
def test_the_picture_cannot_be_pushed_out_of_the_view(view, image, window):
    kept = view.clamped(image, window)
    frame = kept.rect_to_widget(QRectF(0, 0, image.width(), image.height()))
    assert frame.intersects(QRectF(-1, -1, window.width() + 2, window.height() + 2))


@given(views, st.builds(QRectF, coordinates, coordinates, st.floats(1, 50), st.floats(1, 50)))
def test_the_repainted_pixels_cover_the_box(view, box):
    assert QRectF(view.pixels_covering(box)).contains(view.rect_to_widget(box))
