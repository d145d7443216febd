"""Encoder features of regions against pixels one by one, and their clusters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from segapp.engine.encoder_features import (
    FineRegionFeatures,
    diffuse,
    directions,
    inverse,
    region_affinity,
    region_means,
    require_encoder_features,
    scaled,
)
from segapp.engine.features import ColourImage
from segapp.engine.region_graph import Edges, RegionGraph
from segapp.engine.superpixels import Prototypes
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import DEFAULT_SETTINGS, FeatureGroup

NETWORK, OTHER = "0a" * 32, "1b" * 32
WITH = replace(
    DEFAULT_SETTINGS,
    features=(*DEFAULT_SETTINGS.features, FeatureGroup.ENCODER),
    encoder=NETWORK,
)


def encoded(shape, step, seed=0):
    cells = np.random.default_rng(seed).normal(size=shape).astype(np.float16)
    return EncoderFeatures(cells, step, NETWORK)


def at(picture, y, x):
    """Interpolate between the centres of the four cells around a point, in cells."""
    rows, columns, _ = picture.cells.shape
    y, x = min(max(y - 0.5, 0), rows - 1), min(max(x - 0.5, 0), columns - 1)
    value = 0.0
    for row in range(rows):
        for column in range(columns):
            share = max(0.0, 1 - abs(y - row)) * max(0.0, 1 - abs(x - column))
            value = value + share * picture.cells[row, column].astype(float)
    return value


@pytest.mark.parametrize(
    ("shape", "step", "times"),
    [((4, 5, 3), (3.0, 4.0), 1), ((1, 1, 2), (12.0, 20.0), 1), ((5, 3, 2), (4.9, 13.7), 2)],
)
def test_means_are_those_of_the_pixels(shape, step, times):
    picture = encoded(shape, step)
    prototypes = Prototypes.of_map(np.random.default_rng(1).integers(0, 7, (12, 20)))
    expected = np.zeros((len(prototypes), shape[2]))
    for (row, column), region in np.ndenumerate(prototypes.index_map):
        y, x = (row + 0.5) * times / step[0], (column + 0.5) * times / step[1]
        expected[region] += at(picture, y, x) / prototypes.sizes[region]
    np.testing.assert_allclose(region_means(picture, prototypes, times), expected)


def test_directions_have_length_1_and_do_not_depend_on_the_centre_s_place():
    means = np.random.default_rng(0).normal(size=(9, 4))
    seen = directions(means, means.mean(axis=0))
    np.testing.assert_allclose((seen**2).sum(axis=1), 1.0)
    np.testing.assert_allclose(directions(means + 5, means.mean(axis=0) + 5), seen)
    np.testing.assert_array_equal(directions(np.ones((3, 4)), np.ones(4)), 0.0)


def test_diffusion_minimises_its_energy():
    rng = np.random.default_rng(0)
    x = directions(rng.normal(size=(6, 3)), np.zeros(3))
    u, v = np.array([0, 1, 2, 3, 0], np.int32), np.array([1, 2, 3, 4, 2], np.int32)
    edges = Edges(u, v, np.ones(5))
    alike = np.exp(-((x[u] - x[v]) ** 2).sum(axis=1) / (2 * 0.2**2))

    def energy(flat):
        y = flat.reshape(x.shape)
        return ((y - x) ** 2).sum() + 50 * (alike * ((y[u] - y[v]) ** 2).sum(axis=1)).sum()

    best = minimize(energy, x.ravel(), tol=1e-12).x.reshape(x.shape)
    best /= np.linalg.norm(best, axis=1, keepdims=True)
    np.testing.assert_allclose(diffuse(x, edges), best, atol=1e-5)


def test_the_inverse_agrees_with_numpy():
    x = np.random.default_rng(0).normal(size=(9, 9))
    positive = x @ x.T + np.eye(9)
    found = inverse(positive)
    np.testing.assert_allclose(found, np.linalg.inv(positive), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        inverse(-positive)


def test_affinity_adds_products_and_random_walks():
    rng = np.random.default_rng(0)
    x = directions(rng.normal(size=(25, 3)), np.zeros(3))
    edges = Edges(np.arange(24, dtype=np.int32), np.arange(1, 25, dtype=np.int32), np.ones(24))
    step = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / (2 * 0.3**2))
    joined = np.zeros((25, 25))
    for k in range(24):
        joined[k, k + 1] += step[k, k + 1]
    for k in range(25):
        nearest = np.argsort(np.where(np.arange(25) == k, 9.0, -x @ x[k]))[:10]
        joined[k, nearest] += step[k, nearest]
    joined += joined.T
    # A random walk by similarity that ends with 0.01 at each region.
    rate = joined.sum(axis=1) + 0.01
    visits, goes = np.eye(25), joined / rate[:, None]
    for _ in range(20):  # (1 + P)(1 + P²)(1 + P⁴) ..., all walks up to a million steps
        visits, goes = visits + visits @ goes, goes @ goes
    ways = visits / rate
    expected = x @ x.T + ways / np.sqrt(np.outer(np.diag(ways), np.diag(ways)))
    found = region_affinity(x, edges)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(np.diag(found), 2.0)
    assert np.linalg.eigvalsh(found).min() > -1e-9


def test_fine_features_join_regions_that_touch_within_an_object():
    x = directions(np.random.default_rng(0).normal(size=(30, 3)), np.zeros(3))
    u = np.arange(29, dtype=np.int32)
    apart = np.where(u == 14, 4.0, 0.0)  # a boundary in the middle
    ways = region_affinity(x, Edges(u, u + 1, np.ones(29)), apart) - x @ x.T
    np.testing.assert_allclose(np.diag(ways), 1.0)
    assert ways[:15, :15].min() > 0.9
    assert ways[:15, 15:].max() < 0.01


def test_intermediate_regions_join_dissimilar_ones():
    # Along an arc each region is similar to the next one; the last one is an outlier.
    angle = np.append(np.linspace(0, np.pi / 2, 40), np.pi)
    x = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    u = np.arange(39, dtype=np.int32)
    kin = region_affinity(x, Edges(u, u + 1, np.ones(39)))
    assert kin[0, 39] - x[0] @ x[39] > 0.5
    assert kin[0, 40] - x[0] @ x[40] < 0.1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_regions_have_an_affinity(n):
    u = np.arange(n - 1, dtype=np.int32)
    kin = region_affinity(directions(np.eye(n, 5), np.zeros(5)), Edges(u, u + 1, np.ones(n - 1)))
    assert kin.shape == (n, n)
    assert np.isfinite(kin).all()


def test_similar_regions_that_touch_are_smoothed():
    x = np.array([[1.0, 0.0], [np.cos(0.1), np.sin(0.1)], [0.0, 1.0]])
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.ones(2))
    shared = diffuse(x, edges)
    assert shared[0] @ shared[1] > 0.99999
    np.testing.assert_allclose(shared[2], x[2], atol=1e-6)


@pytest.mark.parametrize(
    ("picture", "settings", "sentence"),
    [
        (None, WITH, "encoded: wanted what the encoder sees in the picture, got nothing"),
        (encoded((1, 1, 1), (1.0, 1.0)), replace(WITH, encoder=""), "encoder: wanted one for"),
        (encoded((1, 1, 1), (1.0, 1.0)), replace(WITH, encoder=OTHER), "got that of 0a0a0a0a"),
    ],
)
def test_missing_encoder_features_are_refused_in_a_sentence(picture, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        require_encoder_features(picture, settings)


def test_without_the_group_nothing_is_refused():
    require_encoder_features(None, DEFAULT_SETTINGS)
    require_encoder_features(None, replace(DEFAULT_SETTINGS, encoder=NETWORK))
    require_encoder_features(encoded((1, 1, 1), (1.0, 1.0)), WITH)


def picture(step=(2.0, 3.0), shape=(40, 60)):
    """Return features of two halves, in cells of some pixels; regions are squares of 10 pixels."""
    rows, columns = (round(length / side) for length, side in zip(shape, step, strict=True))
    rng = np.random.default_rng(0)
    right = np.arange(columns) >= columns // 2
    cells = np.where(right[None, :, None], 2.0, -2.0) * np.array([1.0, -1.0, 0.5])
    cells = np.broadcast_to(cells, (rows, columns, 3)) + rng.normal(0, 0.01, (rows, columns, 3))
    encoded = EncoderFeatures(cells.astype(np.float16), step, NETWORK)
    rgb = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    y, x = np.mgrid[: shape[0], : shape[1]] // 10
    return encoded, rgb, Prototypes.of_map(y * 6 + x)


def test_pixels_have_the_cluster_of_their_cell_and_an_object_has_similar_ones():
    encoded, rgb, prototypes = picture()
    graph = RegionGraph.of(ColourImage(rgb), prototypes)
    found = FineRegionFeatures.of(encoded, graph, prototypes, 1)
    clusters = found.clusters
    left, right = np.unique(clusters.of_pixels[:, :30]), np.unique(clusters.of_pixels[:, 30:])
    assert not np.intersect1d(left, right).size
    np.testing.assert_allclose(clusters.similarity.sum(axis=0), 1.0, rtol=1e-5)
    assert (
        clusters.similarity[np.ix_(left, right)].max()
        < 0.01 * clusters.similarity[np.ix_(left, left)].min()
    )
    np.testing.assert_array_equal(clusters.of_patches.sum(axis=1), graph.patches.sizes)
    # A step across the middle is as long as the features differ, others are nearly 0.
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
    np.testing.assert_allclose(found.edge_distances, expected, atol=0.05)
    across = (u % 6 < 3) != (v % 6 < 3)
    assert found.edge_distances[across].min() > 3.5
    assert found.edge_distances[~across].max() < 0.01


def test_clusters_are_reproducible():
    encoded, rgb, prototypes = picture()
    graph = RegionGraph.of(ColourImage(rgb), prototypes)
    first, again = (FineRegionFeatures.of(encoded, graph, prototypes, 1) for _ in range(2))
    np.testing.assert_array_equal(first.clusters.of_pixels, again.clusters.of_pixels)
    np.testing.assert_array_equal(first.clusters.similarity, again.clusters.similarity)


def test_half_the_working_resolution_has_the_same_clusters():
    encoded, rgb, prototypes = picture(step=(4.0, 6.0))
    halved = Prototypes.of_map(prototypes.index_map[::2, ::2])
    small = FineRegionFeatures.of(
        encoded, RegionGraph.of(ColourImage(rgb[::2, ::2]), halved), halved, 2
    )
    large = FineRegionFeatures.of(
        encoded, RegionGraph.of(ColourImage(rgb), prototypes), prototypes, 1
    )
    np.testing.assert_array_equal(small.clusters.of_pixels, large.clusters.of_pixels[::2, ::2])


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 3, 2), (2, 2, 1)])
def test_few_or_equal_cells_are_one_cluster(shape):
    encoded = EncoderFeatures(np.ones(shape, np.float16), (40 / shape[0], 60 / shape[1]), NETWORK)
    _, rgb, prototypes = picture()
    found = FineRegionFeatures.of(
        encoded, RegionGraph.of(ColourImage(rgb), prototypes), prototypes, 1
    )
    np.testing.assert_array_equal(found.clusters.of_pixels, 0)
    np.testing.assert_array_equal(found.edge_distances, 0.0)


def test_scaled_values_have_no_mean_and_a_variance_of_1():
    values = scaled(np.random.default_rng(0).normal(3, 2, (50, 4)))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)
    assert (values**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-5)
