"""Levels are monotone, keep their bounds, and follow the formula; showings check themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from segapp.model.display import (
    GAMMAS,
    MAX_CHANNELS,
    ColourMap,
    DisplaySettings,
    Levels,
    colour_table,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
GAMMA = st.floats(*GAMMAS)
WHOLE = st.sampled_from(["u1", "i1", "<u2", ">u2", "<i2", ">i2"])


@given(st.tuples(FINITE, FINITE), GAMMA, st.lists(FINITE, min_size=1))
def test_brighter_values_are_never_shown_darker(ends, gamma, values):
    levels = Levels(min(ends), max(ends), gamma)
    values = np.sort(np.array([*values, *ends]))
    shown = levels.apply(values).astype(int)
    assert (np.diff(shown) >= 0).all()
    assert (shown[values <= levels.black] == 0).all()
    if levels.black / 2 < levels.white / 2:
        assert (shown[values >= levels.white] == 255).all()


@given(WHOLE.flatmap(lambda kind: arrays.arrays(kind, (7, 5))), st.data())
def test_whole_numbers_are_shown_as_the_formula_says(values, data):
    bounds = np.iinfo(values.dtype)
    inside = st.floats(float(bounds.min), float(bounds.max))
    black, white = sorted((data.draw(inside), data.draw(inside)))
    levels = Levels(black, white, data.draw(GAMMA))
    assert (levels.apply(values) == levels.apply(values.astype(float))).all()


def test_gamma_bends_the_middle_alone():
    values = np.linspace(10, 20, 101)
    share = (values - 10) / 10
    assert (Levels(10, 20, 2).apply(values) == np.rint(255 * share**0.5)).all()
    assert Levels(10, 20, 2).apply(np.array([10, 20])).tolist() == [0, 255]


def test_values_that_are_no_numbers_are_black():
    values = np.array([np.nan, -np.inf, np.inf, 1.0])
    assert Levels(0, 2).apply(values).tolist() == [0, 0, 255, 128]


@pytest.mark.parametrize(
    "wrong", [(2, 1), (np.nan, 1), (0, np.nan), (0, 1, 0), (0, 1, 11), (0, 1, np.nan)]
)
def test_wrong_levels_are_refused(wrong):
    with pytest.raises(ValueError, match="wanted"):
        Levels(*wrong)


@pytest.mark.parametrize("wrong", [(0, 1), (None,), (None, None, None), (-1,), (MAX_CHANNELS,)])
def test_wrong_channels_are_refused(wrong):
    with pytest.raises(ValueError, match="channels: wanted"):
        DisplaySettings(wrong)


def test_channels_that_are_not_there_give_the_usual_ones():
    assert DisplaySettings((4, None, 0)).visible_channels(5, (0, 1, 2)) == (4, None, 0)
    assert DisplaySettings((4, None, 0)).visible_channels(4, (0, 1, 2)) == (0, 1, 2)


def test_levels_are_set_and_taken_back():
    levels = Levels(1, 2)
    set_once = DisplaySettings().with_levels(2, levels)
    assert [set_once.levels_of(channel) for channel in range(4)] == [None, None, levels, None]
    assert set_once.with_levels(2, None) == DisplaySettings()


@pytest.mark.parametrize("colour_map", ColourMap)
def test_a_colour_map_has_as_many_colours_as_there_are_greys(colour_map):
    table = colour_table(colour_map)
    assert table.shape == (256, 3)
    assert len(np.unique(table, axis=0)) > 200
