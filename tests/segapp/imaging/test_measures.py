"""Measures of objects, against shapes whose measures are known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.measure import regionprops

from segapp.imaging.measures import measure_objects
from segapp.imaging.objects import find_objects
from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document
from segapp.model.picture import Scale

Y, X = np.mgrid[:80, :160]
CELL, GROUND, ROD = (ClassInfo(name, (0, 0, 0)) for name in ("cell", "background", "rod"))
CLASSES = (CELL, GROUND, ROD)


def discs(*circles):
    labels = np.ones(Y.shape, np.uint8)
    for x, y, radius in circles:
        labels[np.hypot(X - x, Y - y) <= radius] = 0
    return labels


def measured(labels, channels=None, document=None):
    values = labels[:, :, np.newaxis] if channels is None else channels
    return measure_objects(find_objects(labels, document or Document(CLASSES)), values)


def test_a_box_is_measured_exactly():
    labels = np.ones((20, 30), np.uint8)
    labels[5:9, 10:20] = 0
    ramp = np.mgrid[:20, :30][1].astype(np.uint16)
    channels = np.dstack([np.full((20, 30), 7, np.uint16), ramp])
    (box,) = measured(labels, channels).objects
    assert (box.key, box.parts, box.area, box.neighbours) == ((0, 1), 1, 40, 0)
    assert box.centroid == (15.0, 7.0)
    assert box.box == (10, 5, 10, 4)
    assert box.perimeter == 24  # through the centres of the contour's pixels
    assert box.circularity == pytest.approx(4 * math.pi * 40 / 24**2)
    assert box.solidity == 1
    assert box.feret == pytest.approx(math.hypot(10, 4), abs=0.7)  # between pixels' centres
    assert box.major_axis == pytest.approx(4 * math.sqrt((10**2 - 1 + 1) / 12), rel=0.01)
    assert box.eccentricity == pytest.approx(math.sqrt(1 - (4 / 10) ** 2), rel=0.02)
    flat, slope = box.channels
    assert (flat.integrated, flat.mean, flat.least, flat.largest, flat.deviation) == (
        (280, 7, 7, 7, 0)
    )
    assert (slope.mean, slope.least, slope.largest) == (14.5, 10, 19)
    assert slope.deviation == pytest.approx(np.arange(10, 20).std())


def test_a_disc_is_round_and_an_ellipse_is_not():
    (disc,) = measured(discs((40, 40, 30))).objects
    assert 0.9 < disc.circularity <= 1  # pixels make contours a little longer
    assert disc.feret == pytest.approx(61, abs=1)
    labels = np.where((X - 80) ** 2 / 60**2 + (Y - 40) ** 2 / 20**2 <= 1, 0, 1).astype(np.uint8)
    (ellipse,) = measured(labels).objects
    assert ellipse.major_axis == pytest.approx(120, rel=0.01)
    assert ellipse.minor_axis == pytest.approx(40, rel=0.02)
    assert ellipse.eccentricity == pytest.approx(math.sqrt(1 - (20 / 60) ** 2), rel=0.01)
    assert ellipse.circularity < 0.8


def test_all_columns_are_those_of_regionprops():
    rng = np.random.default_rng(1)
    labels = discs((20, 20, 8), (60, 50, 14), (100, 20, 11))
    values = rng.random((*labels.shape, 2)) * 1000
    found = measured(labels, values)
    props = regionprops(found.found.index_map, values)
    for mine, theirs in zip(found.objects, props, strict=True):
        assert mine.area == theirs.area
        assert mine.solidity == theirs.solidity
        assert mine.eccentricity == theirs.eccentricity
        assert mine.major_axis == theirs.axis_major_length
        assert mine.minor_axis == theirs.axis_minor_length
        assert mine.feret == theirs.feret_diameter_max
        assert [each.mean for each in mine.channels] == theirs.intensity_mean.tolist()
        inside = values[found.found.pixels(mine.key)]
        for each, channel in zip(mine.channels, inside.T, strict=True):
            assert each.integrated == pytest.approx(channel.sum())
            assert (each.least, each.largest) == (channel.min(), channel.max())
            assert each.deviation == pytest.approx(channel.std())


def test_objects_are_counted_class_by_class_in_reading_order():
    labels = discs((20, 20, 8), (60, 50, 8), (100, 20, 8))
    labels[70:75, 140:150] = 2
    found = measured(labels)
    assert [each.key for each in found.objects] == [(0, 1), (0, 2), (0, 3), (2, 1)]
    assert found.at(20, 20).key == (0, 1)
    assert found.at(145, 72).key == (2, 1)
    assert found.at(0, 0) is None


def test_a_corner_joins_and_makes_neighbours():
    labels = np.ones((4, 4), np.uint8)
    labels[0, 0] = labels[1, 1] = 0
    (pair,) = measured(labels).objects
    assert (pair.parts, pair.neighbours) == (1, 0)
    labels[2, 2] = 2
    assert [each.neighbours for each in measured(labels).objects] == [1, 1]


def test_an_object_of_two_parts_is_measured_as_one():
    labels = np.ones((10, 30), np.uint8)
    labels[2:6, 2:6] = labels[2:6, 20:24] = 0
    both = ObjectInfo(0, 1, anchors=((3.5, 3.5), (21.5, 3.5)))
    (joined,) = measured(labels, document=Document(CLASSES).with_object(both)).objects
    assert (joined.parts, joined.area, joined.box) == (2, 32, (2, 2, 22, 4))
    assert joined.centroid == (13.0, 4.0)
    assert joined.solidity == pytest.approx(32 / (22 * 4))


def test_touching_discs_are_split_on_request_and_a_lone_one_is_not():
    labels = discs((40, 40, 18), (72, 40, 18), (130, 40, 18))
    labels[0, 0] = 0
    assert len(measured(labels).objects) == 3
    split = measured(labels, document=Document((replace(CELL, split=True), GROUND, ROD)))
    assert len(split.objects) == 4
    areas = sorted(each.area for each in split.objects)
    assert areas[0] == 1
    assert areas[3] == pytest.approx(np.pi * 18**2, rel=0.03)
    assert areas[1] == pytest.approx(areas[2], rel=0.02)
    assert sorted(each.neighbours for each in split.objects) == [0, 0, 1, 1]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), split=st.booleans())
def test_neighbours_and_areas_agree_with_pixels(seed, split):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (9, 11)).astype(np.uint8)
    found = measured(labels, document=Document((replace(CELL, split=split), GROUND, ROD)))
    index_map = found.found.index_map
    assert [each.area for each in found.objects] == np.bincount(index_map.ravel())[1:].tolist()
    for index, each in enumerate(found.objects, start=1):
        rows, columns = np.nonzero(index_map == index)
        around = set()
        for y, x in zip(rows, columns, strict=True):
            around |= set(index_map[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2].ravel().tolist())
        assert each.neighbours == len(around - {0, index})


def test_nothing_has_no_measures():
    assert measured(np.ones((5, 5), np.uint8)).objects == ()


def test_a_scale_is_a_length():
    with pytest.raises(ValueError, match="pixel: wanted a positive length, got 0"):
        Scale(0.0)
