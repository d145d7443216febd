import numpy as np
import pytest

from segapp.imaging.pyramid import MAX_WORKING_PIXELS, count_halvings, downsample, halve, upsample


def test_a_picture_is_halved_until_it_is_small_enough():
    assert count_halvings((1024, 1024, 3)) == 0
    assert count_halvings((1025, 1024)) == 1
    assert count_halvings((1501, 1400, 3)) == 1
    assert MAX_WORKING_PIXELS >= 751 * 700
    assert count_halvings((8700, 11600)) == 4


@pytest.mark.parametrize("shape", [(1, 1), (5, 4), (301, 87), (517, 520), (1026, 33)])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_halving_in_strips_averages_and_rounds_each_time(shape, count):
    rgb = np.random.default_rng(1).integers(0, 256, (*shape, 3)).astype(np.uint8)
    expected = rgb
    for _ in range(count):
        height, width = expected.shape[:2]
        odd = ((0, height % 2), (0, width % 2), (0, 0))
        whole = np.pad(expected, odd, mode="edge").astype(int)
        blocks = whole.reshape(whole.shape[0] // 2, 2, whole.shape[1] // 2, 2, 3)
        expected = ((blocks.sum(axis=(1, 3)) + 2) // 4).astype(np.uint8)
    np.testing.assert_array_equal(downsample(rgb, count), expected)


@pytest.mark.parametrize("shape", [(1, 1), (5, 4), (6, 7), (30, 20)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_means_of_blocks_are_those_of_their_pixels(shape, precision):
    image = np.random.default_rng(1).random((*shape, 2)).astype(precision)
    found = halve(image)
    assert found.dtype == precision
    for row, column in np.ndindex(found.shape[:2]):
        block = image[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        np.testing.assert_allclose(found[row, column], block.mean(axis=(0, 1)), rtol=1e-5)


def test_labels_double_back():
    doubled = upsample(np.array([[1, 2], [3, 4], [5, 6]]), (5, 3))
    np.testing.assert_array_equal(doubled[:, 0], [1, 1, 3, 3, 5])
    np.testing.assert_array_equal(doubled[0], [1, 1, 2])
