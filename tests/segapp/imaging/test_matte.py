"""Mattes: soft in a band, hard elsewhere, free of the old background, and without seams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.imaging import matting as module
from segapp.imaging.matting import default_band_width, soft_edge

FRONT, BACK = np.array([0.85, 0.45, 0.1]), np.array([0.1, 0.45, 0.8])


def finished(steps):
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def scene(size=(60, 80), softness=6.0):
    """Return a soft disc before a flat ground, and its true alpha."""
    y, x = np.mgrid[: size[0], : size[1]]
    distance = np.hypot(x - size[1] / 2, y - size[0] / 2)
    truth = np.clip(0.5 + (0.3 * size[0] - distance) / softness, 0, 1)
    seen = truth[..., None] * FRONT + (1 - truth[..., None]) * BACK
    return np.rint(255 * seen).astype(np.uint8), truth


def test_a_blurred_edge_is_found_and_carries_no_halo():
    rgb, truth = scene()
    matte = finished(soft_edge(rgb, truth > 0.5, 8.0))
    assert np.abs(matte.alpha / 255 - truth).max() < 0.1
    inside = matte.alpha > 25
    assert np.abs(matte.rgb[inside] / 255 - FRONT).max() < 0.1


def test_far_from_the_outline_nothing_changes():
    rgb, truth = scene()
    mask = truth > 0.5
    matte = finished(soft_edge(rgb, mask, 4.0))
    assert (matte.alpha[truth == 0][-50:] == 0).all()
    assert matte.alpha[30, 40] == 255
    assert (matte.rgb[30, 40] == rgb[30, 40]).all()
    assert (matte.rgb[matte.alpha == 0] == 0).all()
    assert (matte.rgb[matte.alpha == 255] == rgb[matte.alpha == 255]).all()


def test_hard_is_the_mask():
    rgb, truth = scene()
    matte = finished(soft_edge(rgb, truth > 0.5, 0.0))
    assert (matte.alpha == 255 * (truth > 0.5)).all()


def test_tiles_leave_no_seam(monkeypatch):
    rgb, truth = scene((150, 170))
    whole = finished(soft_edge(rgb, truth > 0.5, 5.0))
    monkeypatch.setattr(module, "_TILE", 40)
    tiled = finished(soft_edge(rgb, truth > 0.5, 5.0))
    assert np.abs(whole.alpha.astype(int) - tiled.alpha).max() <= 3
    assert np.abs(whole.rgb.astype(int) - tiled.rgb)[whole.alpha > 10].max() <= 6


@settings(max_examples=25, deadline=None)
@given(
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    seed=st.integers(0, 1000),
    band=st.sampled_from([0.0, 1.0, 3.0, 50.0]),
)
def test_any_mask_of_any_size_has_a_matte(height, width, seed, band):
    rng = np.random.default_rng(seed)
    rgb = rng.integers(0, 256, (height, width, 3), np.uint8)
    mask = rng.random((height, width)) < rng.choice([0.0, 0.3, 0.9, 1.0])
    matte = finished(soft_edge(rgb, mask, band))
    assert matte.alpha.shape == mask.shape
    assert matte.rgb.shape == rgb.shape
    if mask.all() or not mask.any():
        assert (matte.alpha == 255 * mask).all()


def test_a_width_that_is_none_is_refused():
    rgb, truth = scene()
    with pytest.raises(ValueError, match="width: wanted 0 to 200 pixels, got -1"):
        finished(soft_edge(rgb, truth > 0.5, -1))


def test_the_usual_band_grows_with_the_picture():
    assert default_band_width((10, 10)) == 5
    assert default_band_width((9000, 12000)) == 40
