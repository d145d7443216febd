from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.model.classes import ClassInfo, ObjectInfo, ObjectMap
from segapp.model.document import Document, Stroke
from segapp.model.validation import SegappError
from tests.segapp.strategies import documents


def dot(label, number=0):
    return Stroke(((3.5, 4.5),), 2.0, label, object_number=number)


def test_marks_names_and_anchors_make_objects():
    document = Document(strokes=(dot(0), dot(0, 2), dot(1, 5)))
    document = document.with_object(ObjectInfo(0, 7, "cell"))
    assert document.object_keys() == {(0, 2), (1, 5), (0, 7)}
    assert [document.next_object(label) for label in (0, 1)] == [8, 6]
    assert document.object_info((0, 7)).name == "cell"
    assert document.object_info((0, 2)) == ObjectInfo(0, 2)


def test_details_that_say_nothing_are_not_kept():
    document = Document().with_object(ObjectInfo(0, 3, "cell"))
    assert document.with_object(ObjectInfo(0, 3)) == Document()


def test_an_object_moves_to_another_class_with_all_it_has():
    document = Document(strokes=(dot(0, 1), dot(0, 2), dot(0)))
    document = document.with_object(ObjectInfo(0, 1, "a", crowd=True, anchors=((1.0, 2.0),)))
    moved = document.with_object_moved((0, 1), (1, 4))
    assert tuple(moved.strokes) == (dot(1, 4), dot(0, 2), dot(0))
    assert moved.objects == (ObjectInfo(1, 4, "a", crowd=True, anchors=((1.0, 2.0),)),)


def test_merged_objects_have_the_anchors_of_both():
    document = Document(strokes=(dot(0, 1), dot(0, 2)))
    document = document.with_object(ObjectInfo(0, 1, "a", anchors=((1.0, 2.0),)))
    document = document.with_object(ObjectInfo(0, 2, occluded=True, anchors=((5.0, 6.0),)))
    merged = document.with_object_moved((0, 2), (0, 1))
    assert tuple(merged.strokes) == (dot(0, 1), dot(0, 1))
    both = ObjectInfo(0, 1, "a", occluded=True, anchors=((1.0, 2.0), (5.0, 6.0)))
    assert merged.objects == (both,)


@given(documents(), st.data())
def test_classes_that_move_take_their_objects_along(document, data):
    count = len(document.classes)
    index, target = (data.draw(st.integers(0, count - 1)) for _ in range(2))
    moved = document.with_class_moved(index, target)
    names = sorted((info.number, info.name) for info in document.objects)
    assert sorted((info.number, info.name) for info in moved.objects) == names
    assert moved.with_class_moved(target, index).object_keys() == document.object_keys()


def test_a_deleted_class_takes_its_objects_along():
    document = Document((*Document().classes, ClassInfo("cell", (1, 2, 3))))
    document = replace(document, strokes=(dot(0, 1), dot(2, 1)))
    document = document.with_object(ObjectInfo(0, 1, "a")).with_object(ObjectInfo(2, 1, "b"))
    left = document.without_class(0)
    assert left.object_keys() == {(1, 1)}
    assert left.objects == (ObjectInfo(1, 1, "b"),)


@pytest.mark.parametrize("wrong", [-1, 1_000_001])
def test_numbers_that_no_object_has_are_refused(wrong):
    with pytest.raises(SegappError, match="wanted a number from 0 to 1000000, got"):
        dot(0, wrong)
    with pytest.raises(SegappError, match="wanted 0 for a mark that erases"):
        dot(None, 3)
    with pytest.raises(SegappError, match="object: wanted a number"):
        ObjectInfo(0, wrong)


def test_an_object_is_described_once_and_of_a_class_that_is_there():
    for objects in ((ObjectInfo(0, 1), ObjectInfo(0, 1, "a")), (ObjectInfo(2, 1),)):
        with pytest.raises(SegappError, match="objects: wanted different ones of 2 classes"):
            Document(objects=objects)


def test_a_map_tells_the_object_of_a_pixel_and_the_pixels_of_objects():
    found = ObjectMap(np.array([[0, 1], [2, 2]], np.int32), ((0, 3), (1, 1)))
    assert found.at(0, 0) is None
    assert found.at(1, 0) == (0, 3)
    assert found.pixels((1, 1)).tolist() == [[False, False], [True, True]]
    assert found.pixels((1, 1), (0, 3)).tolist() == [[False, True], [True, True]]
    assert not found.pixels((1, 2)).any()


@given(documents())
def test_what_is_learnt_has_no_objects(document):
    alone = document.without_objects()
    assert not alone.divides_objects
    assert [replace(mark, object_number=0) for mark in document.strokes] == list(alone.strokes)
    assert alone.without_objects() is alone
    if document.strokes:  # linked as the marks themselves, so that a stroke copies no others
        more = document.with_stroke(dot(0, 5)).without_objects()
        assert more.strokes.after(alone.strokes) == (dot(0),)
        assert more.strokes.first(len(alone.strokes)) is alone.strokes
