import numpy as np

from segapp.picture.pyramid import LARGEST_WORKING_SIZE, halved_marks, halvings, repeated


def test_halvings_average_blocks_until_small_enough():
    rgb = np.random.default_rng(1).integers(0, 256, (1501, 1400, 3)).astype(np.uint8)
    levels = halvings(rgb)
    assert [level.shape for level in levels] == [(1501, 1400, 3), (751, 700, 3)]
    assert levels[-1].shape[0] * levels[-1].shape[1] <= LARGEST_WORKING_SIZE
    np.testing.assert_allclose(
        levels[1][4, 7], rgb[8:10, 14:16].astype(float).mean(axis=(0, 1)), atol=0.5
    )
    np.testing.assert_allclose(
        levels[1][750, 7], rgb[1500:, 14:16].astype(float).mean(axis=(0, 1)), atol=0.5
    )


def test_marks_survive_halving_and_labels_double_back():
    marks = np.full((5, 4), -1, np.int16)
    marks[4, 3], marks[0, 1] = 0, 2
    np.testing.assert_array_equal(halved_marks(marks), [[2, -1], [-1, -1], [-1, 0]])
    small = np.array([[1, 2], [3, 4], [5, 6]])
    doubled = repeated(small, (5, 3))
    np.testing.assert_array_equal(doubled[:, 0], [1, 1, 3, 3, 5])
    np.testing.assert_array_equal(doubled[0], [1, 1, 2])
