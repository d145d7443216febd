from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.imaging.components import label_components
from segapp.imaging.objects import (
    SharedPiece,
    connected_objects,
    find_objects,
    inner_point,
    nearest_object,
    touching_boundaries,
)
from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document, Stroke

CLASSES = tuple(ClassInfo(name, (0, 0, 0)) for name in ("cell", "rod", "background"))


def drawn(*rows):
    """Labels from rows of characters: a cell, a rod or background."""
    return np.array([["cr.".index(each) for each in row] for row in rows], np.uint8)


def dot(x, y, number, label=0):
    return Stroke(((x + 0.5, y + 0.5),), 0.5, label, object_number=number)


def rows_of(found, label=0):
    """Rows with the object number of each pixel of a class, '.' elsewhere."""
    texts = ["."] + [str(key[1]) if key[0] == label else "." for key in found.keys]
    return ["".join(texts[index] for index in row) for row in found.index_map]


def test_without_marks_each_component_is_an_object():
    labels = drawn("cc.r", "..cr", "c..r")
    found = find_objects(labels, Document(CLASSES))
    assert rows_of(found) == ["11..", "..1.", "2..."]
    assert rows_of(found, 1) == ["...1", "...1", "...1"]
    assert found.keys == ((0, 1), (0, 2), (1, 1))


def test_marks_of_one_object_join_its_parts():
    """As of a car behind a pole; the part that nothing is said of has a free number."""
    labels = drawn("cc.cc.cc")
    document = Document(CLASSES, (dot(0, 0, 2), dot(4, 0, 2)))
    assert rows_of(find_objects(labels, document)) == ["22.22.11"]


def test_a_component_is_divided_among_its_objects():
    labels = drawn("cccccc")
    document = Document(CLASSES, (dot(0, 0, 1), dot(4, 0, 2)))
    found = find_objects(labels, document)
    assert found.keys == ((0, 1), (0, 2))
    (row,) = rows_of(found)
    assert row.startswith("11")
    assert row.endswith("222")
    assert sorted(row) == list(row)


def test_marks_of_another_class_or_of_no_object_say_nothing():
    labels = drawn("cccc")
    document = Document(CLASSES, (dot(0, 0, 7, label=1), dot(3, 0, 0)))
    assert rows_of(find_objects(labels, document)) == ["1111"]


def test_the_last_mark_on_a_pixel_wins():
    labels = drawn("cc.cc")
    marks = (dot(0, 0, 1), dot(3, 0, 1), dot(3, 0, 2))
    assert rows_of(find_objects(labels, Document(CLASSES, marks))) == ["11.22"]
    erased = Document(CLASSES, (*marks, Stroke(((3.5, 0.5),), 0.5, None)))
    assert rows_of(find_objects(labels, erased)) == ["11.33"]  # a number that no mark has


def test_anchors_hold_numbers_without_marks():
    labels = drawn("cc.cc.cc")
    document = Document(CLASSES).with_object(ObjectInfo(0, 5, anchors=((0.5, 0.5), (7.5, 0.5))))
    assert rows_of(find_objects(labels, document)) == ["55.11.55"]
    outside = Document(CLASSES).with_object(ObjectInfo(0, 5, anchors=((-1.0, 0.5), (2.5, 0.5))))
    assert rows_of(find_objects(labels, outside)) == ["11.22.33"]


def test_a_cut_severs_a_component_and_loses_no_pixel():
    labels = drawn("ccccc", "ccccc", "ccccc")
    cut = Stroke(((2.5, -1.0), (2.5, 4.0)), 0.5, None)
    found = find_objects(labels, replace(Document(CLASSES), cuts=(cut,)))
    assert found.keys == ((0, 1), (0, 2))
    assert (found.index_map > 0).all()
    assert (found.index_map[:, :2] == 1).all()
    assert (found.index_map[:, 3:] == 2).all()


