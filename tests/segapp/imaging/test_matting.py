"""Mattes: soft in a band, hard elsewhere, free of the old background, and without seams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter, uniform_filter

from segapp.imaging import matting
from segapp.imaging import matting as module
from segapp.imaging.matting import (
    BoxMeans,
    _depth,
    closed_form_alpha,
    colour_prior,
    default_band_width,
    matting_laplacian,
    neighbour_offsets,
    soft_edge,
)

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


EPSILON = 1e-7


def laplacian(rgb):
    """Levin's formula, window by window and pair by pair."""
    height, width, _ = rgb.shape
    matrix = np.zeros((height * width,) * 2)
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            members = [(y + a) * width + x + b for a in (-1, 0, 1) for b in (-1, 0, 1)]
            colours = rgb.reshape(-1, 3)[members]
            mean = colours.mean(axis=0)
            spread = np.cov(colours.T, bias=True) + EPSILON / 9 * np.eye(3)
            inverse = np.linalg.inv(spread)
            for i, a in enumerate(members):
                for j, b in enumerate(members):
                    tie = (colours[i] - mean) @ inverse @ (colours[j] - mean)
                    matrix[a, b] += (a == b) - (1 + tie) / 9
    return matrix


@pytest.mark.parametrize("seed", range(4))
def test_it_minimises_the_quadratic_form(seed):
    rng = np.random.default_rng(seed)
    rgb, guess = rng.random((7, 9, 3)), rng.random((7, 9))
    unknown = rng.random((7, 9)) < 0.6
    matrix, free = laplacian(rgb), unknown.ravel()
    left = matrix[np.ix_(free, free)] + 0.01 * np.eye(free.sum())
    right = 0.01 * guess[unknown] - matrix[np.ix_(free, ~free)] @ guess[~unknown]
    filled = closed_form_alpha(rgb, guess, unknown, 0.01)
    assert filled[unknown] == pytest.approx(np.clip(np.linalg.solve(left, right), 0, 1), abs=1e-6)
    assert (filled[~unknown] == guess[~unknown]).all()


def test_two_flat_colours_give_the_mixture_back():
    truth = np.linspace(-1, 2, 24).clip(0, 1) * np.ones((9, 1))
    rgb = truth[..., None] * [0.9, 0.4, 0.1] + (1 - truth[..., None]) * [0.1, 0.5, 0.8]
    unknown = (truth > 0) & (truth < 1)
    guess = np.where(unknown, 0.5, truth)
    assert closed_form_alpha(rgb, guess, unknown, 1e-6) == pytest.approx(truth, abs=1e-3)


def test_nothing_in_doubt_changes_nothing():
    alpha = np.eye(4)
    assert closed_form_alpha(np.ones((4, 4, 3)), alpha, np.zeros((4, 4), bool)) is alpha


def test_the_guess_stands_for_indistinct_colours():
    guess = np.linspace(0, 1, 30).reshape(5, 6)
    filled = closed_form_alpha(np.full((5, 6, 3), 0.5), guess, np.ones((5, 6), bool), 1e4)
    assert filled == pytest.approx(guess, abs=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_are_those_of_the_formula_and_of_nothing_beyond_the_sides(kind):
    rng = np.random.default_rng(5)
    rgb, unknown = rng.random((23, 8, 3)), rng.random((23, 8)) < 0.5
    rgb[4:9, 2:6] = rgb[4, 2]  # flat: only epsilon is left of the covariance
    rgb[12:] = rgb[12:, :, :1]  # grey: colours on a line
    found = matting_laplacian(rgb, unknown, kind)
    matrix, here = np.pad(laplacian(rgb), ((0, 0), (20, 20))), np.flatnonzero(unknown)
    columns = here[:, None] + neighbour_offsets(8)
    wanted = np.where(
        (columns >= 0) & (columns < unknown.size), matrix[here[:, None], columns + 20], 0
    )
    assert found == pytest.approx(wanted, abs=2e-5 if kind is np.float32 else 1e-7)


def test_many_pixels_are_solved_step_by_step_as_well_as_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:70, :90]
    truth = np.clip(0.5 + (25 - np.hypot(x - 45, y - 35)) / 16, 0, 1)
    seen = truth[..., None] * [0.9, 0.5, 0.2] + (1 - truth[..., None]) * [0.1, 0.3, 0.7]
    seen = np.rint(255 * np.clip(seen + rng.normal(0, 0.02, seen.shape), 0, 1)) / 255
    unknown = (truth > 0) & (truth < 1)
    guess = np.where(unknown, truth > 0.5, truth).astype(float)
    assert unknown.sum() > matting._FEW
    by_steps = closed_form_alpha(seen, guess, unknown)
    monkeypatch.setattr(matting, "_FEW", 10**9)
    assert np.abs(by_steps - closed_form_alpha(seen, guess, unknown)).max() < 0.5 / 255


