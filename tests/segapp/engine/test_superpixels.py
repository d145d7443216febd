"""Superpixels against SLIC, palettes against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from skimage.color import rgb2lab
from skimage.segmentation import slic

from segapp.engine.features import ColourImage, pixel_features
from segapp.engine.superpixels import (
    Palette,
    Prototypes,
    affordable_levels,
    colour_cells,
    colour_palette,
    superpixels,
)
from segapp.io.desktop import SAMPLES
from segapp.io.images import load_image
from segapp.model.settings import FeatureGroup


@pytest.fixture
def picture():
    rng = np.random.default_rng(3)
    rgb = np.zeros((60, 80, 3), np.uint8)
    rgb[:, 40:] = (200, 40, 90)
    return (rgb + rng.integers(0, 12, rgb.shape)).astype(np.uint8)


def test_means_are_those_of_the_pixels(picture):
    prototypes = superpixels(ColourImage(picture).stretched_lab, 50)
    means = prototypes.mean(pixel_features(ColourImage(picture), FeatureGroup.COLOUR))
    for k in (0, len(prototypes) // 2, len(prototypes) - 1):
        inside = prototypes.index_map == k
        assert prototypes.sizes[k] == inside.sum() > 0
        np.testing.assert_allclose(
            means[k], (rgb2lab(picture) / 100.0).astype(np.float32)[inside].mean(axis=0), atol=1e-5
        )


def test_superpixels_follow_a_strong_edge(picture):
    halves = superpixels(ColourImage(picture).stretched_lab, 50).mean(
        (picture[..., :1] > 100).astype(np.float32)
    )
    assert np.minimum(halves, 1 - halves).max() < 0.05


@pytest.mark.parametrize("brightest", [255, 130])
def test_superpixels_are_those_of_slic_and_colours_those_of_lab(brightest):
    rgb = load_image(SAMPLES / "astronaut.jpg").rgb[:200]
    rgb = (rgb * (brightest / 255.0)).astype(np.uint8)
    colours = ColourImage(rgb)
    found = superpixels(colours.stretched_lab, 300).index_map
    wanted = slic(rgb, n_segments=300, compactness=10.0, start_label=0, convert2lab=True)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(colours.lab, (rgb2lab(rgb) / 100.0).astype(np.float32))


@pytest.mark.parametrize("shape", [(201, 158), (200, 157), (201, 157)])
def test_large_regions_are_segmented_in_a_halved_image(shape):
    """An odd row or column is segmented like the others."""
    rgb = np.zeros((*shape, 3), np.uint8)
    rgb[:, 77:] = 240
    colours = ColourImage(rgb)
    found = superpixels(colours.stretched_lab, 20)  # of 1500 pixels each
    assert 15 <= len(found) <= 25
    assert found.index_map.flags.c_contiguous  # or every look-up would copy it
    rows, columns = (np.arange(length) // 2 * 2 for length in shape)
    np.testing.assert_array_equal(found.index_map, found.index_map[rows[:, None], columns])
    np.testing.assert_array_equal(found.sizes, np.bincount(found.index_map.ravel()))
    # The edge is in the middle of a block, whose two columns are of one region.
    across = found.mean((rgb[..., :1] > 0).astype(np.float32))
    assert np.minimum(across, 1 - across).max() < 0.1


def test_noise_has_several_regions():
    rgb = np.random.default_rng(0).integers(0, 90, (150, 200, 3)).astype(np.uint8)
    found = superpixels(ColourImage(rgb).stretched_lab, 200)
    assert len(found) >= 80
    numbered = Prototypes.of_map(found.index_map)  # the numbers have no gaps
    np.testing.assert_array_equal(found.index_map, numbered.index_map)
    np.testing.assert_array_equal(found.sizes, numbered.sizes)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (1, 3000), (3000, 2)])
@pytest.mark.parametrize("wanted", [2, 100])
def test_odd_shapes_have_prototypes(shape, wanted):
    rgb = np.full((*shape, 3), 77, np.uint8)
    prototypes = superpixels(ColourImage(rgb).stretched_lab, wanted)
    assert prototypes.index_map.shape == shape
    assert prototypes.sizes.sum() == rgb.shape[0] * rgb.shape[1]
    assert prototypes.sizes.all()


def test_few_pixels_are_their_own_prototypes():
    assert len(superpixels(np.zeros((5, 6, 3)), 30)) == 30


@given(hnp.arrays(np.uint8, (4, 5, 3)))
@settings(deadline=None)
def test_a_palette_with_room_keeps_every_colour(rgb):
    prototypes = colour_palette(rgb, 1000)
    colours = len(np.unique(rgb.reshape(-1, 3), axis=0))
    assert len(prototypes) == colours
    np.testing.assert_allclose(
        prototypes.mean(rgb.astype(np.float32))[prototypes.index_map], rgb, atol=1e-4
    )


def test_a_palette_holds_at_most_as_many_colours_as_allowed():
    rgb = np.random.default_rng(0).integers(0, 256, (80, 80, 3)).astype(np.uint8)
    assert 200 < len(colour_palette(rgb, 600)) <= 600


def test_counts_of_a_mask(picture):
    prototypes = Prototypes.of_map(np.array([[5, 5, 9]]))
    np.testing.assert_array_equal(prototypes.count(np.array([[True, False, True]])), [1, 1])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_channels", [1, 3, 5, 24])
def test_cells_are_numbered_like_the_axes_of_a_cube(n_channels, dtype):
    most = int(np.iinfo(dtype).max)
    colours = np.random.default_rng(0).integers(0, most + 1, (20, 30, n_channels)).astype(dtype)
    for levels in affordable_levels(n_channels):
        if levels > most + 1:
            continue
        cube = colours.astype(int) * levels // (most + 1)
        expected = np.ravel_multi_index(np.moveaxis(cube, -1, 0), (levels,) * n_channels)
        np.testing.assert_array_equal(colour_cells(colours, levels), expected)


def test_grids_start_with_all_bytes_and_too_many_channels_have_none():
    assert affordable_levels(3)[0] == 256
    assert affordable_levels(24) == (2,)
    assert affordable_levels(25) == ()


def test_a_missing_colour_gets_the_nearest_number():
    rng = np.random.default_rng(1)
    levels = 12
    present = np.zeros(levels**3, bool)
    present[rng.choice(levels**3, 40, replace=False)] = True
    rgb = rng.integers(0, 256, (40, 40, 3)).astype(np.uint8)
    places = np.argwhere(present.reshape((levels,) * 3))
    asked = rgb.reshape(-1, 3).astype(int) * levels // 256
    distances = ((asked[:, None] - places) ** 2).sum(axis=2)
    palette = Palette.of(present, levels)
    tabulated = palette.extended_to(rgb)
    for made in (palette, tabulated):
        found = made.numbers(rgb).ravel()
        np.testing.assert_array_equal(
            distances[np.arange(len(found)), found], distances.min(axis=1)
        )
    labels = rng.integers(0, 255, 40).astype(np.uint8)
    for made in (palette, tabulated):
        np.testing.assert_array_equal(made.painted(rgb, labels), labels[palette.numbers(rgb)])
    assert (palette.table >= 0).sum() == 40
    assert (tabulated.table[colour_cells(rgb, levels)] >= 0).all()
    with pytest.raises(ValueError, match="read-only"):
        tabulated.table[0] = 0


def test_prototypes_of_a_palette_are_its_numbers():
    rgb = np.random.default_rng(2).integers(0, 256, (50, 60, 3)).astype(np.uint8)
    prototypes = colour_palette(rgb, 300)
    np.testing.assert_array_equal(prototypes.palette.numbers(rgb), prototypes.index_map)
