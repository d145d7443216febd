"""Local statistics against their definition, counted pixel by pixel."""

import numpy as np
import pytest
from scipy import ndimage

from segapp.engine.features import local_statistics
from segapp.engine.trainer import segment
from segapp.model.document import Document, Stroke
from segapp.model.settings import FeatureGroup, Settings

COLOURS, DIRECTIONS = 28, 8
CHANNELS = 3 * (COLOURS + DIRECTIONS)


def random_lab(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    lab = ndimage.gaussian_filter(rng.normal(size=(rows, columns, 3)), (2, 2, 0))
    return (lab / np.abs(lab).max() * 0.5 + (0.5, 0, 0)).astype(np.float32)


def soft_histogram(value, bins):
    """Share a value from 0 to 1 between the two bins around it."""
    counts, place = np.zeros(bins), min(max(value, 0), 1) * (bins - 1)
    lower = min(int(place), bins - 2)
    counts[lower], counts[lower + 1] = 1 - (place - lower), place - lower
    return counts


def counted(lab):
    """Return the histogram of each pixel, one after the other."""
    down = ndimage.gaussian_filter(lab[..., 0], 1, order=(1, 0))
    right = ndimage.gaussian_filter(lab[..., 0], 1, order=(0, 1))
    counts = np.zeros((*lab.shape[:2], COLOURS + DIRECTIONS))
    for row, column in np.ndindex(lab.shape[:2]):
        lightness, a, b = lab[row, column]
        colours = soft_histogram(lightness, 8), soft_histogram(a + 0.5, 10)
        edges = np.zeros(DIRECTIONS)
        strength = min(np.hypot(down[row, column], right[row, column]) / 0.2, 1)
        place = np.arctan2(down[row, column], right[row, column]) % np.pi * DIRECTIONS / np.pi
        lower = int(place)
        edges[lower % DIRECTIONS] += strength * (1 - (place - lower))
        edges[(lower + 1) % DIRECTIONS] += strength * (place - lower)
        counts[row, column] = np.concatenate((*colours, soft_histogram(b + 0.5, 10), edges))
    return counts


def test_against_histograms_counted_pixel_by_pixel():
    lab = random_lab(24, 32)
    counts = counted(lab)
    blocks = counts.reshape(6, 4, 8, 4, -1).mean(axis=(1, 3))
    fine = ndimage.gaussian_filter(blocks, (1, 1, 0))
    cells = counts.reshape(3, 8, 4, 8, -1).mean(axis=(1, 3))
    broad = [ndimage.gaussian_filter(cells, (sigma / 8, sigma / 8, 0)) for sigma in (10, 24)]
    scales = fine.reshape(3, 2, 4, 2, -1).mean(axis=(1, 3)), *broad
    wanted = np.sqrt(np.concatenate(scales, axis=2))
    given = local_statistics(lab, 1)
    assert given.cells.shape == (3, 4, CHANNELS)
    np.testing.assert_allclose(given.cells, wanted, atol=2e-3)


@pytest.mark.parametrize("size", [(1, 1), (3, 50), (8, 8), (37, 41)])
def test_one_colour_has_the_same_histogram_everywhere_and_no_edges(size):
    lab = np.full((*size, 3), 0.25, np.float32)
    cells = local_statistics(lab, 1).cells.astype(float)
    assert cells.shape[:2] == (max(1, -(-size[0] // 8)), max(1, -(-size[1] // 8)))
    np.testing.assert_allclose(cells, np.broadcast_to(cells[0, 0], cells.shape), atol=1e-3)
    scales = cells.reshape(-1, 3, COLOURS + DIRECTIONS)
    np.testing.assert_allclose((scales[..., :COLOURS] ** 2).sum(axis=2), 3, atol=0.01)
    assert scales[..., COLOURS:].max() < 1e-3


def test_stripes_of_both_directions_differ_in_edges_alone():
    stripes = np.zeros((64, 64, 3), np.float32)
    stripes[(np.arange(64) // 4) % 2 == 0] = (0.6, 0, 0)
    across = local_statistics(stripes, 1).cells.astype(float)
    along = local_statistics(stripes.transpose(1, 0, 2), 1).cells.astype(float)
    middle = across[4, 4].reshape(3, -1), along[4, 4].reshape(3, -1)
    np.testing.assert_allclose(middle[0][:, :COLOURS], middle[1][:, :COLOURS], atol=0.02)
    assert middle[0][:, COLOURS:].argmax(axis=1).tolist() == [4, 4, 4]
    assert middle[1][:, COLOURS:].argmax(axis=1).tolist() == [0, 0, 0]


def test_cells_are_as_large_in_the_image_as_the_working_resolution_says():
    assert local_statistics(random_lab(16, 16), 4).step == (32.0, 32.0)


def test_textures_of_the_same_colours_are_told_apart():
    """Left stripes across, right stripes along; a dab in the middle of each half."""
    rgb = np.full((96, 160, 3), 60, np.uint8)
    rgb[(np.arange(96) // 3) % 2 == 0, :80] = 180
    rgb[:, 80:][:, (np.arange(80) // 3) % 2 == 0] = 180
    document = Document().with_stroke(Stroke(((40, 48),), 8, 0))
    document = document.with_stroke(Stroke(((120, 48),), 8, 1)).as_one_state()
    groups = FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS, FeatureGroup.DESCRIPTORS
    labels = segment(rgb, document, Settings(features=groups)).labels
    assert (labels[:, :76] == 0).mean() > 0.97
    assert (labels[:, 84:] == 1).mean() > 0.97
