import numpy as np
import pytest

from segapp.engine.suggestion import least_certain
from segapp.model.labelling import Labelling


def answer(margin):
    shape = margin.shape
    return Labelling(
        np.zeros(shape, np.uint8), margin.astype(np.float32), np.zeros(shape, np.uint32), 2, 5
    )


@pytest.mark.parametrize("size", [(120, 160), (61, 1000), (1500, 1100)])
@pytest.mark.parametrize("place", [(0.5, 0.5), (0.2, 0.8)])
def test_a_broad_doubt_is_found(size, place):
    height, width = size
    rows, columns = np.mgrid[:height, :width]
    y, x = place[0] * height, place[1] * width
    reach = 0.08 * max(size)
    margin = np.where(np.hypot(rows - y, columns - x) < reach, 0.1, 2.0)
    spot = least_certain(answer(margin))
    assert np.hypot((spot.y - y) / reach, (spot.x - x) / reach) < 0.8


def test_a_blob_beats_the_thin_doubt_along_an_edge():
    margin = np.full((200, 300), 1.0)
    margin[:, 100:102] = 0.0
    margin[120:150, 220:250] = 0.2
    spot = least_certain(answer(margin))
    assert abs(spot.x - 235) < 12
    assert abs(spot.y - 135) < 12


def test_where_a_stroke_has_been_there_is_no_more_doubt():
    margin = np.full((200, 300), 1.0)
    margin[20:60, 20:60] = 0.0
    margin[120:160, 220:260] = 0.1
    first = least_certain(answer(margin))
    margin[20:60, 20:60] = 50.0  # strokes hold the maximum
    second = least_certain(answer(margin))
    assert first.x < 80
    assert second.x > 200


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_when_all_is_alike_there_is_nothing_to_ask(value):
    assert least_certain(answer(np.full((50, 60), value))) is None
    assert least_certain(answer(np.full((1, 1), value))) is None
