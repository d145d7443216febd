"""Hair that a mask has cut off is seen by its colour, and nothing that is not there."""

import numpy as np

from segapp.imaging.matting import _depth, colour_prior, soft_edge


def finished(steps):
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


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


def test_flat_mixtures_are_told_exactly_and_the_mask_stays():
    rgb, alpha, mask = hairy(np.array([0.6, 0.8, 0.9]))
    depth = _depth(mask)
    guess = colour_prior(rgb / 255.0, mask.astype(float), depth, 16.0)
    hair = (alpha == 0.8) & ~mask & (np.abs(depth) < 12)
    assert (guess[mask] == 1.0).all()
    assert np.abs(guess[hair] - 0.8 * _trust()).max() < 0.05


def _trust():
    """How much two flat colours are believed: only their distance says it."""
    apart = ((np.array([0.35, 0.2, 0.1]) - (0.6, 0.8, 0.9)) ** 2).sum()
    return apart / (apart + 0.02)


def test_where_both_sides_look_alike_nothing_is_believed():
    rng = np.random.default_rng(0)
    rgb, mask = rng.random((60, 70, 3)), np.zeros((60, 70), bool)
    mask[:, :35] = True
    ramp = mask.astype(float)
    guess = colour_prior(rgb, ramp, _depth(mask), 10.0)
    assert np.abs(guess - ramp).max() < 0.05
