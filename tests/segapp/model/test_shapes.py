"""Shapes as pixels, against a test of every pixel's centre."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.path import Path

from segapp.imaging.rasterise import box_corners, polygon_inside, polygon_mask, polygon_outside

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
