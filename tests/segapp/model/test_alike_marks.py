import numpy as np

from segapp.engine.suggestion import suggests_many_objects
from segapp.model.document import Document, Patch, Stroke

SIZE = (300, 400)


def dab(x, y, radius=3.0, label=0):
    return Stroke(((float(x), float(y)),), radius, label)


def discs(*places, radius=6):
    """Return an answer with small discs of the first class."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    labels = np.ones(SIZE, np.uint8)
    for column, row in places:
        labels[(x - column) ** 2 + (y - row) ** 2 < radius**2] = 0
    return labels


PLACES = [(50, 50), (200, 60), (300, 250)]


def test_three_small_marks_on_three_small_parts_are_many():
    marks = tuple(dab(*place) for place in PLACES)
    assert suggests_many_objects(Document(strokes=marks), discs(*PLACES))
    assert not suggests_many_objects(Document(strokes=marks[:2]), discs(*PLACES))


def test_marks_on_one_object_are_not_many():
    marks = tuple(dab(*place) for place in PLACES)
    labels = np.ones(SIZE, np.uint8)
    labels[20:280, 20:380] = 0
    assert not suggests_many_objects(Document(strokes=marks), labels)


def test_large_marks_and_marks_of_the_background_are_not_meant():
    large = tuple(dab(*place, radius=20.0) for place in PLACES)
    assert not suggests_many_objects(Document(strokes=large), discs(*PLACES))
    ground = tuple(dab(*place, label=1) for place in PLACES)
    assert not suggests_many_objects(Document(strokes=ground), 1 - discs(*PLACES))


def test_patches_count_as_marks():
    mask = np.zeros(SIZE, bool)
    mask[49:52, 49:52] = True
    marks = (Patch.of_mask(mask, 0), *(dab(*place) for place in PLACES[1:]))
    assert suggests_many_objects(Document(strokes=marks), discs(*PLACES))