def hairy(behind):
    """Return a picture with hairs that stand out of a block, their alpha, and a mask without."""
    alpha = np.zeros((80, 120))
    alpha[50:] = 1.0
    for column in range(10, 110, 12):
        alpha[36:50, column : column + 2] = 0.8
    rgb = alpha[..., None] * (0.35, 0.2, 0.1) + (1 - alpha[..., None]) * behind
    mask = np.zeros(alpha.shape, bool)
    mask[50:] = True
    return np.rint(255 * rgb).astype(np.uint8), alpha, mask


def test_hairs_beyond_the_mask_come_back():
    rgb, alpha, mask = hairy(np.array([0.6, 0.8, 0.9]))
    matte = finished(soft_edge(rgb, mask, 18.0))
    found = matte.alpha / 255.0
    hair = (alpha == 0.8) & ~mask
    assert abs(found[hair].mean() - 0.8) < 0.15
    between = (alpha == 0) & (np.abs(_depth(mask)) < 14)
    assert found[between].mean() < 0.05  # and no fog between them


def test_painted_hair_widens_the_band_there_and_nowhere_else():
    rgb, alpha, mask = hairy(np.array([0.6, 0.8, 0.9]))
    painted = np.zeros(mask.shape, bool)
    painted[30:55, 4:60] = True
    narrow = finished(soft_edge(rgb, mask, 3.0)).alpha / 255.0
    found = finished(soft_edge(rgb, mask, 3.0, painted)).alpha / 255.0
    hair = (alpha == 0.8) & ~mask & (np.arange(80)[:, None] < 44)
    assert narrow[hair].max() == 0, "without paint the hairs' ends are lost"
    assert abs(found[hair & painted].mean() - 0.8) < 0.15
    assert found[painted & (alpha == 0)].mean() < 0.05
    away = ~painted & (np.abs(_depth(mask)) > 3.0)
    np.testing.assert_array_equal(found[away], narrow[away])


def test_paint_that_is_hard_or_far_from_any_outline_changes_nothing():
    rgb, _, mask = hairy(np.array([0.6, 0.8, 0.9]))
    painted = np.ones(mask.shape, bool)
    hard = finished(soft_edge(rgb, mask, 0.0, painted))
    np.testing.assert_array_equal(hard.alpha, 255 * mask)
    empty = np.zeros(mask.shape, bool)
    assert finished(soft_edge(rgb, empty, 4.0, painted)).alpha.max() == 0


def test_flat_mixtures_are_found_exactly_and_the_mask_stays():
    rgb, alpha, mask = hairy(np.array([0.6, 0.8, 0.9]))
    depth = _depth(mask)
    guess = colour_prior(rgb / 255.0, mask.astype(float), depth, 16.0)
    hair = (alpha == 0.8) & ~mask & (np.abs(depth) < 12)
    assert (guess[mask] == 1.0).all()
    assert np.abs(guess[hair] - 0.8 * _trust()).max() < 0.05


def _trust():
    """Compute the confidence in two flat colours: their distance alone decides it."""
    apart = ((np.array([0.35, 0.2, 0.1]) - (0.6, 0.8, 0.9)) ** 2).sum()
    return apart / (apart + 0.02)


def test_like_sides_leave_the_ramp_as_it_is():
    rng = np.random.default_rng(0)
    rgb, mask = rng.random((60, 70, 3)), np.zeros((60, 70), bool)
    mask[:, :35] = True
    ramp = mask.astype(float)
    guess = colour_prior(rgb, ramp, _depth(mask), 10.0)
    assert np.abs(guess - ramp).max() < 0.05


@pytest.mark.parametrize("radius", [1, 3, 7, 16, 45, 200])
@pytest.mark.parametrize("size", [(1, 1), (3, 50), (97, 131)])
def test_they_are_those_of_the_squares(radius, size):
    rng = np.random.default_rng(radius)
    values = gaussian_filter(rng.random((*size, 2)), (4, 4, 0)).astype(np.float32)
    means = BoxMeans(size, radius)
    found = means.fine(means.coarse(values))
    side = 2 * radius + 1
    wanted = uniform_filter(values, (side, side, 1), mode="nearest")
    assert found.shape == values.shape
    assert found.dtype == np.float32
    if radius < 16:
        assert found == pytest.approx(wanted, abs=1e-5)
    elif radius < min(size):
        assert np.abs(found - wanted).max() < 0.15 * np.ptp(values)
    assert values.min() - 1e-5 <= found.min() <= found.max() <= values.max() + 1e-5


def test_box_means_of_flat_values_are_flat():
    values = np.full((80, 90, 1), 0.25, np.float32)
    means = BoxMeans((80, 90), 40)
    assert means.fine(means.coarse(values)) == pytest.approx(0.25)
