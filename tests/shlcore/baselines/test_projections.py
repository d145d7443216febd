"""LSH, ITQ and spectral hashing against their definitions."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_digits

from shlcore.baselines import ITQ, LSH, SpectralHashing


@pytest.mark.parametrize("angle", [0.2, 1.0, np.pi / 2, 2.5])
@pytest.mark.parametrize("with_mean", [True, False])
def test_a_bit_is_shared_with_probability_one_minus_angle_over_pi(angle, with_mean):
    """20000 bits: the share lies within four standard deviations of Charikar's value."""
    pair = np.array([[1.0, 0, 0], [np.cos(angle), np.sin(angle), 0]])
    rows = np.vstack([pair, -pair])  # their mean is the origin
    codes = LSH(n_bits=20_000, with_mean=with_mean, random_state=0).fit(rows).transform(pair)
    expected = 1 - angle / np.pi
    deviation = np.sqrt(expected * (1 - expected) / 20_000)
    assert abs((codes[0] == codes[1]).mean() - expected) < 4 * deviation


def test_hyperplanes_pass_through_the_mean():
    rows = np.random.default_rng(0).normal(50, 1, (40, 3))
    method = LSH(n_bits=64, random_state=0).fit(rows)
    np.testing.assert_allclose(method.project(rows).mean(axis=0), 0, atol=1e-9)


@pytest.fixture(scope="module")
def rows():
    return load_digits(return_X_y=True)[0][:400, 2:8]  # six columns, none constant


@pytest.mark.parametrize("n_bits", [3, 6, 11])
def test_the_rotation_is_orthogonal_and_the_error_falls(rows, n_bits):
    method = ITQ(n_bits=n_bits, random_state=0).fit(rows)
    rotation = method.rotation_
    assert rotation.shape == (min(n_bits, 6), n_bits)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(len(rotation)), atol=1e-9)
    assert (np.diff(method.errors_) <= 1e-6).all()
    assert method.errors_[-1] < method.errors_[0]
    projected = method.project(rows)
    assert method.errors_[-1] == pytest.approx(((np.abs(projected) - 1) ** 2).sum())


def test_a_rotation_keeps_distances(rows):
    method = ITQ(n_bits=11, random_state=0).fit(rows)
    centred = rows - rows.mean(axis=0)
    projected = method.project(rows)
    np.testing.assert_allclose(projected @ projected.T, centred @ centred.T, atol=1e-6)


def test_projections_are_the_graph_laplacians_eigenvectors_on_uniform_data():
    """A dense graph over uniform points has the eigenvectors that the box predicts."""
    points = np.linspace(0, 1, 400)
    method = SpectralHashing(n_bits=3).fit(points[:, None])
    affinity = np.exp(-((points[:, None] - points) ** 2) / (2 * 0.02**2))
    degree = affinity.sum(axis=1)
    vectors = eigh(np.diag(degree) - affinity, np.diag(degree), subset_by_index=[1, 3])[1]
    for predicted, vector in zip(method.project(points[:, None]).T, vectors.T, strict=True):
        assert abs(np.corrcoef(predicted, vector)[0, 1]) > 0.99


def test_a_long_axis_gives_more_bits():
    """On a 4 x 1 box the smoothest functions are k = 1, 2, 3 along the long axis, then a tie."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.random((4000, 2)) * [4.0, 1.0], [[0, 0], [4, 1], [0, 1], [4, 0]]])
    method = SpectralHashing(n_bits=5).fit(rows)
    np.testing.assert_array_equal(method.axes_[:3], [0, 0, 0])
    np.testing.assert_array_equal(method.frequencies_[:3], [1, 2, 3])
    assert {(0, 4), (1, 1)} == set(zip(method.axes_[3:], method.frequencies_[3:], strict=True))


def test_the_first_bit_cuts_the_longest_axis_in_half():
    rows = np.linspace(-1, 1, 100)[:, None] * [[3.0, 1.0]]
    bits = SpectralHashing(n_bits=1).fit(rows).transform(rows)[:, 0]
    assert set(bits[:50]) != set(bits[50:])
    assert np.abs(np.diff(bits.astype(int))).sum() == 1
