import math

import numpy as np
import pytest
from hypothesis import given, settings

from segapp.imaging.rasterise import MIN_RADIUS, _covered, _segments, paint_mark, rasterize
from segapp.model.document import Document, Patch, Stroke
from tests.segapp.strategies import documents, patches, strokes

SIZE = (25, 30)


def covered_by_brute_force(stroke, size, slack):
    """Points of each segment so dense that what they miss is below ``slack``."""
    height, width = size
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    covered = np.zeros(size, bool)
    pressures = stroke.pressures or (1.0,) * len(stroke.points)
    radii = [max(stroke.radius * pressure, MIN_RADIUS) for pressure in pressures]
    ends = list(zip(stroke.points, radii, strict=True))
    for (start, r0), (end, r1) in zip(ends, ends[1:] or ends, strict=False):
        for t in np.linspace(0, 1, 300):
            cx, cy = start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])
            covered |= np.hypot(x - cx, y - cy) <= r0 + t * (r1 - r0) + slack
    return covered


@settings(max_examples=30, deadline=None)
@given(strokes())
def test_the_brush_covers_what_its_path_comes_near(stroke):
    labels = np.full(SIZE, 7, np.int16)
    left, top, right, bottom = paint_mark(labels, stroke)
    marked = labels != 7
    assert not (covered_by_brute_force(stroke, SIZE, -1e-9) & ~marked).any()
    assert not (marked & ~covered_by_brute_force(stroke, SIZE, 0.04)).any()
    outside = np.ones(SIZE, bool)
    outside[top:bottom, left:right] = False
    assert not (marked & outside).any()


def test_distance_to_the_segment_is_the_rule():
    """Without pressure, against the textbook distance from a point to a segment."""
    rng = np.random.default_rng(1)
    x, y = np.meshgrid(np.arange(60) + 0.5, np.arange(50) + 0.5)
    for _ in range(30):
        (ax, ay), (bx, by) = rng.uniform(-10, 70, (2, 2))
        radius = rng.uniform(1, 15)
        labels = np.full((50, 60), -1, np.int16)
        paint_mark(labels, Stroke(((ax, ay), (bx, by)), radius, 1))
        t = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
        t = np.clip(t, 0, 1)
        distance = np.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay))
        certain = np.abs(distance - radius) > 1e-9
        assert ((labels == 1) == (distance <= radius))[certain].all()


def test_long_segments_are_looked_at_in_parts_and_lose_nothing():
    rng = np.random.default_rng(2)
    for _ in range(60):
        points = tuple((float(x), float(y)) for x, y in rng.uniform(-100, 500, (2, 2)))
        stroke = Stroke(points, float(rng.uniform(0.5, 60)), 1, tuple(rng.uniform(0, 1, 2)))
        labels = np.full((300, 400), -1, np.int16)
        paint_mark(labels, stroke)
        (segment,) = _segments(stroke)
        np.testing.assert_array_equal(labels == 1, _covered(segment, (0, 0, 400, 300)))


@pytest.mark.parametrize("place", [(4.0, 4.0), (4.5, 4.5), (4.2, 4.9)])
def test_a_click_with_the_thinnest_brush_marks_the_pixel_under_it(place):
    labels = np.full((9, 9), -1, np.int16)
    paint_mark(labels, Stroke((place,), 0.01, 0))
    assert labels[int(place[1]), int(place[0])] == 0
    assert np.count_nonzero(labels == 0) <= 4


def test_a_fast_thin_line_has_no_gaps():
    labels = np.full((100, 100), -1, np.int16)
    paint_mark(labels, Stroke(((1.0, 2.0), (97.0, 61.0)), 0.5, 0))
    columns = (labels == 0).any(axis=0)
    assert columns[1:97].all()


def test_the_last_stroke_wins_and_erasing_unmarks():
    document = Document().with_stroke(Stroke(((10.0, 10.0),), 6, 0))
    document = document.with_stroke(Stroke(((14.0, 10.0),), 4, 1))
    labels = rasterize(document, SIZE)
    assert labels[10, 14] == 1
    assert labels[10, 6] == 0
    erased = rasterize(document.with_stroke(Stroke(((14.0, 10.0),), 4, None)), SIZE)
    assert erased[10, 14] == -1
    assert erased[10, 6] == 0
    assert labels.dtype == np.int16


def test_a_stroke_outside_does_nothing():
    labels = np.full(SIZE, -1, np.int16)
    left, top, right, bottom = paint_mark(labels, Stroke(((-50.0, 5.0), (-30.0, 9e9)), 3, 0))
    assert left >= right or top >= bottom
    assert (labels == -1).all()


@settings(max_examples=50, deadline=None)
@given(patches())
def test_a_patch_marks_its_pixels_and_is_cut_at_the_edge(patch):
    size = (18, 20)
    labels = np.full(size, 7, np.int16)
    paint_mark(labels, patch)
    whole = np.full((40, 40), 7, np.int16)
    value = -1 if patch.label is None else patch.label
    whole[patch.top : patch.top + patch.height, patch.left : patch.left + patch.width] = value
    assert (labels == whole[:18, :20]).all()


def test_a_patch_may_begin_outside():
    mask = np.ones((4, 4), bool)
    patch = Patch(-2, -1, 4, 4, np.packbits(mask).tobytes(), 0)
    labels = np.full((5, 5), -1, np.int16)
    assert paint_mark(labels, patch) == (0, 0, 2, 3)
    assert (labels[:3, :2] == 0).all()
    assert np.count_nonzero(labels == 0) == 6


@settings(max_examples=40, deadline=None)
@given(documents())
def test_stamping_one_by_one_is_rasterising(document):
    labels = np.full(SIZE, -1, np.int16)
    for mark in document.strokes:
        paint_mark(labels, mark)
    assert (labels == rasterize(document, SIZE)).all()


def test_growing_pressure_makes_a_cone():
    labels = np.full((60, 120), -1, np.int16)
    paint_mark(labels, Stroke(((10.0, 30.0), (110.0, 30.0)), 10, 0, (0.2, 2.0)))
    heights = (labels == 0).sum(axis=0)
    assert heights[12] < heights[40] < heights[70] < heights[100]
    middle = 2 * (2 + 18 * 0.5) / math.sqrt(1 - 0.18**2)
    assert abs(heights[60] - middle) <= 2
