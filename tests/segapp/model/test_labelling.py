"""An answer before the strokes: packed, unpacked, moved between classes, refused when damaged."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels, Labelling

RNG = np.random.default_rng(3)


def answer(size=(37, 300), n_classes=3):
    labels = RNG.integers(0, n_classes, size, dtype=np.uint8)
    margin = RNG.random(size, dtype=np.float32) * 5
    return Labelling(labels, margin, np.zeros(size, np.uint32), n_classes, 4)


def test_labels_come_back_exactly_and_the_margin_roughly():
    given = answer()
    start = InitialLabels.from_labelling(given, "cat.jpg")
    back = start.labelling(3)
    assert (back.labels == given.labels).all()
    seen = given.margin[::2, ::2] / given.margin[::2, ::2].max()
    assert np.abs(back.margin[::2, ::2] - seen).max() < 0.01
    assert start == InitialLabels.from_labelling(given, "cat.jpg")
    assert hash(start) == hash(InitialLabels.from_labelling(given, "cat.jpg"))


def test_classes_move_with_the_document():
    given = answer()
    classes = tuple(ClassInfo(name, (0, 0, 0)) for name in ("a", "b", "background"))
    document = Document(classes, initial=InitialLabels.from_labelling(given, "x"))
    kept = document.without_class(0)
    labels = kept.initial.pixels()
    assert (labels[given.labels == 1] == 0).all()
    assert (labels[given.labels != 1] == 1).all()  # what is gone is background
    assert document.without_marks().initial is None


@pytest.mark.parametrize(
    "spoil",
    [
        {"labels": b"none"},
        {"width": 301},
        {"width": 299},
        {"n_classes": 2},
        {"margin": b""},
    ],
)
def test_damaged_bytes_are_reported(spoil):
    start = replace(InitialLabels.from_labelling(answer(), "x"), **spoil)
    with pytest.raises(ValueError, match="start: "):
        start.labelling(3)


def test_a_start_of_more_classes_than_there_are_is_refused():
    with pytest.raises(ValueError, match="start: wanted 2 classes, got 3"):
        Document(initial=InitialLabels.from_labelling(answer(), "x"))
