"""Sizes of images in a network, and clean-up of its cells."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.encoders.encoder import Fit
from segapp.encoders.preprocessing import (
    cell_grids,
    fit_picture,
    fitted_size,
    input_size,
    remove_grid_bias,
)
from tests.segapp.encoders.networks import POOLED


@pytest.mark.parametrize("shape", [(1, 1), (1, 5000), (5000, 1), (7, 13), (4000, 3000)])
@pytest.mark.parametrize("fit", list(Fit))
def test_any_picture_fits(shape, fit):
    encoder = replace(POOLED, fit=fit)
    picture = fit_picture(np.zeros((*shape, 3), np.uint8), encoder)
    assert picture.shape == shape
    assert max(picture.pixels.shape[:2]) == 32
    (part,) = cell_grids(shape, encoder)
    (rows, columns, channels), step = part.shape, part.step
    assert channels == encoder.channels
    assert 1 <= rows <= 8
    assert 1 <= columns <= 8
    # The cells cover the picture, and the last ones stick out by less than they are long.
    assert (rows - 1) * step[0] < shape[0] <= rows * step[0] * 1.001
    assert (columns - 1) * step[1] < shape[1] <= columns * step[1] * 1.001


def test_a_square_is_read_a_little_smaller_where_that_saves_a_fifth():
    wide = replace(POOLED, size=(1024, 1024), grid=(64, 64), steps=(224, 224))
    assert fitted_size((1000, 1000), wide) == (800, 800)
    assert input_size((1000, 1000), wide) == (800, 1024)
    assert fitted_size((1000, 900), wide) == (889, 800)
    assert input_size((1000, 900), wide) == (1024, 800)
    assert fitted_size((1000, 700), wide) == (1024, 717)  # as large as can be
    for steps in ((0, 0), (512, 512)):  # it cannot, or would see half
        square = replace(wide, steps=steps)
        assert (
            fitted_size((1000, 1000), square) == input_size((1000, 1000), square) == (1024, 1024)
        )


@given(
    st.tuples(st.integers(1, 500), st.integers(1, 500)),
    st.sampled_from([0, 4, 8, 12, 28]),
    st.sampled_from([0, 4, 20]),
)
def test_all_of_a_picture_is_read_and_less_than_a_step_too_much(shape, rows, columns):
    encoder = replace(POOLED, steps=(rows, columns))
    for reads, fills, size, step in zip(
        input_size(shape, encoder),
        fitted_size(shape, encoder),
        encoder.size,
        encoder.steps,
        strict=True,
    ):
        assert fills <= reads <= size
        assert (size - reads) % (step or size) == 0
        assert reads - fills < step or reads == size or not step


@pytest.mark.parametrize("steps", [(3, 0), (0, 32), (4, 5)])
def test_steps_are_whole_cells_and_not_all(steps):
    with pytest.raises(ValueError, match="steps"):
        replace(POOLED, steps=steps)


def test_the_bias_of_the_grid_is_removed():
    rng = np.random.default_rng(0)
    object_like = np.repeat(np.repeat(rng.normal(size=(2, 3, 5)), 4, axis=1), 2, axis=2)
    even = (object_like + np.tile(rng.normal(size=(2, 4, 2)), (1, 3, 5))).astype(np.float32)
    remove_grid_bias(even, (4, 2))
    middle = object_like.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(even, object_like - middle, atol=1e-5)
    few = np.ones((3, 1, 1), np.float32)  # less than one large cell
    remove_grid_bias(few, (4, 4))
    np.testing.assert_array_equal(few, 0.0)
