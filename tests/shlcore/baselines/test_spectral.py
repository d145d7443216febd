import numpy as np
from scipy.linalg import eigh

from shlcore.baselines import SpectralHashing


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
