import numpy as np
import pytest

from segapp.learning.colour_likelihood import LARGEST_COST, ColourLikelihood, beliefs
from segapp.learning.nearness import nearness
from segapp.outline.cuts import Level, cut_band, cut_regions
from segapp.picture.colour_bins import colour_bins
from segapp.picture.contrast import Contrast
from segapp.picture.neighbours import ACROSS, DOWN
from segapp.picture.prototypes import Prototypes
from segapp.picture.pyramid import LARGEST_WORKING_SIZE, halved_marks, halvings, repeated
from segapp.picture.region_graph import Edges, region_edges


def potts_energy(labels, costs, rgb, contrast, smoothness):
    """The energy of a whole pixel grid, written down a second time."""
    total = np.take_along_axis(costs, labels[..., None].astype(int), axis=2).sum()
    for (a, b), bond in zip((ACROSS, DOWN), contrast.bonds(rgb), strict=True):
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


def test_regions_are_joined_by_their_common_border():
    index_map = np.array([[0, 0, 1], [2, 2, 1]], np.int32)
    rgb = np.full((2, 3, 3), 9, np.uint8)
    edges = region_edges(index_map, Contrast.of(rgb).bonds(rgb))
    found = {(int(u), int(v)): w for u, v, w in zip(edges.u, edges.v, edges.weight, strict=True)}
    assert found == {(0, 1): 1.0, (0, 2): 2.0, (1, 2): 1.0}


def test_held_regions_keep_their_class():
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([5.0, 1.0]))
    costs = np.array([[9.0, 0.0], [0.5, 0.0], [0.0, 3.0]])
    labels = cut_regions(costs, edges, 1.0, np.array([0, -1, -1]))
    np.testing.assert_array_equal(labels, [0, 0, 0])


def test_nearness_goes_through_like_regions():
    """A chain of five: class 0 at one end, class 1 at the other, a jump of belief between."""
    edges = Edges(np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.int32), np.ones(4))
    trust = np.array([0.9, 0.9, 0.9, 0.1, 0.1])
    near = nearness(
        edges, np.ones(4), np.stack((trust, 1 - trust), 1), [np.array([0]), np.array([4])]
    )
    np.testing.assert_allclose(near.sum(axis=1), 1.0)
    np.testing.assert_allclose(near[0], [1.0, 0.0], atol=1e-6)
    # Region 2: 0.04 from class 0, and 0.04 + the jump of 0.8 from class 1.
    assert near[2, 0] == pytest.approx((1 / 0.04) / (1 / 0.04 + 1 / 0.84))


def test_the_likeliest_class_costs_nothing_and_none_too_much():
    rgb = np.zeros((1, 4, 3), np.uint8)
    rgb[0, 1:3], rgb[0, 3] = 255, 128
    marks = np.array([[0, 1, -1, -1]], np.int16)
    bins = colour_bins(rgb)
    likelihood = ColourLikelihood.of_strokes(bins, marks, np.array([0, 1]))
    np.testing.assert_allclose(
        likelihood.costs[bins[0]],
        [[0, LARGEST_COST], [LARGEST_COST, 0], [LARGEST_COST, 0], [0, 0]],
        atol=1e-5,
    )
    means = likelihood.mean_costs(bins, Prototypes.of_map(np.array([[0, 0, 1, 1]])))
    np.testing.assert_allclose(means, [[2.0, 2.0], [2.0, 0.0]], atol=1e-5)
    np.testing.assert_allclose(beliefs(means)[0], [0.5, 0.5])


def test_halvings_average_blocks_until_small_enough():
    rgb = np.random.default_rng(1).integers(0, 256, (1501, 1400, 3)).astype(np.uint8)
    levels = halvings(rgb)
    assert [level.shape for level in levels] == [(1501, 1400, 3), (751, 700, 3)]
    assert levels[-1].shape[0] * levels[-1].shape[1] <= LARGEST_WORKING_SIZE
    np.testing.assert_allclose(
        levels[1][4, 7], rgb[8:10, 14:16].astype(float).mean(axis=(0, 1)), atol=0.5
    )
    np.testing.assert_allclose(
        levels[1][750, 7], rgb[1500:, 14:16].astype(float).mean(axis=(0, 1)), atol=0.5
    )


def test_marks_survive_halving_and_labels_double_back():
    marks = np.full((5, 4), -1, np.int16)
    marks[4, 3], marks[0, 1] = 0, 2
    np.testing.assert_array_equal(halved_marks(marks), [[2, -1], [-1, -1], [-1, 0]])
    small = np.array([[1, 2], [3, 4], [5, 6]])
    doubled = repeated(small, (5, 3))
    np.testing.assert_array_equal(doubled[:, 0], [1, 1, 3, 3, 5])
    np.testing.assert_array_equal(doubled[0], [1, 1, 2])
