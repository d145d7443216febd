import numpy as np

from segapp.engine.prior import border_of, with_border


def test_the_border_is_a_fiftieth_of_the_shorter_side_and_a_pixel_at_least():
    assert not border_of((200, 300))[4:-4, 4:-4].any()
    assert np.count_nonzero(border_of((200, 300))) == 200 * 300 - 192 * 292
    assert np.count_nonzero(border_of((10, 10))) == 36
    assert border_of((2, 9)).all()


def test_marks_on_the_border_stay_what_they_are():
    marked = np.full((5, 6), -1, np.int16)
    marked[0, 2], marked[2, 3] = 0, 0
    found = with_border(marked, 1)
    inside = found[1:-1, 1:-1]
    np.testing.assert_array_equal(inside, marked[1:-1, 1:-1])
    assert found[0, 2] == 0
    assert np.count_nonzero(found == 1) == 2 * 6 + 2 * 3 - 1
    assert (marked == -1).sum() == 28
