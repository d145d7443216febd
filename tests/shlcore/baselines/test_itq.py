import numpy as np
import pytest
from sklearn.datasets import load_digits

from shlcore.baselines import ITQ


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
