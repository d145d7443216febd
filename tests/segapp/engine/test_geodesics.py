"""Geodesic distances on small graphs with known answers."""

import numpy as np
import pytest

from segapp.engine.region_graph import Edges, Geodesics, nearness


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
