from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage
from skimage.morphology import remove_small_objects

from segapp.engine import clean_up as module
from segapp.engine.clean_up import smoothed
from segapp.imaging.seeds import SeedMap
from segapp.model.settings import CleanUp
from tests.segapp.engine.pixelwise_clean_up import clean_up as pixel_by_pixel

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))


def labels_and_marks(n_classes):
    return shapes.flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.uint8, shape, elements=st.integers(0, n_classes - 1)),
            hnp.arrays(np.int16, shape, elements=st.integers(-1, n_classes - 1)),
        )
    )


def clean_up(labels, marks, wish, background):
    """Tidy as the app does: with the marked pixels in their class."""
    pinned = np.where(marks >= 0, marks, labels).astype(np.uint8)
    return module.clean_up(pinned, SeedMap.from_array(marks), wish, background)


wishes = st.builds(
    CleanUp,
    smallest_area=st.integers(0, 12),
    fill_holes=st.booleans(),
    smoothing=st.integers(0, 3),
    keep_touching=st.booleans(),
)


@given(labels_and_marks(4), wishes)
@settings(max_examples=80, deadline=None)
def test_strokes_are_never_overruled_and_no_class_is_invented(case, wish):
    labels, marks = case
    tidy = clean_up(labels, marks, wish, 1)
    np.testing.assert_array_equal(tidy[marks >= 0], marks[marks >= 0])
    assert set(np.unique(tidy)) <= set(np.unique(labels)) | set(np.unique(marks[marks >= 0]))


@given(labels_and_marks(3))
def test_nothing_asked_changes_nothing_but_the_marked_pixels(case):
    labels, marks = case
    np.testing.assert_array_equal(
        clean_up(labels, marks, CleanUp(), 1), np.where(marks >= 0, marks, labels)
    )


@given(hnp.arrays(np.bool_, st.just((12, 12))), st.integers(2, 10))
def test_small_objects_on_a_large_ground_go_as_scikit_image_says(mask, area):
    """A frame of ground holds the picture together; objects alone are looked at."""
    mask = np.pad(mask, 2)
    ground = ndimage.binary_fill_holes(mask)  # no small ground parts inside objects
    labels = ground.astype(np.uint8)
    marks = np.full(labels.shape, -1, np.int16)
    tidy = clean_up(labels, marks, CleanUp(smallest_area=area), 1)
    expected = remove_small_objects(ground, max_size=area - 1)
    np.testing.assert_array_equal(tidy == 1, expected)


@given(hnp.arrays(np.bool_, st.just((12, 12))))
def test_holes_are_those_that_ndimage_fills(mask):
    objects = np.pad(mask, 1)
    labels = np.where(objects, 0, 1).astype(np.uint8)
    marks = np.full(labels.shape, -1, np.int16)
    expected = ndimage.binary_fill_holes(objects) & ~objects
    tidy = clean_up(labels, marks, CleanUp(fill_holes=True), 1)
    np.testing.assert_array_equal((tidy == 0) & ~objects, expected)


@given(labels_and_marks(4), wishes)
@settings(max_examples=300, deadline=None)
def test_the_graph_of_parts_says_what_the_pixels_say(case, wish):
    labels, marks = case
    wish = replace(wish, smoothing=0)
    pinned = np.where(marks >= 0, marks, labels).astype(np.uint8)
    np.testing.assert_array_equal(
        clean_up(labels, marks, wish, 1), pixel_by_pixel(pinned, marks, wish, 1)
    )


@given(st.integers(0, 2**31), st.integers(1, 40))
@settings(max_examples=10, deadline=None)
def test_smoothing_in_strips_is_smoothing(seed, radius):
    labels = np.random.default_rng(seed).integers(0, 3, (600, 31)).astype(np.uint8)
    np.testing.assert_array_equal(smoothed(labels, radius), module._most_frequent(labels, radius))


def test_only_the_part_with_the_stroke_stays_and_its_empty_hole_closes():
    labels = np.zeros((9, 20), np.uint8)
    labels[1:8, 1:8] = 1
    labels[3:5, 3:5] = 0
    labels[2:6, 12:16] = 1
    marks = np.full(labels.shape, -1, np.int16)
    marks[6, 2], marks[0, 19] = 1, 0
    tidy = clean_up(labels, marks, CleanUp(keep_touching=True, fill_holes=True), 0)
    expected = np.zeros_like(labels)
    expected[1:8, 1:8] = 1
    np.testing.assert_array_equal(tidy, expected)


def test_an_object_may_divide_the_background():
    labels = np.ones((6, 9), np.uint8)
    labels[:, 4] = 0
    marks = np.full(labels.shape, -1, np.int16)
    marks[2, 4], marks[2, 0] = 0, 1
    tidy = clean_up(labels, marks, CleanUp(keep_touching=True, fill_holes=True), 1)
    np.testing.assert_array_equal(tidy, labels)


def test_a_region_goes_to_the_class_with_the_longest_border():
    labels = np.array([[0, 0, 0, 0], [1, 2, 2, 1], [1, 1, 1, 0]], np.uint8)
    marks = np.full(labels.shape, -1, np.int16)
    tidy = clean_up(labels, marks, CleanUp(smallest_area=3), 1)
    np.testing.assert_array_equal(tidy[1, 1:3], [1, 1])


def test_smoothing_takes_the_most_frequent_class():
    labels = np.zeros((5, 5), np.uint8)
    labels[2, 2] = 3
    assert not smoothed(labels, 1).any()
