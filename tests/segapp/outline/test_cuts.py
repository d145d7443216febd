import numpy as np
import pytest

from segapp.outline.cuts import Level, cut_band, cut_regions
from segapp.picture.contrast import Contrast
from segapp.picture.neighbours import PAIRS
from segapp.picture.region_graph import Edges


def potts_energy(labels, costs, rgb, contrast, smoothness):
    """The energy of a whole pixel grid, written down a second time."""
    total = np.take_along_axis(costs, labels[..., None].astype(int), axis=2).sum()
    for (a, b), bond in zip(PAIRS, contrast.bonds(rgb), strict=True):
        total += smoothness * bond[labels[a] != labels[b]].sum()
    return float(total)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_band_never_raises_the_energy_and_spares_marks(n_classes):
    rng = np.random.default_rng(n_classes)
    shape = (230, 210)  # more than one tile
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    costs = rng.random((*shape, n_classes)).astype(np.float32)
    labels = (np.indices(shape).sum(axis=0) // 60 % n_classes).astype(np.uint8)
    marks = np.where(rng.random(shape) < 0.02, labels.astype(np.int16), np.int16(-1))
    contrast = Contrast.of(rgb)
    level = Level(marks, lambda box: costs[box], lambda box: contrast.bonds(rgb[box]), 0.7)
    before = potts_energy(labels, costs, rgb, contrast, 0.7)
    found = labels.copy()
    for _ in cut_band(level, found, 3):
        after = potts_energy(found, costs, rgb, contrast, 0.7)
        assert after <= before + 0.05
        before = after
    assert (found != labels).any()
    np.testing.assert_array_equal(found[marks >= 0], labels[marks >= 0])


def test_a_band_finds_the_edge_that_regions_missed():
    rgb = np.full((40, 40, 3), 30, np.uint8)
    rgb[:, 20:] = 220
    marks = np.full((40, 40), -1, np.int16)
    contrast = Contrast.of(rgb)
    level = Level(
        marks,
        lambda box: np.zeros((*rgb[box].shape[:2], 2)),
        lambda box: contrast.bonds(rgb[box]),
        1.0,
    )
    labels = np.zeros((40, 40), np.uint8)
    labels[:, 17:] = 1
    for _ in cut_band(level, labels, 5):
        pass
    np.testing.assert_array_equal(labels, np.broadcast_to(np.arange(40) >= 20, (40, 40)))


def test_held_regions_keep_their_class():
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([5.0, 1.0]))
    costs = np.array([[9.0, 0.0], [0.5, 0.0], [0.0, 3.0]])
    labels = cut_regions(costs, edges, 1.0, np.array([0, -1, -1]))
    np.testing.assert_array_equal(labels, [0, 0, 0])
