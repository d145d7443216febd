import numpy as np
import pytest

from shlcore.baselines import LSH


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
