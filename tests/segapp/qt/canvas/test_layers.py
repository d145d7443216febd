import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter

from segapp.qt.canvas import layers
from segapp.qt.canvas.layers import Layer, ZeroCopyImage, add_alpha, halve

pictures = hnp.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(4)))


def drawn(layer, width, height, scale):
    image = QImage(width, height, QImage.Format.Format_RGBA8888_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    painter.scale(scale, scale)
    layer.draw(painter, scale)
    painter.end()
    return np.array(image.constBits()).reshape(height, width, 4)


@given(pictures)
def test_halving_takes_the_rounded_mean_of_four(rgba):
    padded = np.pad(rgba, ((0, len(rgba) % 2), (0, rgba.shape[1] % 2), (0, 0)), mode="edge")
    height, width = padded.shape[0] // 2, padded.shape[1] // 2
    blocks = padded.reshape(height, 2, width, 2, 4).astype(float)
    np.testing.assert_array_equal(halve(rgba), np.floor(blocks.mean(axis=(1, 3)) + 0.5))


@settings(deadline=None)  # megabytes of pixels, on a machine that may be busy
@given(st.data())
def test_a_refreshed_box_is_as_good_as_a_new_layer(data):
    height, width = data.draw(st.integers(1025, 1100)), data.draw(st.integers(1025, 1100))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    layer = Layer(rng.integers(0, 256, (height, width, 4), dtype=np.uint8))
    left, right = sorted(data.draw(st.lists(st.integers(0, width), min_size=2, max_size=2)))
    top, bottom = sorted(data.draw(st.lists(st.integers(0, height), min_size=2, max_size=2)))
    layer.pixels[top:bottom, left:right] = rng.integers(0, 256, 4, dtype=np.uint8)
    layer.refresh((left, top, right, bottom))
    np.testing.assert_array_equal(layer._levels[1], halve(layer.pixels))


def test_at_actual_size_every_pixel_is_itself():
    rgb = np.random.default_rng(1).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    np.testing.assert_array_equal(drawn(Layer(add_alpha(rgb)), 30, 20, 1.0), add_alpha(rgb))


def test_enlarged_pixels_stay_crisp():
    rgb = np.random.default_rng(1).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    expected = add_alpha(rgb).repeat(4, axis=0).repeat(4, axis=1)
    np.testing.assert_array_equal(drawn(Layer(add_alpha(rgb)), 24, 20, 4.0), expected)


def test_reduced_pictures_are_averaged_and_not_sampled():
    rgb = np.zeros((1024 * 4, 64, 3), np.uint8)
    rgb[::2] = 200  # every sampled row would be all 200 or all 0
    shown = drawn(Layer(add_alpha(rgb)), 8, 512, 1 / 8)
    assert np.abs(shown[2:-2, 1:-1, 0].astype(int) - 100).max() <= 2


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_pictures_wider_than_qt_counts_are_drawn_to_their_end(scale):
    width = 33_000
    rgb = np.zeros((4, width, 3), np.uint8)
    rgb[:, -40:] = 255
    layer = Layer(add_alpha(rgb))
    image = QImage(30, 2, QImage.Format.Format_RGBA8888_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    painter.translate(-(width * scale - 30), 0)
    painter.scale(scale, scale)
    layer.draw(painter, scale)
    painter.end()
    row = np.array(image.constBits()).reshape(2, 30, 4)[0, :, 0]
    first = 30 - round(40 * scale)
    assert row[max(first, 0) + 1 :].min() == 255
    assert first <= 0 or row[: first - 1].max() == 0


@given(st.tuples(st.integers(1, 5000), st.integers(1, 40)))
def test_a_blank_layer_has_the_levels_of_any_other(size):
    blank, other = Layer.blank(size), Layer(np.zeros((*size, 4), np.uint8))
    assert [level.shape for level in blank._levels] == [level.shape for level in other._levels]
    assert not any(level.any() for level in blank._levels)


def test_a_painted_layer_is_that_of_the_whole_picture():
    rgb = np.random.default_rng(1).integers(0, 256, (1031, 1100, 3), dtype=np.uint8)
    layer, whole = (
        Layer.painted(rgb.shape[:2], lambda box: add_alpha(rgb[box])),
        Layer(add_alpha(rgb)),
    )
    for painted, expected in zip(layer._levels, whole._levels, strict=True):
        np.testing.assert_array_equal(painted, expected)


@given(st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_even_tiles_are_painted_like_all_others(seed):
    """Also where a tile ends at the picture's edge, of one colour or clear."""
    rng = np.random.default_rng(seed)
    size = (int(rng.integers(1, 1400)), int(rng.integers(1, 2400)))
    rgba = np.zeros((*size, 4), np.uint8)
    for _ in range(3):
        top, left = (int(rng.integers(0, side)) // 64 * 64 for side in size)
        colour = (*rng.integers(0, 256, 3), 255)
        rgba[top : top + 640, left : left + 1280] = colour
    layer, whole = Layer.painted(size, lambda box: rgba[box]), Layer(rgba)
    for painted, expected in zip(layer._levels, whole._levels, strict=True):
        np.testing.assert_array_equal(painted, expected)


def seen(layer, scale, offset, room):
    """Draw into a window of 300 x 200 pixels, of which a part is due."""
    image = QImage(300, 200, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    painter.setClipRect(room)
    painter.translate(*offset)
    painter.scale(scale, scale)
    layer.draw(painter, scale)
    painter.end()
    return np.array(image.constBits()).reshape(200, 300, 4)


@pytest.mark.parametrize("scale", [0.13, 0.37, 0.5, 0.8, 1.0, 1.7, 9.0])
@pytest.mark.parametrize("room", [QRect(0, 0, 300, 200), QRect(37, 21, 90, 64)])
@pytest.mark.parametrize("at_once", [1 << 20, 5000])
def test_shared_pixels_are_drawn_like_a_copy_of_them(monkeypatch, scale, room, at_once):
    monkeypatch.setattr(layers, "_PIXELS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (701, 1200, 3), dtype=np.uint8)
    labels = (rgb[..., 0] > 100).astype(np.uint8)
    table = np.array([[0, 0, 0, 0], [230, 159, 20, 255]], np.uint8)
    pairs = [
        (ZeroCopyImage.of_picture(rgb), add_alpha(rgb)),
        (ZeroCopyImage.of_labels(labels, table, lambda box: table[labels[box]]), table[labels]),
    ]
    for shared, rgba in pairs:
        over, own = Layer.over(shared), Layer(rgba)
        assert over.size == own.size
        for one, other in zip(over._levels[1:], own._levels[1:], strict=True):
            np.testing.assert_array_equal(one, other)
        offset = (-0.4 * 1200 * scale, -0.3 * 701 * scale)
        expected = seen(own, scale, offset, room)
        # Smoothing counts from the part's corner, and rounds otherwise by a level or two.
        difference = seen(over, scale, offset, room).astype(int) - expected
        assert np.abs(difference).max() <= 3
        assert expected.any()


def test_shared_pixels_cannot_be_written_to_and_hold_what_they_show():
    rgb = np.full((30, 40, 3), 7, np.uint8)
    layer = Layer.over(ZeroCopyImage.of_picture(rgb[:, ::2]))  # a copy of its own
    assert layer.pixels.size == 0
    assert seen(layer, 1.0, (0, 0), QRect(0, 0, 300, 200))[5, 5].tolist() == [7, 7, 7, 255]


@given(hnp.arrays(np.bool_, (6, 9)), st.integers(1, 3))
def test_the_changed_box_encloses_all_changed_pixels(differ, times):
    before = np.full((6, 9, 4), 200, np.uint8)
    after = np.where(differ[..., None], np.uint8(7), before)
    size = 6 * times, 9 * times
    box = Layer(after, times, size).changed_box(Layer(before, times, size))
    rows, columns = np.nonzero(differ)
    if not rows.size:
        assert box == (0, 0, 0, 0)
    else:
        corner = columns.min() * times, rows.min() * times
        assert box == (*corner, (columns.max() + 1) * times, (rows.max() + 1) * times)


def test_layers_that_cannot_be_compared_differ_everywhere():
    layer = Layer(np.zeros((6, 9, 4), np.uint8))
    assert layer.changed_box(layer) is None  # painted over, perhaps
    assert Layer(np.zeros((9, 6, 4), np.uint8)).changed_box(layer) is None
    assert Layer(np.zeros((6, 9, 4), np.uint8), 2, (12, 18)).changed_box(layer) is None
