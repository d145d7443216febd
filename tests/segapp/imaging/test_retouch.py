"""Retouches stay whatever is learnt, and teach nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.engine.trainer import segment
from segapp.imaging.rasterise import rasterize_marks
from segapp.imaging.retouch import (
    class_lock,
    component_at,
    component_fill,
    component_lock,
    retouch,
)
from segapp.imaging.seeds import SeedMap
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import ClassInfo
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
