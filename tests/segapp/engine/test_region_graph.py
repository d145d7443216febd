import numpy as np
import pytest

from segapp.engine.features import ColourImage
from segapp.engine.region_graph import LENGTHS, pairwise_weights, region_edges


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
