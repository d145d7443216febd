"""Squared distances and the hinge against definitions."""

import numpy as np
import pytest

from shlcore import kernels as distances
from shlcore.hinge import hinge, hinge_loss


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.random((7, 3)), rng.random((5, 3))


def test_all_ways_to_squared_distances_agree(points):
    x, y = points
    wanted = np.array([[((a - b) ** 2).sum() for b in y] for a in x])
    np.testing.assert_allclose(distances.squared_distances(x, y), wanted, atol=1e-12)
    single = distances.single_squared_distances(x.astype(np.float32), y.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wanted, atol=1e-5)
    compared = distances.relative_squared_distances(x @ y.T, (y**2).sum(axis=1))
    np.testing.assert_allclose(compared + (x**2).sum(axis=1)[:, None], wanted, atol=1e-12)
    own = distances.squared_distances(x, x)
    np.testing.assert_array_equal(np.diagonal(own), 0)
    np.testing.assert_allclose(distances.gram_squared_distances(x @ x.T), own, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_hinge_keeps_the_precision(kind):
    margins = np.array([-1.0, 0.5, 1.0, 3.0], dtype=kind)
    assert hinge(margins).dtype == kind
    np.testing.assert_array_equal(hinge(margins), [2.0, 0.5, 0.0, 0.0])
    targets = np.array([1, 1, -1, -1], dtype=np.int8)
    assert hinge_loss(np.array([1.0, 2.0, 3.0, 0.0]), targets, margins) == 2.0 + 1.0 + 6.0
