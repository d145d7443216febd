"""Parts of classes, against shapes whose measures are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.imaging.components import MeasuredRegions, Scale

Y, X = np.mgrid[:80, :160]


def discs(*circles):
    labels = np.ones(Y.shape, np.uint8)
    for x, y, radius in circles:
        labels[np.hypot(X - x, Y - y) <= radius] = 0
    return labels


def test_a_box_is_measured_exactly():
    labels = np.ones((20, 30), np.uint8)
    labels[5:9, 10:20] = 0
    channels = np.dstack(
        [np.full((20, 30), 7, np.uint16), np.mgrid[:20, :30][1].astype(np.uint16)]
    )
    (part,) = MeasuredRegions.measure(labels, channels, [0]).regions
    assert (part.label, part.number, part.area) == (0, 1, 40)
    assert part.centroid == (15.0, 7.0)
    assert part.box == (10, 5, 10, 4)
    assert part.means == (7.0, 14.5)
    assert part.perimeter == 24  # through the centres of the outline's pixels


def test_parts_are_counted_class_by_class_in_reading_order():
    labels = discs((20, 20, 8), (60, 50, 8), (100, 20, 8))
    labels[70:75, 140:150] = 2
    found = MeasuredRegions.measure(labels, labels, [0, 2])
    numbers = [(part.label, part.number) for part in found.regions]
    assert numbers == [(0, 1), (0, 2), (0, 3), (2, 1)]
    assert found.at(20, 20).number == 1
    assert found.at(145, 72).label == 2
    assert found.at(0, 0) is None


def test_a_corner_joins():
    labels = np.ones((4, 4), np.uint8)
    labels[0, 0] = labels[1, 1] = 0
    assert len(MeasuredRegions.measure(labels, labels, [0]).regions) == 1


def test_touching_discs_are_split_on_request_and_a_lone_one_is_not():
    labels = discs((40, 40, 18), (72, 40, 18), (130, 40, 18))
    labels[0, 0] = 0
    assert len(MeasuredRegions.measure(labels, labels, [0]).regions) == 3
    split = MeasuredRegions.measure(labels, labels, [0], split=True)
    assert len(split.regions) == 4
    areas = sorted(part.area for part in split.regions)
    assert areas[0] == 1
    assert areas[3] == pytest.approx(np.pi * 18**2, rel=0.03)
    assert areas[1] == pytest.approx(areas[2], rel=0.02)
    assert split.at(40, 40) != split.at(72, 40)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), split=st.booleans())
def test_parts_are_a_partition_of_their_classes(seed, split):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (12, 15)).astype(np.uint8)
    found = MeasuredRegions.measure(labels, labels, [0, 2], split=split)
    counts = np.bincount(found.index_map[found.index_map >= 0], minlength=len(found.regions))
    assert counts.tolist() == [part.area for part in found.regions]
    for index, part in enumerate(found.regions):
        assert (labels[found.index_map == index] == part.label).all()
    assert (labels[found.index_map < 0] == 1).all()


def test_a_scale_is_a_length():
    with pytest.raises(ValueError, match="pixel: wanted a positive length, got 0"):
        Scale(0.0)
