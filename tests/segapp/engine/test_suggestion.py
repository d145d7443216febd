import numpy as np
import pytest

from segapp.engine.suggestion import least_certain, suggests_many_objects
from segapp.model.document import Document, Patch, Stroke
from segapp.model.labelling import Labelling


def answer(margin):
    shape = margin.shape
    return Labelling(
        np.zeros(shape, np.uint8), margin.astype(np.float32), np.zeros(shape, np.uint32), 2, 5
    )


@pytest.mark.parametrize("size", [(120, 160), (61, 1000), (1500, 1100)])
@pytest.mark.parametrize("place", [(0.5, 0.5), (0.2, 0.8)])
def test_a_wide_uncertain_region_is_found(size, place):
    height, width = size
    rows, columns = np.mgrid[:height, :width]
    y, x = place[0] * height, place[1] * width
    reach = 0.08 * max(size)
    margin = np.where(np.hypot(rows - y, columns - x) < reach, 0.1, 2.0)
    spot = least_certain(answer(margin))
    assert np.hypot((spot.y - y) / reach, (spot.x - x) / reach) < 0.8


def test_a_blob_beats_the_uncertain_line_along_an_edge():
    margin = np.full((200, 300), 1.0)
    margin[:, 100:102] = 0.0
    margin[120:150, 220:250] = 0.2
    spot = least_certain(answer(margin))
    assert abs(spot.x - 235) < 12
    assert abs(spot.y - 135) < 12


def test_pixels_under_a_stroke_are_certain():
    margin = np.full((200, 300), 1.0)
    margin[20:60, 20:60] = 0.0
    margin[120:160, 220:260] = 0.1
    first = least_certain(answer(margin))
    margin[20:60, 20:60] = 50.0  # strokes hold the maximum
    second = least_certain(answer(margin))
    assert first.x < 80
    assert second.x > 200


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_an_even_margin_gives_no_suggestion(value):
    assert least_certain(answer(np.full((50, 60), value))) is None
    assert least_certain(answer(np.full((1, 1), value))) is None


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


def test_large_marks_and_marks_of_the_background_do_not_count():
    large = tuple(dab(*place, radius=20.0) for place in PLACES)
    assert not suggests_many_objects(Document(strokes=large), discs(*PLACES))
    ground = tuple(dab(*place, label=1) for place in PLACES)
    assert not suggests_many_objects(Document(strokes=ground), 1 - discs(*PLACES))


def test_patches_count_as_marks():
    mask = np.zeros(SIZE, bool)
    mask[49:52, 49:52] = True
    marks = (Patch.of_mask(mask, 0), *(dab(*place) for place in PLACES[1:]))
    assert suggests_many_objects(Document(strokes=marks), discs(*PLACES))
