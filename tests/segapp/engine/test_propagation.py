"""Matches of pages, and answers that follow from them."""

import numpy as np
import pytest

from segapp.engine.preparation import PreparedPicture
from segapp.engine.propagation import (
    AnsweredPage,
    PageCells,
    cell_means,
    expected_iou,
    match_pages,
    propagate,
    spread_cells,
)
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS

SIZE = (90, 120)


def scene(left: int):
    """Return a textured background with a textured square on it, and the square's mask."""
    rng = np.random.default_rng(3)
    rgb = rng.integers(60, 120, (*SIZE, 3)).astype(np.uint8)
    inside = np.zeros(SIZE, bool)
    inside[30:60, left : left + 30] = True
    rgb[inside] = rng.integers(120, 220, (900, 3)).astype(np.uint8)
    return rgb, inside


def test_cell_means_average_all_pixels():
    pixels = np.random.default_rng(0).random((10, 13, 2)).astype(np.float32)
    means = cell_means(pixels, 4)
    assert means.shape == (3, 4, 2)
    assert np.allclose(means[0, 0], pixels[:4, :4].mean(axis=(0, 1)))
    assert np.allclose(means[2, 3], pixels[8:, 12:].mean(axis=(0, 1)))


def test_spreading_interpolates_between_the_middles_of_cells():
    ramp = np.arange(5, dtype=np.float32)[None, :, None].repeat(3, axis=0)
    spread = spread_cells(ramp, 4, (12, 20))[..., 0]
    assert np.allclose(spread[0, 2:18], (np.arange(2, 18) + 0.5) / 4 - 0.5)
    assert spread.min() == 0
    assert spread.max() == 4


def test_matches_follow_a_shift_to_the_cell():
    rng = np.random.default_rng(1)
    large = rng.random((60, 80, 6)).astype(np.float32)
    first, second = PageCells(large[5:50, 5:65], 1), PageCells(large[8:53, 3:63], 1)
    shares = np.zeros((45, 60, 2), np.float32)
    shares[10:30, 10:30, 0] = 1
    shares[..., 1] = 1 - shares[..., 0]
    matched = match_pages(second, [(first, shares)])
    inner = matched.moves[12:-12, 12:-12]
    assert (inner == (3, -2)).all()
    assert matched.shares[8:26, 13:31, 0].min() > 0.5
    assert np.allclose(matched.shares.sum(axis=2), 1)


def test_an_object_that_moves_is_found_again():
    before, inside = scene(20)
    after, truth = scene(26)
    document = Document()
    labels = np.where(inside, 0, 1).astype(np.uint8)
    page = AnsweredPage.of_labels(PreparedPicture(before), labels, document)
    steps = propagate(PreparedPicture(after), document, [page], DEFAULT_SETTINGS)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer = end.value
            break
    found = answer.labelling.labels == 0
    assert (found & truth).sum() / (found | truth).sum() > 0.9
    assert answer.confidence > 0.7


@pytest.mark.parametrize(("likely", "expected"), [(1.0, 1.0), (0.5, 0.5)])
def test_the_expected_overlap_follows_from_the_shares(likely, expected):
    labels = np.array([[0, 1]], np.uint8)
    shares = np.array([[[likely, 1 - likely], [0, 1]]], np.float32)
    assert expected_iou(shares, labels, background=1) == pytest.approx(expected)
