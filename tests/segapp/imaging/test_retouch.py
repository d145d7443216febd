"""Retouches stay whatever is learnt, and teach nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.engine.trainer import segment
from segapp.imaging.objects import find_objects, shaded_labels, touching_pairs
from segapp.imaging.rasterise import rasterize_marks
from segapp.imaging.retouch import (
    class_lock,
    component_at,
    component_fill,
    component_lock,
    keys_along,
    object_under,
    retouch,
    with_accepted,
    with_cut,
    with_joined,
    with_moved,
    with_numbers,
    without_objects,
)
from segapp.imaging.seeds import SeedMap
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import ClassInfo, ObjectInfo, ObjectMap
from segapp.model.document import Document, Patch, Stroke
from segapp.model.labelling import Labelling
from segapp.model.settings import DEFAULT_SETTINGS
from tests.segapp import strategies

SIZE = (20, 30)
STROKES = (Stroke(((5.5, 10.5),), 2.0, 0), Stroke(((25.5, 10.5),), 2.0, 1))


def halves():
    rgb = np.full((*SIZE, 3), (200, 40, 40), np.uint8)
    rgb[:, 15:] = (40, 40, 200)
    return rgb


def labelling(labels):
    empty = np.zeros(labels.shape)
    return Labelling(labels, empty.astype(np.float32), empty.astype(np.uint32), 2, 1)


def retouched(labels, *marks):
    return retouch(labelling(labels), SeedMap.empty(labels.shape).with_marks(marks)).labels


@given(st.data())
def test_all_retouches_are_painted_in_their_order_at_any_size(data):
    marks = data.draw(
        st.lists(st.one_of(strategies.strokes(2), strategies.patches(2)), max_size=5)
    )
    labels = np.arange(SIZE[0] * SIZE[1], dtype=np.uint8).reshape(SIZE) % 2
    painted = rasterize_marks(marks, SIZE)
    for times in (1, 2, 4):
        small, some = labels[::times, ::times], painted[::times, ::times]
        seeds = SeedMap.empty(SIZE, times).with_marks(marks)
        found = retouch(labelling(small), seeds, times).labels
        np.testing.assert_array_equal(found, np.where(some >= 0, some, small))


def test_the_answer_is_learnt_without_and_painted_with_retouches():
    plain = segment(halves(), Document(strokes=STROKES), DEFAULT_SETTINGS)
    spot = Stroke(((25.5, 3.5),), 2.0, 0)
    document = Document(strokes=STROKES).with_retouch(spot)
    answer = segment(halves(), document, DEFAULT_SETTINGS)
    painted = rasterize_marks([spot], SIZE) == 0
    assert (answer.labels[painted] == 0).all()
    assert (answer.labels[~painted] == plain.labels[~painted]).all()
    assert (plain.labels[painted] == 1).all()


def test_erasing_a_retouch_shows_the_answer_again():
    labels = np.zeros(SIZE, np.uint8)
    marks = (Stroke(((10.0, 10.0),), 5.0, 1), Stroke(((10.0, 10.0),), 50.0, None))
    assert (retouched(labels, *marks) == 0).all()


def test_a_lock_holds_against_later_strokes():
    document = Document(strokes=STROKES)
    before = segment(halves(), document, DEFAULT_SETTINGS).labels
    locked = document.with_retouch(class_lock(before, 0))
    more = locked.with_stroke(Stroke(((11.5, 3.5),), 3.0, 1))
    after = segment(halves(), more, DEFAULT_SETTINGS).labels
    assert (after[before == 0] == 0).all()


def test_parts_are_distinguished_by_the_pixel_below():
    labels = np.zeros((6, 9), np.uint8)
    labels[1:3, 1:3] = labels[1:3, 6:8] = 1
    assert component_at(labels, 1, 1).sum() == 4
    patch = component_fill(labels, 6, 1, 0)
    assert (patch.left, patch.top, patch.width, patch.height) == (6, 1, 2, 2)
    assert retouched(labels, patch).sum() == 4
    assert component_lock(labels, 1, 1).label == 1


def test_deleting_a_class_takes_its_retouches_along():
    classes = tuple(ClassInfo(name, (0, 0, 0)) for name in ("a", "b", "c"))
    marks = tuple(Stroke(((1.0, 1.0),), 1.0, label) for label in (0, 1, 2, None))
    left = Document(classes, (), None, marks).without_class(1)
    assert [mark.label for mark in left.retouches] == [0, 1, None]


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match="label: wanted a class from 0 to 1, got 2"):
        Document().with_retouch(Stroke(((1.0, 1.0),), 1.0, 2))


@settings(max_examples=30, deadline=None)
@given(marks=st.lists(st.one_of(strategies.strokes(), strategies.patches()), max_size=4))
def test_a_project_keeps_them(tmp_path_factory, marks):
    path = tmp_path_factory.mktemp("project") / "a.segapp"
    document = replace(Document(strokes=STROKES), retouches=tuple(marks))
    save_project(path, Project(document, DEFAULT_SETTINGS, path.with_suffix(".png"), ""))
    assert load_project(path).document == document


def test_a_patch_retouches_too():
    mask = np.zeros(SIZE, bool)
    mask[2:4, 2:4] = True
    labels = np.zeros(SIZE, np.uint8)
    assert retouched(labels, Patch.of_mask(mask, 1)).sum() == 4


CLASSES = tuple(
    ClassInfo(name, colour)
    for name, colour in (
        ("cell", (230, 159, 0)),
        ("rod", (0, 114, 178)),
        ("background", (0, 0, 0)),
    )
)
LABELS = np.full((20, 60), 2, np.uint8)
LABELS[5:15, 2:12] = LABELS[5:15, 20:50] = 0  # a small and a long cell
LABELS[5:15, 54:58] = 1


def line(*points, number=0, label=0):
    return Stroke(tuple(points), 1.0, label, object_number=number)


def cut(x):
    return Stroke(((float(x), 0.0), (float(x), 20.0)), 0.75, None)


def found_in(document):
    return find_objects(LABELS, document)


PLAIN = Document(
    CLASSES, (line((5.5, 10.5)), line((25.5, 10.5), (30.5, 10.5)), line((45.5, 10.5)))
)


def test_earlier_marks_get_the_numbers_of_the_objects_that_they_lie_in():
    numbered = with_numbers(PLAIN, found_in(PLAIN), 0)
    assert [mark.object_number for mark in numbered.strokes] == [1, 2, 2]
    assert with_numbers(numbered, found_in(numbered), 0) == numbered
    assert with_numbers(PLAIN, found_in(PLAIN), 1) == PLAIN


def test_a_mark_goes_on_with_the_object_that_most_of_it_lies_in():
    found = found_in(PLAIN)
    assert object_under(line((25.5, 10.5)), found, 0) == (0, 2)
    assert object_under(line((16.5, 2.5)), found, 0) is None
    assert object_under(line((56.5, 10.5)), found, 0) is None  # of another class


def test_accepted_objects_keep_their_numbers_when_others_come():
    accepted = with_accepted(PLAIN, found_in(PLAIN), 0)
    assert found_in(accepted).keys == ((0, 1), (0, 2), (1, 1))
    labels = LABELS.copy()
    labels[0:2, 0:2] = 0
    assert find_objects(labels, accepted).at(5, 10) == (0, 1)
    assert find_objects(labels, accepted).at(1, 1) == (0, 3)


def test_joined_objects_are_one_wherever_they_lie():
    joined = with_joined(PLAIN, found_in(PLAIN), [(0, 1), (0, 2)])
    found = found_in(joined)
    assert found.keys == ((0, 1), (1, 1))
    assert found.at(5, 10) == found.at(40, 10) == (0, 1)


def test_the_object_that_is_held_gives_joined_ones_its_number():
    held = PLAIN.with_object(ObjectInfo(0, 7, "big", anchors=((40.5, 10.5),)))
    joined = with_joined(held, found_in(held), list(found_in(held).keys[:2]))
    assert [key for key in found_in(joined).keys if key[0] == 0] == [(0, 7)]
    assert joined.object_info((0, 7)).name == "big"


def test_a_cut_makes_two_of_an_object_that_nothing_holds():
    severed = with_cut(PLAIN, found_in(PLAIN), cut(35))
    found = found_in(severed)
    assert severed.objects == ()
    assert [key for key in found.keys if key[0] == 0] == [(0, 1), (0, 2), (0, 3)]
    assert found.at(25, 10) != found.at(45, 10)


def test_the_largest_piece_keeps_the_number_and_marks_go_to_their_sides():
    marks = (line((22.5, 10.5), number=4), line((45.5, 10.5), (48.5, 10.5), number=4))
    document = Document(CLASSES, marks)
    severed = with_cut(document, found_in(document), cut(42))
    found = found_in(severed)
    assert found.at(25, 10) == (0, 4)
    assert found.at(47, 10) == (0, 5)
    assert [mark.object_number for mark in severed.strokes] == [4, 5]


def test_a_mark_on_both_sides_of_a_cut_joins_them_no_more():
    document = Document(CLASSES, (line((22.5, 10.5), (48.5, 10.5), number=4),))
    severed = with_cut(document, found_in(document), cut(42))
    assert [mark.object_number for mark in severed.strokes] == [0]
    found = found_in(severed)
    assert found.at(25, 10) == (0, 4)
    assert found.at(47, 10) == (0, 5)


def test_a_cut_beside_a_part_behind_a_pole_leaves_the_parts_joined():
    marks = (line((5.5, 10.5), number=4), line((25.5, 10.5), number=4))
    document = Document(CLASSES, marks)
    severed = with_cut(document, found_in(document), cut(42))
    found = found_in(severed)
    assert found.at(5, 10) == found.at(25, 10) == (0, 4)
    assert found.at(47, 10) == (0, 5)


def test_a_line_that_severs_nothing_changes_no_object():
    document = Document(CLASSES, (line((22.5, 10.5), number=4),))
    beside = with_cut(document, found_in(document), cut(16))
    assert found_in(beside).keys == found_in(document).keys
    inside = with_cut(
        document, found_in(document), Stroke(((25.0, 8.0), (40.0, 12.0)), 0.75, None)
    )
    assert inside.object_info((0, 4)).anchors == ()
    assert found_in(inside).keys == found_in(document).keys


def test_keys_along_a_line():
    found = found_in(PLAIN)
    assert keys_along(Stroke(((0.0, 10.0), (60.0, 10.0)), 0.75, None), found) == list(found.keys)
    assert keys_along(cut(16), found) == []


def test_a_moved_object_is_marked_as_its_new_class():
    document = PLAIN.with_object(ObjectInfo(0, 1, "a", anchors=((5.5, 10.5),)))
    moved = with_moved(document, found_in(document), (0, 1), 1)
    assert moved.object_info((1, 1)).name == "a"
    assert (1, 1) in moved.object_keys()
    assert (0, 1) not in moved.object_keys()
    (mark,) = moved.retouches
    assert isinstance(mark, Patch)
    assert (mark.label, mark.left, mark.width) == (1, 2, 10)
    labels, own = LABELS.copy(), found_in(document).pixels((0, 1))
    labels[own] = 1
    assert (find_objects(labels, moved).pixels((1, 1)) == own).all()


def test_deleted_objects_are_retouched_as_background():
    numbered = with_numbers(PLAIN, found_in(PLAIN), 0)
    left = without_objects(numbered, found_in(numbered), [(0, 1), (0, 2)])
    assert left.object_keys() == set()
    assert not left.strokes
    (mark,) = left.retouches
    box = np.s_[mark.top : mark.top + mark.height, mark.left : mark.left + mark.width]
    assert mark.label == 2
    assert (mark.mask() == found_in(numbered).pixels((0, 1), (0, 2))[box]).all()


@given(st.integers(0, 10_000))
def test_any_series_of_edits_leaves_each_pixel_with_one_object(seed):
    rng = np.random.default_rng(seed)
    document = replace(PLAIN, classes=(replace(CLASSES[0], split=bool(seed % 2)), *CLASSES[1:]))
    for _ in range(6):
        found = find_objects(LABELS, document)
        keys = [key for key in found.keys if key[0] == 0]
        kind = rng.integers(5)
        if kind == 0:
            document = with_accepted(document, found, 0)
        elif kind == 1 and len(keys) > 1:
            document = with_joined(document, found, keys[: int(rng.integers(2, len(keys) + 1))])
        elif kind == 2:
            document = with_cut(document, found, cut(rng.integers(20, 50)))
        elif kind == 3:
            document = with_numbers(document, found, 0)
        else:
            x = float(rng.integers(20, 50))
            number = document.next_object(0)
            document = document.with_stroke(line((x + 0.5, 10.5), number=number))
        after = find_objects(LABELS, document)
        assert ((after.index_map > 0) == (LABELS < 2)).all()
        assert len(set(after.keys)) == len(after.keys)


def test_cutting_and_joining_again_gives_the_object_back():
    document = with_accepted(PLAIN, found_in(PLAIN), 0)
    severed = with_cut(document, found_in(document), cut(35))
    both = [found_in(severed).at(25, 10), found_in(severed).at(45, 10)]
    joined = with_joined(severed, found_in(severed), both)
    assert found_in(joined).keys == found_in(document).keys
    assert (found_in(joined).index_map == found_in(document).index_map).all()


def test_touching_objects_have_different_shades_and_all_have_their_class():
    rng = np.random.default_rng(3)
    index_map = np.kron(rng.permutation(24).reshape(4, 6) + 1, np.ones((5, 5), int))
    keys = tuple((place % 2, place + 1) for place in range(24))
    found = ObjectMap(index_map.astype(np.int32), keys)
    labels = np.array([2, *(key[0] for key in keys)], np.uint8)[index_map]
    shaded = shaded_labels(labels, found, CLASSES)
    assert shaded.classes[:3] == CLASSES
    names = [info.name for info in shaded.classes]
    for place, shade in enumerate(shaded.shades):
        assert names[shade] == CLASSES[keys[place][0]].name
    same = [
        (one, other)
        for one, other in touching_pairs(found.index_map)
        if keys[one - 1][0] == keys[other - 1][0]
    ]
    different = sum(shaded.shades[one - 1] != shaded.shades[other - 1] for one, other in same)
    assert different == len(same)
    assert len({info.colour for info in shaded.classes if info.name == "cell"}) == 6
