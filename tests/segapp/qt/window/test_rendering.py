"""What the canvas shows of a labelling, when another one takes its place."""

from pathlib import Path

import numpy as np
import pytest

from segapp.qt.window.rendering import Rendering, Wish
from segapp.values.document import TWO_CLASSES
from segapp.values.labelling import Labelling
from segapp.values.overlay import ViewMode
from segapp.values.picture import Picture

SIZE = (1100, 1300)


def labelling(labels):
    return Labelling(labels, labels.astype(np.float32), labels.astype(np.uint32), 2, 1)


def pixels(rendering):
    areas, lines = rendering.sheet.areas, rendering.sheet.lines
    return [
        *(areas._levels if areas is not None else []),
        *(lines._pictures if lines is not None else []),
    ]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    "mode", [ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT]
)
def test_a_rendering_that_followed_is_one_made_anew(mode):
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    wish = Wish(mode, TWO_CLASSES, Picture(rgb, None, Path("a.png"), "", ""), None)
    labels = np.ones(SIZE, np.uint8)
    labels[200:700, 300:900] = 0
    rendering = Rendering(wish, labelling(labels.copy()))
    for _ in range(3):
        top, left = rng.integers(0, 1000, 2)
        labels[top : top + 90, left : left + 90] ^= 1
        answer = labelling(labels.copy())
        assert rendering.serves(wish)
        rendering.follow(answer)
        anew = Rendering(wish, answer)
        for followed, expected in zip(pixels(rendering), pixels(anew), strict=True):
            np.testing.assert_array_equal(followed, expected)


def test_what_shows_more_than_labels_is_made_anew():
    wish = Wish(ViewMode.CONFIDENCE, TWO_CLASSES, None, None)
    answer = labelling(np.zeros((9, 9), np.uint8))
    assert not Rendering(wish, answer).serves(wish)
