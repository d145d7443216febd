"""Rendering of a labelling that replaces another one."""

from pathlib import Path

import numpy as np
import pytest

from segapp.imaging.overlay import ViewMode
from segapp.imaging.pyramid import upsample
from segapp.model.answer import Preview
from segapp.model.classes import TWO_CLASSES
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture
from segapp.qt.window.labelling_view import OverlayRenderer, RenderRequest, _render_preview

SIZE = (1100, 1300)


def labelling(labels):
    return Labelling(labels, labels.astype(np.float32), labels.astype(np.uint32), 2, 1)


def pixels(rendering):
    areas, lines = rendering.overlay.areas, rendering.overlay.lines
    return [
        *(areas._levels if areas is not None else []),
        *(lines._levels if lines is not None else []),
    ]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    "mode", [ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT]
)
def test_a_rendering_that_followed_is_one_made_anew(mode):
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    wish = RenderRequest(mode, TWO_CLASSES, Picture(rgb, None, Path("a.png"), "", ""), None)
    labels = np.ones(SIZE, np.uint8)
    labels[200:700, 300:900] = 0
    rendering = OverlayRenderer(wish, labelling(labels.copy()))
    for _ in range(3):
        top, left = rng.integers(0, 1000, 2)
        labels[top : top + 90, left : left + 90] ^= 1
        answer = labelling(labels.copy())
        assert rendering.fits(wish)
        rendering.update(answer)
        anew = OverlayRenderer(wish, answer)
        for followed, expected in zip(pixels(rendering), pixels(anew), strict=True):
            np.testing.assert_array_equal(followed, expected)


def test_views_of_more_than_labels_are_rendered_anew():
    wish = RenderRequest(ViewMode.CONFIDENCE, TWO_CLASSES, None, None)
    answer = labelling(np.zeros((9, 9), np.uint8))
    assert not OverlayRenderer(wish, answer).fits(wish)


class Unread:
    def __getitem__(self, box):
        raise AssertionError("these pixels are read")


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    "mode", [ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT]
)
def test_a_preview_shows_labels_and_makes_nothing_else(mode):
    """Margins and codes of a large picture, made for a look at labels, would take gigabytes."""
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    wish = RenderRequest(mode, TWO_CLASSES, Picture(rgb, None, Path("a.png"), "", ""), None)
    small = np.ones((-(-SIZE[0] // 8), -(-SIZE[1] // 8)), np.uint8)
    small[20:70, 30:90] = 0
    preview = Preview(Labelling(small, Unread(), Unread(), 2, 1), times=8)
    (rendered,) = _render_preview(wish, preview)
    assert rendered.is_preview
    if mode in (ViewMode.OUTLINE, ViewMode.CUTOUT):
        answer = OverlayRenderer(wish, labelling(np.ascontiguousarray(upsample(small, SIZE, 8))))
        for shown, expected in zip(pixels(rendered), pixels(answer), strict=True):
            np.testing.assert_array_equal(shown, expected)
