"""Explicit features against the kernels they approximate."""

import numpy as np
import pytest

from shlcore.kernels import Gaussian, KernelBank, Linear, Polynomial
from shlcore.random_features import FeatureMap, draw_map


@pytest.fixture
def rows():
    return np.random.default_rng(0).random((60, 4))


def gram_error(kernel, rows, n_components, kind):
    bank = KernelBank([kernel], rows.shape[1])
    map_ = draw_map(bank, rows, len(rows), n_components, kind, np.random.default_rng(1))
    features = map_.transform(rows).astype(float)
    return np.abs(features @ features.T - kernel.of(rows, rows)).max(), map_


@pytest.mark.parametrize("kind", ["landmarks", "fourier"])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0), Polynomial(3, 0.5)])
def test_linear_and_small_polynomial_maps_are_exact(kernel, kind, rows):
    error, map_ = gram_error(kernel, rows, 100, kind)
    assert error < 1e-5
    np.testing.assert_array_equal(map_.missing_diagonal, [0])


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(4.0), Polynomial(4, 1.0)])
def test_with_all_rows_as_landmarks_the_map_is_exact(kernel, rows):
    error, map_ = gram_error(kernel, rows, 60, "landmarks")
    assert error < 2e-3
    np.testing.assert_allclose(map_.missing_diagonal, 0, atol=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(2.0), Polynomial(5, 1.0)])
def test_errors_of_fourier_features_fall_with_their_number(kernel, rows):
    few, _ = gram_error(kernel, rows, 50, "fourier")
    many, _ = gram_error(kernel, rows, 20_000, "fourier")
    if isinstance(kernel, Gaussian):
        assert many < 0.05
    assert many < 0.3 * few or many < 1e-5


def test_orthogonal_frequencies_are_better_than_independent_ones():
    rows = np.random.default_rng(2).random((40, 16))
    kernel = Gaussian(1.5)
    orthogonal, independent = [], []
    for seed in range(20):
        bank = KernelBank([kernel], 16)
        map_ = draw_map(bank, rows, len(rows), 64, "fourier", np.random.default_rng(seed))
        drawn = np.random.default_rng(seed).standard_normal(map_.parts[0][0].shape) / 1.5
        other = FeatureMap(
            bank, ((drawn.astype(np.float32),),), map_.landmarks, map_.missing_diagonal
        )
        for errors, tried in ((orthogonal, map_), (independent, other)):
            z = tried.transform(rows)
            errors.append(np.square(z @ z.T - kernel.of(rows, rows)).mean())
    assert np.mean(orthogonal) < 0.8 * np.mean(independent)


@pytest.mark.parametrize("kind", ["landmarks", "fourier"])
def test_a_very_narrow_gaussian_gets_no_features(kind, rows):
    bank = KernelBank([Gaussian(2.0**-7), Gaussian(1.0)], 4)
    map_ = draw_map(bank, rows, len(rows), 50, kind, np.random.default_rng(0))
    assert map_.widths[0] == 0
    assert map_.missing_diagonal[0] == 1
    assert map_.widths[1] > 0


def test_the_missing_diagonal_is_estimated_from_other_rows(rows):
    bank = KernelBank([Gaussian(0.3)], 4)
    few, many = (
        draw_map(bank, rows, n_rows, 40, "landmarks", np.random.default_rng(0)).missing_diagonal[0]
        for n_rows in (60, 10**6)
    )
    others = draw_map(bank, rows, 60, 40, "landmarks", np.random.default_rng(0)).transform(
        rows[40:]
    )
    assert many == pytest.approx(1 - np.square(others).sum(axis=1).mean(), rel=1e-4)
    assert 0 < few < many


@pytest.mark.parametrize("kind", ["landmarks", "fourier"])
def test_a_map_survives_its_arrays(kind, rows):
    kernels = [Linear((0, 1)), Polynomial(6), Gaussian(0.01), Gaussian(1.0, (2, 3)), Gaussian(0.5)]
    bank = KernelBank(kernels, 4)
    map_ = draw_map(bank, rows, len(rows), 80, kind, np.random.default_rng(0))
    again = FeatureMap.from_arrays(bank, map_.arrays())
    np.testing.assert_array_equal(again.transform(rows), map_.transform(rows))
    np.testing.assert_array_equal(again.missing_diagonal, map_.missing_diagonal)
    assert again.widths == map_.widths
