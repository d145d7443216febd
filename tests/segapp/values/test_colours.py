import numpy as np
from skimage.color import rgb2lab

from segapp.values.colours import unused_colour
from segapp.values.document import PALETTE


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
