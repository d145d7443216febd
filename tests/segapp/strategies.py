"""Strokes and documents for property tests."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document, Patch, Stroke

numbers = st.floats(-20, 40, allow_nan=False)
points = st.tuples(numbers, numbers)


@st.composite
def strokes(draw, n_classes=2):
    path = tuple(draw(st.lists(points, min_size=1, max_size=5)))
    pressures = draw(
        st.one_of(
            st.just(()),
            st.lists(st.floats(0, 3), min_size=len(path), max_size=len(path)).map(tuple),
        )
    )
    label = draw(st.one_of(st.none(), st.integers(0, n_classes - 1)))
    radius = draw(st.floats(0.1, 12))
    number = 0 if label is None else draw(st.integers(0, 3))
    return Stroke(path, radius, label, pressures, object_number=number)


@st.composite
def patches(draw, n_classes=2):
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    mask = np.zeros((25, 25), bool)
    top, left = draw(st.integers(0, 24)), draw(st.integers(0, 24))
    mask[top : top + height, left : left + width] = True
    return Patch.of_mask(mask, draw(st.one_of(st.none(), st.integers(0, n_classes - 1))))


@st.composite
def documents(draw):
    colours = st.tuples(*[st.integers(0, 255)] * 3)
    # Surrogates cannot be written as UTF-8, and no widget gives them.
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    classes = draw(st.lists(st.builds(ClassInfo, names, colours), min_size=2, max_size=5))
    marks = st.one_of(strokes(len(classes)), patches(len(classes)))
    document = Document(tuple(classes), tuple(draw(st.lists(marks, max_size=6))))
    for info in draw(st.lists(object_infos(len(classes)), max_size=4)):
        document = document.with_object(info)
    return replace(document, cuts=tuple(draw(st.lists(strokes(), max_size=2))))


def object_infos(n_classes):
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    anchors = st.lists(points, max_size=3).map(tuple)
    numbers = st.integers(1, 4)
    labels = st.integers(0, n_classes - 1)
    return st.builds(ObjectInfo, labels, numbers, names, st.booleans(), st.booleans(), anchors)
