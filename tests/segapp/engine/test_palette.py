import numpy as np
import pytest

from segapp.engine.superpixels import Palette, cells, grids_of, palette


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_channels", [1, 3, 5, 24])
def test_cells_are_numbered_like_the_axes_of_a_cube(n_channels, dtype):
    most = int(np.iinfo(dtype).max)
    colours = np.random.default_rng(0).integers(0, most + 1, (20, 30, n_channels)).astype(dtype)
    for levels in grids_of(n_channels):
        if levels > most + 1:
            continue
        cube = colours.astype(int) * levels // (most + 1)
        expected = np.ravel_multi_index(np.moveaxis(cube, -1, 0), (levels,) * n_channels)
        np.testing.assert_array_equal(cells(colours, levels), expected)


def test_grids_of_three_channels_begin_with_all_bytes_and_too_many_have_none():
    assert grids_of(3)[0] == 256
    assert grids_of(24) == (2,)
    assert grids_of(25) == ()


def test_a_colour_that_is_not_there_is_the_nearest_that_is():
    rng = np.random.default_rng(1)
    levels = 12
    present = np.zeros(levels**3, bool)
    present[rng.choice(levels**3, 40, replace=False)] = True
    rgb = rng.integers(0, 256, (40, 40, 3)).astype(np.uint8)
    places = np.argwhere(present.reshape((levels,) * 3))
    asked = rgb.reshape(-1, 3).astype(int) * levels // 256
    distances = ((asked[:, None] - places) ** 2).sum(axis=2)
    made = Palette.of(present, levels)
    for _ in range(2):  # looked up, and remembered
        found = made.numbers(rgb).ravel()
        np.testing.assert_array_equal(
            distances[np.arange(len(found)), found], distances.min(axis=1)
        )
    labels = rng.integers(0, 255, 40).astype(np.uint8)
    for fresh in (made, Palette.of(present, levels)):
        np.testing.assert_array_equal(fresh.painted(rgb, labels), labels[made.numbers(rgb)])


def test_prototypes_of_a_palette_are_its_numbers():
    rgb = np.random.default_rng(2).integers(0, 256, (50, 60, 3)).astype(np.uint8)
    prototypes = palette(rgb, 300)
    np.testing.assert_array_equal(prototypes.palette.numbers(rgb), prototypes.index_map)
