import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.imaging.rasterise import rasterize, rasterize_marks
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from tests.segapp.strategies import documents


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((), 3.0, 0), "points: a stroke needs at least one"),
        ((((0.0, math.nan),), 3.0, 0), "points: wanted finite"),
        ((((0.0, 0.0),), 0.0, 0), "radius: wanted a positive number up to 1000000, got 0.0"),
        ((((0.0, 0.0),), math.inf, 0), "radius"),
        ((((0.0, 0.0),), 1.0, 0, (1.0, 1.0)), "pressures: wanted 1, one for each point, got 2"),
        ((((0.0, 0.0),), 1.0, 0, (-1.0,)), "pressures: wanted finite numbers"),
    ],
)
def test_impossible_strokes_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Stroke(*arguments)


def test_impossible_patches_are_refused():
    with pytest.raises(ValueError, match="wanted a size"):
        Patch(0, 0, 0, 3, b"", 0)
    with pytest.raises(ValueError, match="3 x 3 pixels, got 1 bytes"):
        Patch(0, 0, 3, 3, b"\0", 0)
    with pytest.raises(ValueError, match="at least one marked pixel"):
        Patch.of_mask(np.zeros((3, 3), bool), 0)


def test_a_stroke_of_an_unknown_class_is_refused():
    with pytest.raises(ValueError, match="label: wanted a class from 0 to 1, got 2"):
        Document().with_stroke(Stroke(((1.0, 1.0),), 2.0, 2))


def test_a_patch_is_its_mask():
    mask = np.random.default_rng(0).random((13, 17)) < 0.3
    patch = Patch.of_mask(mask, 1)
    back = np.zeros_like(mask)
    back[patch.top : patch.top + patch.height, patch.left : patch.left + patch.width] = (
        patch.mask()
    )
    assert (back == mask).all()


@settings(max_examples=50, deadline=None)
@given(documents(), st.data())
def test_deleting_a_class_takes_its_strokes_along(document, data):
    index = data.draw(st.integers(0, len(document.classes) - 1))
    if len(document.classes) == 2:
        with pytest.raises(ValueError, match="at least two must remain"):
            document.without_class(index)
        return
    after = document.without_class(index)
    named = [None if s.label is None else document.classes[s.label] for s in document.strokes]
    kept = [name for s, name in zip(document.strokes, named, strict=True) if s.label != index]
    assert [None if s.label is None else after.classes[s.label] for s in after.strokes] == kept


def test_editing_classes():
    blue = ClassInfo("sky", (0, 0, 255))
    document = Document().with_class(blue)
    assert document.classes[2] == blue
    assert document.with_class_changed(2, ClassInfo("sea", (0, 0, 99))).classes[2].name == "sea"
    assert not blue.is_background
    assert document.classes[1].is_background


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((((1e300, 0.0),), 3.0, 0), "points: wanted finite numbers from .*, got .1e.300, 0.0"),
        ((((0.0, 0.0),), 1e308, 0), "radius: wanted a positive number up to 1000000, got 1e.308"),
        ((((0.0, 0.0),), 1.0, 0, (1e300,)), "pressures: wanted finite numbers from 0 to 100"),
        ((((0.0, 0.0),), 10**400, 0), "radius: .* got a number of about 401 digits"),
    ],
)
def test_strokes_of_huge_numbers_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Stroke(*arguments)


@pytest.mark.parametrize("place", [(10**12, 0), (0, -(10**400))])
def test_a_patch_far_away_is_refused(place):
    with pytest.raises(ValueError, match="patch: wanted a place within"):
        Patch(*place, 1, 1, b"\x80", 0)


@pytest.mark.parametrize("colour", [(0, 0), (0, 0, 256), (0, -1, 0)])
def test_a_class_checks_its_colour(colour):
    with pytest.raises(ValueError, match="colour: wanted three numbers from 0 to 255"):
        ClassInfo("a", colour)


def test_a_class_name_that_no_file_can_hold_is_refused():
    with pytest.raises(ValueError, match="name: wanted whole characters"):
        ClassInfo("a\udcff", (0, 0, 0))


def test_more_classes_than_a_byte_holds_are_refused():
    """Class 299 became class 43, silently."""
    classes = tuple(ClassInfo(str(k), (0, 0, 0)) for k in range(256))
    with pytest.raises(ValueError, match="classes: wanted 2 to 255, got 256"):
        Document(classes)
    full = Document(classes[:255])
    with pytest.raises(ValueError, match="classes: wanted 2 to 255, got 256"):
        full.with_class(classes[0])
    with pytest.raises(ValueError, match="classes: wanted 2 to 255, got 1"):
        Document(classes[:1])


def test_a_document_cannot_be_built_with_a_stroke_of_no_class():
    with pytest.raises(ValueError, match="label: wanted a class from 0 to 1, got 5"):
        Document(strokes=(Stroke(((1.0, 1.0),), 2.0, 5),))


SIZE = (6, 9)


def document(n_classes, ground, rng):
    classes = [ClassInfo(f"class {k}", (k, k, k)) for k in range(n_classes)]
    if ground is not None:
        classes[ground] = ClassInfo("background", (9, 9, 9))
    labels = rng.integers(0, n_classes, SIZE).astype(np.uint8)
    codes = np.zeros(SIZE, np.uint32)
    start = InitialLabels.from_labelling(
        Labelling(labels, np.ones(SIZE, np.float32), codes, n_classes, 1), "a model"
    )
    strokes = [Stroke(((k + 0.5, 1.5),), 0.6, k) for k in range(n_classes)]
    retouch = Patch.of_mask(labels == labels[0, 0], int(labels[0, 0]))
    erased = Stroke(((2.5, 4.5),), 1.0, None)
    return Document(tuple(classes), tuple(strokes), start, (retouch, erased))


@given(st.data(), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_everything_keeps_the_class_that_it_had(data, n_classes, seed):
    ground = data.draw(st.none() | st.integers(0, n_classes - 1))
    index, place = (data.draw(st.integers(0, n_classes - 1)) for _ in range(2))
    before = document(n_classes, ground, np.random.default_rng(seed))
    after = before.with_class_moved(index, place)
    names = [info.name for info in before.classes]
    wanted = names[:index] + names[index + 1 :]
    wanted.insert(place, names[index])
    assert [info.name for info in after.classes] == wanted

    def named(doc, labels):
        return np.array([info.name for info in doc.classes] + [""])[labels]

    def seen(doc):
        return [
            named(doc, labels)
            for labels in (
                rasterize(doc, SIZE),
                rasterize_marks(doc.retouches, SIZE),
                doc.initial.labelling(n_classes).labels,
            )
        ]

    for one, other in zip(seen(before), seen(after), strict=True):
        np.testing.assert_array_equal(one, other)
    assert after.classes[after.background].name == names[before.background]
    back = after.with_class_moved(place, index)
    assert [info.name for info in back.classes] == names
    assert back.strokes == before.strokes
