"""Features of pixels, and channels of instruments with their scales."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segapp.engine.features import (
    LARGEST_LEVEL,
    Channels,
    ChannelScales,
    ColourImage,
    pixel_features,
    position,
)
from segapp.model.settings import FeatureGroup

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
