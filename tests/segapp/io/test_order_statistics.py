import numpy as np
import pytest

from segapp.imaging import pyramid
from segapp.io.deep_images import percentiles

RNG = np.random.default_rng(8)


@pytest.mark.parametrize(
    "kind", ["u2", ">u2", "i2", "u4", "i4", "f2", "f4", ">f4", "f8", "i8", "u8"]
)
@pytest.mark.parametrize("size", [1, 2, 999, 20_000])
def test_percentiles_are_numpys(monkeypatch, kind, size):
    monkeypatch.setattr(pyramid, "_VALUES", 1000)
    numbers = RNG.normal(300, 4000, (size, 3))
    if kind.endswith(("u2", "u4", "u8")):
        numbers = np.abs(numbers)
    values = numbers.astype(kind)
    found = percentiles(values, (0.1, 50, 99.9))
    expected = np.percentile(values.astype(np.float64), (0.1, 50, 99.9))
    np.testing.assert_allclose(found.values, expected, rtol=1e-14)
    assert (found.least, found.largest) == (values.min(), values.max())
    assert found.not_finite == 0


def test_what_is_no_number_is_counted_and_left_out():
    values = np.array([[np.nan, 1.0, -np.inf], [2.0, np.inf, 3.0]], np.float32)
    found = percentiles(values, (50,))
    assert (found.values, found.least, found.largest, found.not_finite) == ((2.0,), 1.0, 3.0, 3)
    assert percentiles(np.full((2, 2), np.nan), (50,)) is None


def test_the_largest_numbers():
    found = percentiles(np.array([[-1.7e308, 1.7e308]]), (25, 50, 75))
    np.testing.assert_allclose(found.values, (-0.85e308, 0, 0.85e308), atol=1e293)