def test_what_lies_under_a_cut_altogether_stays_an_object():
    labels = drawn("c.ccc")
    cut = Stroke(((0.5, 0.5),), 0.7, None)
    found = find_objects(labels, replace(Document(CLASSES), cuts=(cut,)))
    assert rows_of(found) == ["1.222"]


@given(st.floats(0, 40), st.floats(0, 40), st.floats(0, 40), st.floats(0, 40))
def test_every_line_across_a_square_severs_it(x, y, to_x, to_y):
    """However it is slanted: pixels that touch by a corner do not leak through."""
    if np.hypot(to_x - x, to_y - y) < 1:
        return
    way = np.array([to_x - x, to_y - y]) / np.hypot(to_x - x, to_y - y)
    ends = tuple(tuple(np.array([x, y]) + reach * way) for reach in (-90, 90))
    labels = np.zeros((40, 40), np.uint8)
    severed = replace(Document(CLASSES), cuts=(Stroke(ends, 0.5, None),))
    found = find_objects(labels, severed)
    rows, columns = np.indices(labels.shape) + 0.5
    side = (columns - x) * way[1] - (rows - y) * way[0]
    far = np.abs(side) > 1.5
    assert len(np.unique(found.index_map[(side > 0) & far])) <= 1
    assert len(np.unique(found.index_map[(side < 0) & far])) <= 1
    if (side[far] > 0).any() and (side[far] < 0).any():
        assert len(found.keys) == 2


def two_discs(distance):
    rows, columns = np.indices((50, 90)) + 0.5
    discs = [(columns - 25 - k * distance) ** 2 + (rows - 25) ** 2 < 20**2 for k in (0, 1)]
    return np.where(discs[0] | discs[1], 0, 2).astype(np.uint8)


def test_a_class_that_splits_cuts_at_necks():
    labels = two_discs(36)
    assert len(find_objects(labels, Document(CLASSES)).keys) == 1
    split = (replace(CLASSES[0], split=True), *CLASSES[1:])
    found = find_objects(labels, Document(split))
    assert len(found.keys) == 2
    assert found.at(25, 25) == (0, 1)
    assert found.at(61, 25) == (0, 2)


def test_a_cut_moves_the_neck():
    """Beside the narrowest place: the proposal gives way to the cut."""
    labels = two_discs(34)
    split = Document((replace(CLASSES[0], split=True), *CLASSES[1:]))
    cut = Stroke(((47.0, 0.0), (47.0, 50.0)), 0.5, None)
    found = find_objects(labels, replace(split, cuts=(cut,)))
    assert len(found.keys) == 2
    assert found.at(44, 25) != found.at(49, 25)


def test_joining_what_was_split():
    labels = two_discs(36)
    split = Document((replace(CLASSES[0], split=True), *CLASSES[1:]))
    joined = split.with_object(ObjectInfo(0, 1, anchors=((25.5, 25.5), (61.5, 25.5))))
    assert find_objects(labels, joined).keys == ((0, 1),)


def random_labels(rng, size=(12, 16)):
    return rng.integers(0, 3, size).astype(np.uint8)


@given(st.integers(0, 10_000))
def test_objects_cover_exactly_the_classes_that_are_no_background(seed):
    rng = np.random.default_rng(seed)
    labels = random_labels(rng)
    marks = tuple(
        dot(rng.integers(16), rng.integers(12), int(rng.integers(0, 4)), int(rng.integers(0, 2)))
        for _ in range(6)
    )
    cut = Stroke(((float(rng.integers(16)), 0.0), (float(rng.integers(16)), 12.0)), 0.5, None)
    found = find_objects(labels, Document(CLASSES, marks, cuts=(cut,)))
    assert ((found.index_map > 0) == (labels < 2)).all()
    classes = np.array([2, *(label for label, _ in found.keys)])
    assert (classes[found.index_map] == labels).all()
    assert len(set(found.keys)) == len(found.keys) == found.index_map.max()
    assert list(found.keys) == sorted(found.keys)
    # Each object has pixels, and so has the object of a mark that shows.
    for mark in marks:
        x, y = (int(value) for value in mark.points[0])
        on_top = [m for m in marks if m.points == mark.points][-1]
        if on_top is mark and labels[y, x] == mark.label and mark.object_number:
            assert found.at(x, y) == (mark.label, mark.object_number)


