from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.imaging import overlay
from segapp.imaging.overlay import ViewMode, scale_bar, with_scale_bar
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture, Scale

RNG = np.random.default_rng(8)
SIZE = (40, 60)
THREE = (
    ClassInfo("a", (250, 100, 0)),
    ClassInfo("Background", (9, 9, 9)),
    ClassInfo("b", (0, 90, 200)),
)


def answer(labels, margin=None, codes=None):
    if margin is None:
        margin = np.linspace(0, 4, labels.size, dtype=np.float32).reshape(labels.shape)
    if codes is None:
        codes = RNG.integers(0, 32, labels.shape).astype(np.uint32)
    return Labelling(labels.astype(np.uint8), margin, codes, 3, 5)


@pytest.fixture
def labels():
    labels = np.ones(SIZE, int)
    labels[10:30, 10:30] = 0
    labels[5:15, 40:55] = 2
    return labels


def test_every_mode_is_an_rgba_picture_with_premultiplied_alpha(labels):
    rgb = RNG.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    alpha = RNG.integers(0, 256, SIZE, dtype=np.uint8)
    opacity = alpha[:, :, np.newaxis] / 255
    blended = np.rint(rgb * opacity + 255 * (1 - opacity)).astype(np.uint8)
    picture = Picture(blended, alpha, Path("a.png"), "", "")
    for mode in ViewMode:
        paint = overlay.overlay_painter(mode, answer(labels), THREE, picture)
        if mode in (ViewMode.OUTLINE, ViewMode.COMPONENTS):
            assert paint is None  # lines alone, or no answer at all
            continue
        rgba = paint((slice(None), slice(None)))
        part = (slice(7, 31), slice(11, 52))
        np.testing.assert_array_equal(paint(part), rgba[part])
        assert rgba.shape == (*SIZE, 4)
        assert rgba.dtype == np.uint8
        assert rgba.flags.c_contiguous
        assert (rgba[:, :, :3] <= rgba[:, :, 3:]).all(), mode


def test_overlay_tints_all_but_the_background(labels):
    rgba = overlay.overlay(labels, THREE, opacity=0.5)
    assert rgba[20, 20].tolist() == [125, 50, 0, 128]
    assert rgba[10, 50].tolist() == [0, 45, 100, 128]
    assert not rgba[labels == 1].any()


def test_the_mask_shows_what_is_exported(labels):
    two = overlay.mask(answer(np.minimum(labels, 1)), TWO_CLASSES)
    assert (two[:, :, 0] == np.where(labels == 0, 255, 0)).all()
    assert (two[:, :, 3] == 255).all()
    three = overlay.mask(answer(labels), THREE)
    colours = np.array([info.colour for info in THREE])
    assert (three[:, :, :3] == colours[labels]).all()


def test_the_cutout_is_the_picture_where_the_background_is_not(labels):
    rgb = RNG.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    picture = Picture(rgb, None, Path("a.png"), "", "")
    rgba = overlay.premultiplied_cutout(answer(labels), THREE, picture)
    assert (rgba[labels != 1, :3] == rgb[labels != 1]).all()
    assert (rgba[:, :, 3] == np.where(labels != 1, 255, 0)).all()
    assert not rgba[labels == 1].any()


def test_the_object_of_two_is_white_wherever_the_background_is(labels):
    two = overlay.mask(answer(np.minimum(labels, 1)), TWO_CLASSES[::-1])
    assert (two[:, :, 0] == np.where(labels == 0, 0, 255)).all()


def test_confidence_grows_brighter(labels):
    rgba = overlay.confidence(answer(labels)).astype(int)
    luminance = (rgba[:, :, :3] @ [0.2126, 0.7152, 0.0722]).ravel()
    assert (np.diff(luminance) >= -1).all()
    assert luminance[-1] - luminance[0] > 150


def test_strokes_far_above_the_rest_do_not_darken_the_confidence(labels):
    margin = np.linspace(0, 4, labels.size, dtype=np.float32).reshape(SIZE)
    usual = overlay.confidence(answer(labels, margin))
    margin = margin.copy()
    margin[-1, -10:] = 1e6
    assert np.abs(overlay.confidence(answer(labels, margin)).astype(int) - usual).max() <= 3


