"""Alpha in the doubtful band, against the matting Laplacian as it is written."""

import numpy as np
import pytest

from segapp.imaging import matting
from segapp.imaging.matting import closed_form_alpha, matting_laplacian, neighbour_offsets

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


def test_where_colours_say_nothing_the_guess_stands():
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