@pytest.mark.parametrize("seed", range(5))
def test_unmarked_labels_have_the_components_as_objects(seed):
    labels = random_labels(np.random.default_rng(seed))
    found = find_objects(labels, Document(CLASSES))
    for label in (0, 1):
        numbered, count = label_components(labels == label)
        assert count == sum(key[0] == label for key in found.keys)
        for number in range(1, count + 1):
            assert (found.pixels((label, number)) == (numbered == number)).all()


def test_parts_of_a_division_without_a_mark_go_to_the_nearest_object():
    inside = np.ones((1, 9), bool)
    seeds = np.array([[1, 0, 0, 0, 0, 0, 0, 0, 2]], np.int32)
    piece = SharedPiece((slice(0, 1), slice(0, 9)), inside, seeds, 2)
    found = np.array([[1, 1, 2, 2, 1, 1, 2, 2, 2]], np.int32)
    assert connected_objects(piece, found).tolist() == [[1, 1, 1, 1, 2, 2, 2, 2, 2]]
    assert set(nearest_object(piece)[0].tolist()) == {1, 2}


def test_the_inner_point_is_inside_where_it_is_deepest():
    mask = np.zeros((20, 30), bool)
    mask[5:8, 2:25] = True
    mask[2:13, 10:21] = True
    assert inner_point(mask) == (15.5, 7.5)
    assert inner_point(np.eye(3, dtype=bool)) == (0.5, 0.5)


def test_boundaries_are_between_objects_of_one_class():
    labels = drawn("ccccr", "ccccr")
    cut = Stroke(((1.5, -1.0), (1.5, 3.0)), 0.5, None)
    found = find_objects(labels, replace(Document(CLASSES), cuts=(cut,)))
    edges = touching_boundaries(found)
    assert edges.sum() == 2
    assert edges.any(axis=0).sum() == 1
    assert not edges[:, 3].any()  # the boundary of cell and rod


def two_halves(gap=0, light=(200, 130), noise=0.0):
    """A box without a neck, of two lights or with a dark line that its class covers."""
    rgb = np.full((40, 80, 3), 30.0)
    rgb[8:32, 10:40], rgb[8:32, 40:70] = light[0], light[1]
    rgb[8:32, 40 : 40 + gap] = 30
    rgb += np.random.default_rng(3).normal(0, noise, rgb.shape)
    labels = np.full((40, 80), 2, np.uint8)
    labels[8:32, 10:70] = 0
    return np.clip(rgb, 0, 255).astype(np.uint8), labels


@pytest.mark.parametrize("noise", [0.0, 8.0])
@pytest.mark.parametrize(("gap", "light"), [(0, (200, 130)), (2, (180, 180))])
def test_a_class_that_splits_cuts_at_edges_of_the_image(gap, light, noise):
    rgb, labels = two_halves(gap, light, noise)
    document = Document((replace(CLASSES[0], split=True), *CLASSES[1:]))
    assert len(find_objects(labels, document).keys) == 1
    found = find_objects(labels, document, rgb=rgb)
    assert found.keys == ((0, 1), (0, 2))
    assert (found.pixels((0, 1))[8:32, 10:38]).all()
    assert (found.pixels((0, 2))[8:32, 44:70]).all()
    assert len(find_objects(labels, Document(CLASSES), rgb=rgb).keys) == 1


def test_a_rough_inside_is_not_cut():
    rgb, labels = two_halves(light=(150, 150), noise=40.0)
    document = Document((replace(CLASSES[0], split=True), *CLASSES[1:]))
    assert len(find_objects(labels, document, rgb=rgb).keys) == 1
