"""Kinds of pixels by what a head sees, on pictures whose kinds are known."""

import numpy as np
import pytest

from segapp.engine.encoder_features import FineRegions, scaled
from segapp.engine.features import SeenColours
from segapp.engine.region_graph import RegionGraph
from segapp.engine.superpixels import Prototypes
from segapp.model.picture import EncoderFeatures

NETWORK = "0a" * 32


def picture(step=(2.0, 3.0), shape=(40, 60)):
    """Two halves to the network, in cells of some pixels; regions are squares of 10 pixels."""
    rows, columns = (round(length / side) for length, side in zip(shape, step, strict=True))
    rng = np.random.default_rng(0)
    right = np.arange(columns) >= columns // 2
    cells = np.where(right[None, :, None], 2.0, -2.0) * np.array([1.0, -1.0, 0.5])
    cells = np.broadcast_to(cells, (rows, columns, 3)) + rng.normal(0, 0.01, (rows, columns, 3))
    encoded = EncoderFeatures(cells.astype(np.float16), step, NETWORK)
    rgb = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    y, x = np.mgrid[: shape[0], : shape[1]] // 10
    return encoded, rgb, Prototypes.of_map(y * 6 + x)


def test_pixels_have_the_kind_of_their_cell_and_kinds_of_an_object_are_alike():
    encoded, rgb, prototypes = picture()
    graph = RegionGraph.of(SeenColours(rgb), prototypes)
    found = FineRegions.of(encoded, graph, prototypes, 1)
    kinds = found.kinds
    left, right = np.unique(kinds.of_pixels[:, :30]), np.unique(kinds.of_pixels[:, 30:])
    assert not np.intersect1d(left, right).size
    np.testing.assert_allclose(kinds.alike.sum(axis=0), 1.0, rtol=1e-5)
    assert kinds.alike[np.ix_(left, right)].max() < 0.01 * kinds.alike[np.ix_(left, left)].min()
    np.testing.assert_array_equal(kinds.of_patches.sum(axis=1), graph.patches.sizes)
    # A step across the middle is as long as the values differ, others are nearly nothing.
    means = scaled(
        np.stack(
            [
                encoded.cells.astype(float)[
                    np.ix_(np.unique(rows // 2), np.unique(columns // 3))
                ].mean(axis=(0, 1))
                for rows, columns in (
                    (np.arange(r, r + 10), np.arange(c, c + 10))
                    for r in range(0, 40, 10)
                    for c in range(0, 60, 10)
                )
            ]
        )
    )
    u, v = graph.edges.u, graph.edges.v
    expected = ((means[u] - means[v]) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.apart, expected, atol=0.05)
    across = (u % 6 < 3) != (v % 6 < 3)
    assert found.apart[across].min() > 3.5
    assert found.apart[~across].max() < 0.01


def test_it_is_the_same_every_time():
    encoded, rgb, prototypes = picture()
    graph = RegionGraph.of(SeenColours(rgb), prototypes)
    first, again = (FineRegions.of(encoded, graph, prototypes, 1) for _ in range(2))
    np.testing.assert_array_equal(first.kinds.of_pixels, again.kinds.of_pixels)
    np.testing.assert_array_equal(first.kinds.alike, again.kinds.alike)


def test_a_picture_learnt_at_half_its_size_has_the_same_kinds():
    encoded, rgb, prototypes = picture(step=(4.0, 6.0))
    halved = Prototypes.of_map(prototypes.index_map[::2, ::2])
    small = FineRegions.of(encoded, RegionGraph.of(SeenColours(rgb[::2, ::2]), halved), halved, 2)
    large = FineRegions.of(encoded, RegionGraph.of(SeenColours(rgb), prototypes), prototypes, 1)
    np.testing.assert_array_equal(small.kinds.of_pixels, large.kinds.of_pixels[::2, ::2])


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 3, 2), (2, 2, 1)])
def test_few_cells_or_equal_ones_are_one_kind(shape):
    encoded = EncoderFeatures(np.ones(shape, np.float16), (40 / shape[0], 60 / shape[1]), NETWORK)
    _, rgb, prototypes = picture()
    found = FineRegions.of(encoded, RegionGraph.of(SeenColours(rgb), prototypes), prototypes, 1)
    np.testing.assert_array_equal(found.kinds.of_pixels, 0)
    np.testing.assert_array_equal(found.apart, 0.0)


def test_scaled_values_have_no_mean_and_a_variance_of_1():
    values = scaled(np.random.default_rng(0).normal(3, 2, (50, 4)))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)
    assert (values**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-5)
