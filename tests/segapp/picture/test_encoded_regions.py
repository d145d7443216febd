"""What a network sees in each region, against pixels interpolated one by one."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.picture.encoded_regions import encoded_regions, refuse_unseen, region_means
from segapp.picture.prototypes import Prototypes
from segapp.values.encoded import EncodedPicture
from segapp.values.settings import DEFAULT_SETTINGS, FeatureGroup

NETWORK, OTHER = "0a" * 32, "1b" * 32
WITH = replace(
    DEFAULT_SETTINGS,
    features=(*DEFAULT_SETTINGS.features, FeatureGroup.ENCODER),
    encoder=NETWORK,
)


def encoded(shape, step, seed=0):
    cells = np.random.default_rng(seed).normal(size=shape).astype(np.float16)
    return EncodedPicture(cells, step, NETWORK)


def at(picture, y, x):
    """Interpolate between the centres of the four cells around a point, in cells."""
    rows, columns, _ = picture.cells.shape
    y, x = min(max(y - 0.5, 0), rows - 1), min(max(x - 0.5, 0), columns - 1)
    value = 0.0
    for row in range(rows):
        for column in range(columns):
            share = max(0.0, 1 - abs(y - row)) * max(0.0, 1 - abs(x - column))
            value = value + share * picture.cells[row, column].astype(float)
    return value


@pytest.mark.parametrize(
    ("shape", "step", "times"),
    [((4, 5, 3), (3.0, 4.0), 1), ((1, 1, 2), (12.0, 20.0), 1), ((5, 3, 2), (4.9, 13.7), 2)],
)
def test_means_are_those_of_the_pixels(shape, step, times):
    picture = encoded(shape, step)
    prototypes = Prototypes.of_map(np.random.default_rng(1).integers(0, 7, (12, 20)))
    expected = np.zeros((len(prototypes), shape[2]))
    for (row, column), region in np.ndenumerate(prototypes.index_map):
        y, x = (row + 0.5) * times / step[0], (column + 0.5) * times / step[1]
        expected[region] += at(picture, y, x) / prototypes.sizes[region]
    np.testing.assert_allclose(region_means(picture, prototypes, times), expected)


def test_regions_are_centred_and_of_length_1():
    prototypes = Prototypes.of_map(np.arange(240).reshape(12, 20) // 7)
    seen = encoded_regions(encoded((4, 5, 6), (3.0, 4.0)), prototypes, 1)
    np.testing.assert_allclose((seen**2).sum(axis=1), 1.0)
    shifted = encoded((4, 5, 6), (3.0, 4.0))
    shifted = replace(shifted, cells=shifted.cells + np.float16(2.0))
    np.testing.assert_allclose(encoded_regions(shifted, prototypes, 1), seen, atol=5e-3)


def test_a_network_that_sees_the_same_everywhere_says_nothing():
    same = EncodedPicture(np.full((4, 5, 3), 2, np.float16), (3.0, 4.0), NETWORK)
    seen = encoded_regions(same, Prototypes.of_map(np.arange(240).reshape(12, 20)), 1)
    np.testing.assert_allclose(seen, 0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("picture", "settings", "sentence"),
    [
        (None, WITH, "encoded: wanted what the encoder sees in the picture, got nothing"),
        (encoded((1, 1, 1), (1.0, 1.0)), replace(WITH, encoder=""), "encoder: wanted one for"),
        (encoded((1, 1, 1), (1.0, 1.0)), replace(WITH, encoder=OTHER), "got that of 0a0a0a0a"),
    ],
)
def test_what_was_not_seen_is_refused_in_a_sentence(picture, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        refuse_unseen(picture, settings)


def test_without_the_group_nothing_is_refused():
    refuse_unseen(None, DEFAULT_SETTINGS)
    refuse_unseen(None, replace(DEFAULT_SETTINGS, encoder=NETWORK))
    refuse_unseen(encoded((1, 1, 1), (1.0, 1.0)), WITH)
