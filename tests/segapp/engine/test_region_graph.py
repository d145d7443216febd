import numpy as np
import pytest

from segapp.engine.features import ColourImage
from segapp.engine.region_graph import (
    LENGTHS,
    Edges,
    Geodesics,
    nearness,
    pairwise_weights,
    region_edges,
)


def test_regions_are_joined_by_their_common_border():
    index_map = np.array([[0, 0, 1], [2, 2, 1]], np.int32)
    rgb = np.full((2, 3, 3), 9, np.uint8)
    edges, _ = region_edges(index_map, pairwise_weights(ColourImage(rgb).lab))
    found = {(int(u), int(v)): w for u, v, w in zip(edges.u, edges.v, edges.weight, strict=True)}
    straight, diagonal = LENGTHS[0], LENGTHS[2]
    assert found == pytest.approx(
        {
            (0, 1): straight + diagonal,
            (0, 2): 2 * straight + 2 * diagonal,
            (1, 2): straight + diagonal,
        }
    )


@pytest.mark.parametrize("degrees", range(0, 91, 15))
def test_boundary_lengths_hardly_depend_on_the_direction(degrees):
    """At most 8 % longer; four neighbours would make a diagonal 41 % longer than a row."""
    angle = np.deg2rad(degrees)
    y, x = np.indices((200, 200)) - 99.5
    inside = (y**2 + x**2 < 80**2) & (np.cos(angle) * x + np.sin(angle) * y < 0.25)
    disc = y**2 + x**2 < 80**2
    flat = np.full((200, 200, 3), 90, np.uint8)
    # Regions: the two halves of a disc, and the ground around them.
    index_map = np.where(disc, np.where(inside, 0, 1), 2).astype(np.int32)
    edges, _ = region_edges(index_map, pairwise_weights(ColourImage(flat).lab))
    length = dict(zip(zip(edges.u, edges.v, strict=True), edges.weight, strict=True))
    assert 0.98 * 160 < length[0, 1] < 1.09 * 160
    round_about = length[0, 2] + length[1, 2]
    assert 0.98 < round_about / (2 * np.pi * 80) < 1.09


def test_contrast_is_high_across_an_edge_and_nothing_in_a_flat_image():
    index_map = np.repeat(np.arange(3, dtype=np.int32), 4)[None].repeat(4, axis=0)
    rgb = np.full((4, 12, 3), 90, np.uint8)
    _, flat = region_edges(index_map, pairwise_weights(ColourImage(rgb).lab))
    np.testing.assert_allclose(flat, 0, atol=1e-6)
    rgb[:, 8:] = 200
    edges, contrast = region_edges(index_map, pairwise_weights(ColourImage(rgb).lab))
    of = dict(zip(zip(edges.u.tolist(), edges.v.tolist(), strict=True), contrast, strict=True))
    assert of[0, 1] == pytest.approx(0, abs=1e-6)
    assert of[1, 2] > 0.95


def test_nearness_follows_similar_regions():
    """A chain of five: class 0 at one end, class 1 at the other, a jump in probability between."""
    edges = Edges(np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.int32), np.ones(4))
    trust = np.array([0.9, 0.9, 0.9, 0.1, 0.1])
    geodesics = Geodesics.of(edges, np.full(4, 0.02), np.stack((trust, 1 - trust), 1))
    near = nearness(geodesics, [np.array([0]), np.array([4])])
    np.testing.assert_allclose(near.sum(axis=1), 1.0)
    np.testing.assert_allclose(near[0], [1.0, 0.0], atol=1e-6)
    # Region 2: 0.04 from class 0, and 0.04 + the jump of 0.8 from class 1.
    assert near[2, 0] == pytest.approx((1 / 0.04) / (1 / 0.04 + 1 / 0.84))


def test_without_a_source_all_regions_are_equally_far():
    edges = Edges(np.array([0], np.int32), np.array([1], np.int32), np.ones(1))
    geodesics = Geodesics.of(edges, np.ones(1), np.full((2, 2), 0.5))
    far = geodesics.distances(np.array([], dtype=np.intp))
    assert far[0] == far[1] > geodesics.distances(np.array([0])).max()


def test_steps_cost_more_where_fine_features_differ():
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.ones(2))
    even = np.full((3, 2), 0.5)
    plain = Geodesics.of(edges, np.ones(2), even).distances(np.array([0]))
    told = Geodesics.of(edges, np.ones(2), even, np.array([0.25, 99.0])).distances(np.array([0]))
    np.testing.assert_allclose(told - plain, [0.0, 0.25, 0.25 + 9.0])
