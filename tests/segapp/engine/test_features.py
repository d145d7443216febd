"""Features of pixels, and channels of instruments with their scales."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segapp.engine.features import (
    DESCRIPTOR_WEIGHT,
    LARGEST_LEVEL,
    Channels,
    ChannelScales,
    ColourImage,
    descriptor_weight,
    local_statistics,
    pixel_features,
    position,
)
from segapp.engine.trainer import segment
from segapp.model.document import Document, Stroke
from segapp.model.settings import FeatureGroup, Settings

NUMBERS = st.sampled_from([np.uint8, np.uint16, np.int16, np.uint32, np.float32, np.float64])


def measured(seed=0, size=(40, 50), n_channels=5):
    rng = np.random.default_rng(seed)
    scale = np.geomspace(1, 1000, n_channels)
    return (1000 + rng.normal(0, 1, (*size, n_channels)) * scale).astype(np.float32)


@given(st.data(), NUMBERS)
@settings(deadline=None)
def test_any_numbers_are_scaled_to_one(data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=3, max_dims=3, max_side=7))
    values = data.draw(hnp.arrays(dtype, shape))
    times = data.draw(st.sampled_from([1, 2, 4]))
    channels = Channels(values, times)
    assert channels.coarse.shape == (-(-shape[0] // times), -(-shape[1] // times), shape[2])
    assert ((channels.coarse >= 0) & (channels.coarse <= 1)).all()
    assert all(made.shape[2] == 3 and made.dtype == np.uint8 for made in channels.colours)
    whole = channels[:, :]
    assert whole.shape == shape
    for k in range(shape[2]):  # the order stays
        order = np.argsort(values[..., k].ravel(), kind="stable")
        finite = order[np.isfinite(values[..., k].ravel()[order])]
        assert (np.diff(whole[..., k].ravel()[finite].astype(int)) >= 0).all()


def test_the_scale_is_that_of_nearly_all_values_whatever_the_unit():
    values = measured()
    values[3, 4] = 1e9  # a speck of dust
    channels = Channels(values, 1)
    np.testing.assert_allclose(
        channels.scales.spans, np.percentile(values, (0.1, 99.9), axis=(0, 1)).T, rtol=1e-6
    )
    assert np.ptp(channels.coarse, axis=(0, 1)).min() > 0.99
    other_unit = Channels(values * 7.0 - 3.0, 1)
    np.testing.assert_allclose(other_unit.coarse, channels.coarse, atol=1e-3)


def test_blocks_are_averaged():
    values = measured(size=(9, 10))
    coarse = Channels(values, 4).coarse
    spans = np.array(Channels(values, 4).scales.spans)
    mean = values[4:8, 4:8].mean(axis=(0, 1), dtype=np.float64)
    expected = (mean - spans[:, 0]) / (spans[:, 1] - spans[:, 0])
    np.testing.assert_allclose(coarse[1, 1], np.clip(expected, 0, 1), atol=1e-5)


def test_full_size_is_the_working_resolution_of_a_small_image():
    channels = Channels(measured(), 1)
    box = (slice(3, 9), slice(1, 30, 2))
    np.testing.assert_array_equal(channels[box], channels.coarse_quantised[box])
    assert channels.coarse_quantised.max() == LARGEST_LEVEL


def test_colours_show_an_object_in_one_faint_channel_and_no_noise():
    rng = np.random.default_rng(2)
    values = rng.normal(0, 100, (120, 120, 8))  # noise alone
    values[..., 6] = rng.normal(500, 3, (120, 120))
    values[40:80, 30:90, 6] += 30
    inside = np.zeros((120, 120), bool)
    inside[40:80, 30:90] = True
    (colours,) = Channels(values, 1).colours
    first = colours[..., 0].astype(float)
    apart = abs(first[inside].mean() - first[~inside].mean())
    assert apart > 5 * max(first[inside].std(), first[~inside].std())


def test_scales_round_trip_through_json():
    scales = Channels(measured(), 1).scales
    assert ChannelScales.from_plain(json.loads(json.dumps(asdict(scales)))) == scales


@pytest.mark.parametrize(
    "change",
    [
        {"spans": []},
        {"spans": [[1.0, 0.0]] * 5},
        {"spans": [[1.0]] * 5},
        {"spans": [[0.0, 1.0]] * 4},
        {"mixing": [[1.0] * 5] * 2},
        {"mixing": [["x"] * 5] * 3},
        {"colour_spans": None},
    ],
)
def test_invalid_scales_are_refused(change):
    plain = json.loads(json.dumps(asdict(Channels(measured(), 1).scales))) | change
    with pytest.raises(ValueError, match="wanted"):
        ChannelScales.from_plain(plain)


def test_another_number_of_channels_is_refused_in_one_sentence():
    scales = Channels(measured(), 1).scales
    with pytest.raises(ValueError, match=r"channels: wanted 5, .* got 3"):
        Channels(measured(n_channels=3), 1, scales)


@pytest.fixture
def picture():
    rng = np.random.default_rng(3)
    rgb = np.zeros((60, 80, 3), np.uint8)
    rgb[:, 40:] = (200, 40, 90)
    return (rgb + rng.integers(0, 12, rgb.shape)).astype(np.uint8)


def test_position_is_a_share_of_the_longer_side():
    assert position((10, 40))[9, 20].tolist() == pytest.approx([9 / 40, 20 / 40])


def test_features_of_strokes_are_no_pixel_features(picture):
    with pytest.raises(ValueError, match="group: wanted one that needs the image alone"):
        pixel_features(ColourImage(picture), FeatureGroup.NEARNESS)


COLOURS, DIRECTIONS = 28, 8
CHANNELS = 3 * (COLOURS + DIRECTIONS)


def random_lab(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    lab = ndimage.gaussian_filter(rng.normal(size=(rows, columns, 3)), (2, 2, 0))
    return (lab / np.abs(lab).max() * 0.5 + (0.5, 0, 0)).astype(np.float32)


def soft_histogram(value, bins):
    """Share a value from 0 to 1 between the two bins around it."""
    counts, place = np.zeros(bins), min(max(value, 0), 1) * (bins - 1)
    lower = min(int(place), bins - 2)
    counts[lower], counts[lower + 1] = 1 - (place - lower), place - lower
    return counts


def counted(lab):
    """Return the histogram of each pixel, one after the other."""
    down = ndimage.gaussian_filter(lab[..., 0], 1, order=(1, 0))
    right = ndimage.gaussian_filter(lab[..., 0], 1, order=(0, 1))
    counts = np.zeros((*lab.shape[:2], COLOURS + DIRECTIONS))
    for row, column in np.ndindex(lab.shape[:2]):
        lightness, a, b = lab[row, column]
        colours = soft_histogram(lightness, 8), soft_histogram(a + 0.5, 10)
        edges = np.zeros(DIRECTIONS)
        strength = min(np.hypot(down[row, column], right[row, column]) / 0.2, 1)
        place = np.arctan2(down[row, column], right[row, column]) % np.pi * DIRECTIONS / np.pi
        lower = int(place)
        edges[lower % DIRECTIONS] += strength * (1 - (place - lower))
        edges[(lower + 1) % DIRECTIONS] += strength * (place - lower)
        counts[row, column] = np.concatenate((*colours, soft_histogram(b + 0.5, 10), edges))
    return counts


def test_against_histograms_counted_pixel_by_pixel():
    lab = random_lab(24, 32)
    counts = counted(lab)
    blocks = counts.reshape(6, 4, 8, 4, -1).mean(axis=(1, 3))
    fine = ndimage.gaussian_filter(blocks, (1, 1, 0))
    cells = counts.reshape(3, 8, 4, 8, -1).mean(axis=(1, 3))
    broad = [ndimage.gaussian_filter(cells, (sigma / 8, sigma / 8, 0)) for sigma in (10, 24)]
    scales = fine.reshape(3, 2, 4, 2, -1).mean(axis=(1, 3)), *broad
    wanted = np.sqrt(np.concatenate(scales, axis=2))
    given = local_statistics(lab, 1)
    assert given.cells.shape == (3, 4, CHANNELS)
    np.testing.assert_allclose(given.cells, wanted, atol=2e-3)


@pytest.mark.parametrize("size", [(1, 1), (3, 50), (8, 8), (37, 41)])
def test_one_colour_has_the_same_histogram_everywhere_and_no_edges(size):
    lab = np.full((*size, 3), 0.25, np.float32)
    cells = local_statistics(lab, 1).cells.astype(float)
    assert cells.shape[:2] == (max(1, -(-size[0] // 8)), max(1, -(-size[1] // 8)))
    np.testing.assert_allclose(cells, np.broadcast_to(cells[0, 0], cells.shape), atol=1e-3)
    scales = cells.reshape(-1, 3, COLOURS + DIRECTIONS)
    np.testing.assert_allclose((scales[..., :COLOURS] ** 2).sum(axis=2), 3, atol=0.01)
    assert scales[..., COLOURS:].max() < 1e-3


def test_stripes_of_both_directions_differ_in_edges_alone():
    stripes = np.zeros((64, 64, 3), np.float32)
    stripes[(np.arange(64) // 4) % 2 == 0] = (0.6, 0, 0)
    across = local_statistics(stripes, 1).cells.astype(float)
    along = local_statistics(stripes.transpose(1, 0, 2), 1).cells.astype(float)
    middle = across[4, 4].reshape(3, -1), along[4, 4].reshape(3, -1)
    np.testing.assert_allclose(middle[0][:, :COLOURS], middle[1][:, :COLOURS], atol=0.02)
    assert middle[0][:, COLOURS:].argmax(axis=1).tolist() == [4, 4, 4]
    assert middle[1][:, COLOURS:].argmax(axis=1).tolist() == [0, 0, 0]


def test_cells_are_as_large_in_the_image_as_the_working_resolution_says():
    assert local_statistics(random_lab(16, 16), 4).step == (32.0, 32.0)


def test_textures_of_the_same_colours_are_told_apart():
    """Left stripes across, right stripes along; a dab in the middle of each half."""
    rgb = np.full((96, 160, 3), 60, np.uint8)
    rgb[(np.arange(96) // 3) % 2 == 0, :80] = 180
    rgb[:, 80:][:, (np.arange(80) // 3) % 2 == 0] = 180
    document = Document().with_stroke(Stroke(((40, 48),), 8, 0))
    document = document.with_stroke(Stroke(((120, 48),), 8, 1)).as_one_state()
    groups = FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS, FeatureGroup.DESCRIPTORS
    labels = segment(rgb, document, Settings(features=groups)).labels
    assert (labels[:, :76] == 0).mean() > 0.97
    assert (labels[:, 84:] == 1).mean() > 0.97


def test_descriptors_count_twice_with_one_stroke_for_each_class_and_fade_to_once():
    assert descriptor_weight(1.0) == descriptor_weight(0.5) == 2 * DESCRIPTOR_WEIGHT
    assert descriptor_weight(2.0) == 1.25 * DESCRIPTOR_WEIGHT
    assert descriptor_weight(100.0) == pytest.approx(DESCRIPTOR_WEIGHT, rel=1e-3)
