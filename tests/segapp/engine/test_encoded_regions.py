"""What a network sees in each region, against pixels interpolated one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from segapp.engine.encoder_features import (
    directions,
    inverse,
    kinship,
    refuse_unseen,
    region_means,
    spread,
)
from segapp.engine.region_graph import Edges
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


def test_spreading_is_the_minimum_that_it_claims():
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
    np.testing.assert_allclose(spread(x, edges), best, atol=1e-5)


def test_the_inverse_is_numpy_s_or_none():
    x = np.random.default_rng(0).normal(size=(9, 9))
    positive = x @ x.T + np.eye(9)
    found = inverse(positive)
    np.testing.assert_allclose(found, np.linalg.inv(positive), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    with pytest.raises(np.linalg.LinAlgError, match="eigenvalues are above 0"):
        inverse(-positive)


def test_kinship_adds_up_likeness_and_all_ways_between_regions():
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
    # A walker who goes where likeness leads, and is lost with 0.01 at each place.
    rate = joined.sum(axis=1) + 0.01
    visits, goes = np.eye(25), joined / rate[:, None]
    for _ in range(20):  # (1 + P)(1 + P²)(1 + P⁴) ..., all walks up to a million steps
        visits, goes = visits + visits @ goes, goes @ goes
    ways = visits / rate
    expected = x @ x.T + ways / np.sqrt(np.outer(np.diag(ways), np.diag(ways)))
    found = kinship(x, edges)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(np.diag(found), 2.0)
    assert np.linalg.eigvalsh(found).min() > -1e-9


def test_with_a_head_ways_go_along_regions_that_touch_as_long_as_it_sees_no_outline():
    x = directions(np.random.default_rng(0).normal(size=(30, 3)), np.zeros(3))
    u = np.arange(29, dtype=np.int32)
    apart = np.where(u == 14, 4.0, 0.0)  # an outline in the middle
    ways = kinship(x, Edges(u, u + 1, np.ones(29)), apart) - x @ x.T
    np.testing.assert_allclose(np.diag(ways), 1.0)
    assert ways[:15, :15].min() > 0.9
    assert ways[:15, 15:].max() < 0.01


def test_what_lies_between_makes_unlike_regions_kin():
    # Along an arc each region is like the next one; the last one turns up alone as well.
    angle = np.append(np.linspace(0, np.pi / 2, 40), np.pi)
    x = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    u = np.arange(39, dtype=np.int32)
    kin = kinship(x, Edges(u, u + 1, np.ones(39)))
    assert kin[0, 39] - x[0] @ x[39] > 0.5
    assert kin[0, 40] - x[0] @ x[40] < 0.1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_regions_have_a_kinship(n):
    u = np.arange(n - 1, dtype=np.int32)
    kin = kinship(directions(np.eye(n, 5), np.zeros(5)), Edges(u, u + 1, np.ones(n - 1)))
    assert kin.shape == (n, n)
    assert np.isfinite(kin).all()


def test_what_touches_and_is_alike_comes_together():
    x = np.array([[1.0, 0.0], [np.cos(0.1), np.sin(0.1)], [0.0, 1.0]])
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.ones(2))
    shared = spread(x, edges)
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
def test_what_was_not_seen_is_refused_in_a_sentence(picture, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        refuse_unseen(picture, settings)


def test_without_the_group_nothing_is_refused():
    refuse_unseen(None, DEFAULT_SETTINGS)
    refuse_unseen(None, replace(DEFAULT_SETTINGS, encoder=NETWORK))
    refuse_unseen(encoded((1, 1, 1), (1.0, 1.0)), WITH)
