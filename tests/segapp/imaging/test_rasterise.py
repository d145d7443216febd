"""Shapes as pixels, against a test of every pixel's centre."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path

from segapp.imaging.rasterise import (
    MIN_RADIUS,
    _covered,
    _segments,
    box_corners,
    outline_marks,
    paint_mark,
    polygon_inside,
    polygon_mask,
    polygon_outside,
    rasterize,
)
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


NUMBERS = st.floats(-3, 15).map(lambda value: round(value, 2) + 0.003)


@given(points=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=3))
def test_a_triangle_holds_the_pixels_whose_centres_are_in_it(points):
    y, x = np.mgrid[:10, :12] + 0.5
    centres = np.stack([x.ravel(), y.ravel()], axis=1)
    expected = Path(points).contains_points(centres).reshape(10, 12)
    outline = np.abs(_distances(points, centres)).reshape(10, 12) < 1e-6
    assert ((polygon_mask(points, (10, 12)) == expected) | outline).all()


def _distances(points, centres):
    """Return how far each centre is from the triangle's nearest side."""
    sides = []
    for start, end in zip(points, [*points[1:], points[0]], strict=True):
        along = np.subtract(end, start)
        length = max(float(along @ along), 1e-12)
        share = np.clip((centres - start) @ along / length, 0, 1)[:, np.newaxis]
        sides.append(np.linalg.norm(centres - (start + share * along), axis=1))
    return np.min(sides, axis=0)


def test_a_box_is_the_same_from_any_corner():
    for one, other in (((1, 2), (5, 4)), ((5, 2), (1, 4)), ((5, 4), (1, 2))):
        mask = polygon_mask(box_corners(one, other), (6, 8))
        assert mask[2:4, 1:5].all()
        assert mask.sum() == 8


def test_a_bow_tie_is_filled_even_odd():
    mask = polygon_mask([(0, 0), (8, 8), (8, 0), (0, 8)], (8, 8))
    assert mask[4, 0]
    assert mask[4, 7]
    assert not mask[0, 4]


@pytest.mark.parametrize("points", [[], [(1, 1)], [(1, 1), (5, 5)]])
def test_less_than_a_triangle_marks_nothing(points):
    assert polygon_inside(points, (6, 6), 0) is None
    assert polygon_outside(points, (6, 6), 1) is None


def test_inside_and_outside_share_no_pixel_and_leave_none():
    points = [(1, 1), (9, 2), (5, 8)]
    inside, outside = polygon_inside(points, (10, 12), 0), polygon_outside(points, (10, 12), 1)
    whole = np.zeros((10, 12), int)
    for patch in (inside, outside):
        rows = slice(patch.top, patch.top + patch.height)
        columns = slice(patch.left, patch.left + patch.width)
        whole[rows, columns] += patch.mask()
    assert (whole == 1).all()


SIZE = (40, 60)


def outline(document, left, top, right, bottom, label=0):
    outside = polygon_outside(box_corners((left, top), (right, bottom)), SIZE, 1)
    marks = outline_marks(document, outside, SIZE, label)
    return replace(document, strokes=(*document.strokes, *marks))


def test_a_first_outline_marks_its_outside_and_a_dab_inside():
    document = outline(Document(), 10, 5, 30, 25)
    marked = rasterize(document, SIZE)
    assert document.previous_state is None
    assert (marked[5:25, 10:30] != 1).all()
    assert np.count_nonzero(marked == 1) == 40 * 60 - 20 * 20
    rows, columns = np.nonzero(marked == 0)
    assert (rows.mean(), columns.mean()) == pytest.approx((14.5, 19.5), abs=1)


def test_a_second_outline_frees_its_inside_and_keeps_the_first():
    first = outline(Document(), 5, 5, 25, 25)
    second = outline(first, 35, 10, 55, 30)
    before, after = rasterize(first, SIZE), rasterize(second, SIZE)
    inside = np.zeros(SIZE, bool)
    inside[10:30, 35:55] = True
    assert (after[~inside] == before[~inside]).all()
    assert (before[inside] == 1).all()
    assert not (after[inside] == 1).any()
    assert (after[inside] == 0).any()
    assert second.previous_state == first


def test_an_outline_that_overlaps_another_frees_what_is_new():
    document = outline(outline(Document(), 5, 5, 25, 25), 20, 10, 40, 30)
    marked = rasterize(document, SIZE)
    assert (marked[10:30, 20:40] != 1).all()
    assert (marked[5:25, 5:25] != 1).all()


def test_strokes_on_the_background_stay_inside_a_second_outline():
    by_hand = Stroke(((38.5, 12.5), (52.5, 12.5)), 1, 1)
    document = outline(Document(), 5, 5, 25, 25).with_stroke(by_hand)
    marked = rasterize(outline(document, 35, 10, 55, 30), SIZE)
    assert (marked[12, 39:52] == 1).all()
    assert not (marked[16:30, 35:55] == 1).any()


def test_an_outline_beside_a_painted_object_marks_no_background():
    document = Document().with_stroke(Stroke(((10, 10), (20, 10)), 2, 0))
    marked = rasterize(outline(document, 35, 10, 55, 30), SIZE)
    assert not (marked == 1).any()
    assert (marked[10:30, 35:55] == 0).any()


def test_an_outline_around_a_painted_object_needs_no_dab():
    document = Document().with_stroke(Stroke(((40, 15), (50, 15)), 2, 0))
    both = outline(document, 35, 10, 55, 30)
    assert [mark.label for mark in both.strokes] == [0, 1]
