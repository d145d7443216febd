import numpy as np
import pytest
from skimage.color import rgb2lab

from segapp.imaging.colour import default_classes, rgb_to_lab, unused_colour
from segapp.model.classes import PALETTE, TWO_CLASSES


def many(count):
    colours = []
    for _ in range(count):
        colours.append(unused_colour(colours))
    return colours


def test_the_palette_comes_first_and_then_ever_new_colours():
    colours = many(30)
    assert tuple(colours[: len(PALETTE)]) == PALETTE
    assert len(set(colours)) == 30
    assert colours == many(30)


def test_two_dozen_colours_stay_apart_for_the_eye():
    lab = rgb2lab(np.array(many(24), float)[None] / 255)[0]
    apart = np.linalg.norm(lab[:, None] - lab, axis=2) + 999 * np.eye(24)
    assert apart.min() > 18


def test_lab_is_that_of_scikit_image_to_the_bit():
    rgb = np.random.default_rng(0).integers(0, 256, (90, 120, 3)).astype(np.uint8)
    np.testing.assert_array_equal(rgb_to_lab(rgb), rgb2lab(rgb))
    np.testing.assert_array_equal(rgb_to_lab(rgb / 300), rgb2lab(rgb / 300))


def test_the_usual_colours_stay_where_they_are_seen():
    grey = np.full((300, 400, 3), 128, np.uint8)
    assert default_classes(grey) == TWO_CLASSES


@pytest.mark.parametrize("index", range(2))
def test_a_colour_of_the_picture_itself_is_passed_over(index):
    usual = TWO_CLASSES[index].colour
    rgb = np.full((300, 400, 3), 60, np.uint8)
    rgb[100:200, 100:200] = usual
    classes = default_classes(rgb)
    assert classes[index].colour != usual
    assert classes[1 - index].colour == TWO_CLASSES[1 - index].colour
    assert [info.name for info in classes] == [info.name for info in TWO_CLASSES]
    apart = np.linalg.norm(
        np.subtract(*rgb_to_lab(np.array([classes[index].colour, usual], np.uint8)))
    )
    assert apart > 30
    used = [info.colour for info in classes]
    assert unused_colour(used, rgb) not in {usual, *used}


def test_the_rarest_colour_is_taken_where_all_occur():
    rgb = np.repeat(np.array(PALETTE, np.uint8), [40, 40, 10, 40, 40, 40, 40, 40], axis=0)[None]
    first, second = (info.colour for info in default_classes(rgb))
    assert PALETTE[2] in (first, second)
    assert first != second
