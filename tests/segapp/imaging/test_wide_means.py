"""Means over wide squares are nearly those of every pixel."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, uniform_filter

from segapp.imaging.matting import BoxMeans


@pytest.mark.parametrize("radius", [1, 3, 7, 16, 45, 200])
@pytest.mark.parametrize("size", [(1, 1), (3, 50), (97, 131)])
def test_they_are_those_of_the_squares(radius, size):
    rng = np.random.default_rng(radius)
    values = gaussian_filter(rng.random((*size, 2)), (4, 4, 0)).astype(np.float32)
    means = BoxMeans(size, radius)
    found = means.fine(means.coarse(values))
    side = 2 * radius + 1
    wanted = uniform_filter(values, (side, side, 1), mode="nearest")
    assert found.shape == values.shape
    assert found.dtype == np.float32
    if radius < 16:
        assert found == pytest.approx(wanted, abs=1e-5)
    elif radius < min(size):
        assert np.abs(found - wanted).max() < 0.15 * np.ptp(values)
    assert values.min() - 1e-5 <= found.min() <= found.max() <= values.max() + 1e-5


def test_what_is_flat_stays_flat():
    values = np.full((80, 90, 1), 0.25, np.float32)
    means = BoxMeans((80, 90), 40)
    assert means.fine(means.coarse(values)) == pytest.approx(0.25)