def test_confidence_of_nothing(labels):
    flat = overlay.confidence(answer(labels, np.zeros(SIZE, np.float32)))
    assert (flat == flat[0, 0]).all()


def test_codes_have_colours_of_their_own(labels):
    codes = (np.arange(labels.size) % 32).reshape(SIZE).astype(np.uint32)
    rgba = overlay.codes(answer(labels, codes=codes), THREE)
    colours = np.unique(np.column_stack([codes.ravel(), rgba.reshape(-1, 4)]), axis=0)
    assert len(colours) == 32
    distances = np.abs(colours[:, np.newaxis, 1:4].astype(int) - colours[:, 1:4]).max(axis=2)
    assert (distances + 99 * np.eye(32)).min() > 8
    few = overlay.codes(answer(labels, codes=np.full(SIZE, 5, np.uint32)), THREE)
    assert (few[0, 0] == rgba[0, 5]).all()


def test_only_tints_are_laid_over_the_image():
    over = {mode for mode in ViewMode if not mode.replaces_image}
    assert over == {ViewMode.OVERLAY, ViewMode.OUTLINE}


def test_long_codes_have_colours_too():
    codes = np.array([[0, 1], [2**31, 2**31 + 1]], np.uint32)
    labels = np.zeros((2, 2), np.uint8)
    long = Labelling(labels, np.zeros((2, 2), np.float32), codes, 2, 32)
    assert len(np.unique(overlay.codes(long, TWO_CLASSES).reshape(-1, 4), axis=0)) == 4


def test_codes_have_the_colour_of_the_nearest_codeword_and_darken_with_distance(labels):
    codewords = np.array([[[1, 1, 1, 1, 1]], [[0] * 5], [[-1, -1, -1, -1, -1]]], np.int8)
    codes = np.full(SIZE, 0b11111, np.uint32)
    codes[0, 1], codes[0, 2] = 0b11110, 0b00000
    rgba = overlay.codes(answer(labels, codes=codes), THREE, codewords)
    assert rgba[0, 0].tolist() == [*THREE[0].colour, 255]
    assert rgba[0, 2].tolist() == [*THREE[2].colour, 255]
    near = rgba[0, 1, :3].astype(int)
    assert near.sum() < sum(THREE[0].colour)
    assert near.argmax() == 0  # orange still, but darker
    assert overlay.codeword_distances(codes[0, :3], codewords).tolist() == [
        [0, 6, 5],
        [1, 6, 4],
        [5, 6, 0],
    ]


def test_long_codes_are_compared_with_codewords_too():
    codes = np.array([[2**32 - 1, 0]], np.uint32)
    long = Labelling(np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.float32), codes, 2, 32)
    words = np.stack([np.ones((1, 32), np.int8), -np.ones((1, 32), np.int8)])
    rgba = overlay.codes(long, TWO_CLASSES, words)
    assert [row.tolist() for row in rgba[0, :, :3]] == [list(c.colour) for c in TWO_CLASSES]


@given(st.floats(1e-6, 1e6), st.integers(10, 100_000))
def test_a_bar_is_round_and_between_a_twelfth_and_a_fifth_of_the_width(pixel, width):
    bar = scale_bar(Scale(pixel, "µm"), width)
    assert width / 12.6 <= bar.pixels <= width / 5 * (1 + 1e-6)
    length = float(bar.text.removesuffix(" µm"))
    assert length == pytest.approx(bar.pixels * pixel)
    assert f"{length:.0e}"[0] in "125"


def test_the_drawn_bar_has_its_length():
    drawn = with_scale_bar(np.zeros((300, 400, 3), np.uint8), Scale(0.5, "mm"))
    white = (drawn == 255).all(axis=2)
    runs = [np.diff(np.flatnonzero(np.diff(np.r_[0, row.astype(int), 0])))[::2] for row in white]
    longest = max(int(run.max(initial=0)) for run in runs)
    assert longest == scale_bar(Scale(0.5, "mm"), 400).pixels == 40
    assert not white[:200].any()
