"""Clean-up against a slow reference, scikit-image and SciPy."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage
from skimage.morphology import remove_small_objects

from segapp.engine import clean_up as module
from segapp.engine.clean_up import smoothed
from segapp.engine.region_graph import ACROSS, DOWN
from segapp.imaging.seeds import SeedMap
from segapp.model.settings import CleanUp

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))


def labels_and_marks(n_classes):
    return shapes.flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.uint8, shape, elements=st.integers(0, n_classes - 1)),
            hnp.arrays(np.int16, shape, elements=st.integers(-1, n_classes - 1)),
        )
    )


def clean_up(labels, marks, wish, background):
    """Clean up as the app does: with the marked pixels in their class."""
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
def test_without_options_only_marked_pixels_change(case):
    labels, marks = case
    np.testing.assert_array_equal(
        clean_up(labels, marks, CleanUp(), 1), np.where(marks >= 0, marks, labels)
    )


@given(hnp.arrays(np.bool_, st.just((12, 12))), st.integers(2, 10))
def test_small_components_are_removed_like_in_scikit_image(mask, area):
    """A frame of ground connects it: objects alone are removed."""
    mask = np.pad(mask, 2)
    ground = ndimage.binary_fill_holes(mask)  # no small ground components inside objects
    labels = ground.astype(np.uint8)
    marks = np.full(labels.shape, -1, np.int16)
    tidy = clean_up(labels, marks, CleanUp(smallest_area=area), 1)
    expected = remove_small_objects(ground, max_size=area - 1)
    np.testing.assert_array_equal(tidy == 1, expected)


@given(hnp.arrays(np.bool_, st.just((12, 12))))
def test_holes_are_filled_like_in_scipy(mask):
    objects = np.pad(mask, 1)
    labels = np.where(objects, 0, 1).astype(np.uint8)
    marks = np.full(labels.shape, -1, np.int16)
    expected = ndimage.binary_fill_holes(objects) & ~objects
    tidy = clean_up(labels, marks, CleanUp(fill_holes=True), 1)
    np.testing.assert_array_equal((tidy == 0) & ~objects, expected)


@given(labels_and_marks(4), wishes)
@settings(max_examples=300, deadline=None)
def test_the_component_graph_agrees_with_the_reference(case, wish):
    labels, marks = case
    wish = replace(wish, smoothing=0)
    pinned = np.where(marks >= 0, marks, labels).astype(np.uint8)
    np.testing.assert_array_equal(
        clean_up(labels, marks, wish, 1), reference_clean_up(pinned, marks, wish, 1)
    )


@given(st.integers(0, 2**31), st.integers(1, 40))
@settings(max_examples=10, deadline=None)
def test_smoothing_in_strips_is_exact(seed, radius):
    labels = np.random.default_rng(seed).integers(0, 3, (600, 31)).astype(np.uint8)
    np.testing.assert_array_equal(smoothed(labels, radius), module._mode_filter(labels, radius))


def test_only_the_seeded_component_stays_and_its_hole_is_filled():
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


def reference_clean_up(labels, marked, wishes, background):
    tidy = labels
    if wishes.smallest_area > 1:
        numbers, held = number_components(tidy, marked)
        small = np.bincount(numbers.ravel(), minlength=len(held)) < wishes.smallest_area
        tidy = reassign(tidy, (small & ~held)[numbers])
    if wishes.fill_holes:
        tidy = reassign(tidy, reference_holes(tidy, marked, background))
    if wishes.keep_touching:
        numbers, held = number_components(tidy, marked)
        tidy = reassign(tidy, ~held[numbers] & (tidy != background))
    return tidy


def number_components(labels, marked):
    """Number the components of each class from 1; return which hold a stroke of their own."""
    numbers, total = np.zeros(labels.shape, dtype=np.int32), 0
    for label in np.unique(labels):
        own, count = ndimage.label(labels == label)
        numbers[labels == label] = own[labels == label] + total
        total += count
    held = np.zeros(total + 1, dtype=bool)
    held[numbers[marked == labels]] = True
    return numbers, held


def reference_holes(labels, marked, background):
    numbers, held = number_components(labels, marked)
    mask = np.zeros(labels.shape, dtype=bool)
    for part in range(1, len(held)):
        own = numbers == part
        around = ndimage.binary_dilation(own) & ~own
        at_edge = own[0].any() or own[-1].any() or own[:, 0].any() or own[:, -1].any()
        if len(np.unique(labels[around])) == 1 and not at_edge and not held[part]:
            mask |= own & (labels == background)
    return mask


def reassign(labels, dropped):
    if dropped.all() or not dropped.any():
        return labels
    regions, count = ndimage.label(dropped)
    border = np.zeros((count + 1, int(labels.max()) + 1), dtype=int)
    for here, there in (ACROSS, ACROSS[::-1], DOWN, DOWN[::-1]):
        meets = dropped[here] & ~dropped[there]
        np.add.at(border, (regions[here][meets], labels[there][meets]), 1)
    return np.where(dropped, border.argmax(axis=1)[regions], labels).astype(np.uint8)
