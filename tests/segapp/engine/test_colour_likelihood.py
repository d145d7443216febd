import numpy as np

from segapp.engine.likelihood import LARGEST_COST, StrokeColours, beliefs
from segapp.engine.region_graph import counts
from segapp.engine.superpixels import BIN_LEVELS, Prototypes, colour_bins

RED, GREEN, BLUE, GREY = (220, 30, 30), (30, 200, 30), (30, 30, 220), (128, 128, 128)


def test_the_likeliest_class_costs_nothing_and_none_too_much():
    rgb = np.zeros((1, 4, 3), np.uint8)
    rgb[0, 1:3], rgb[0, 3] = 255, 128
    marks = np.array([[0, 1, -1, -1]], np.int16)
    bins = colour_bins(rgb)
    likelihood = StrokeColours.of(bins, marks, np.array([0, 1]), background=9).likelihood()
    np.testing.assert_allclose(
        likelihood.costs[bins[0]],
        [[0, LARGEST_COST], [LARGEST_COST, 0], [LARGEST_COST, 0], [0, 0]],
        atol=1e-5,
    )
    regions = Prototypes.of_map(np.array([[0, 0, 1, 1]]))
    means = likelihood.mean_costs(counts(regions, bins, BIN_LEVELS**3), regions.sizes)
    np.testing.assert_allclose(means, [[2.0, 2.0], [2.0, 0.0]], atol=1e-5)
    np.testing.assert_allclose(beliefs(means)[0], [0.5, 0.5])


def framed():
    """A blue frame around grey, a red object with a green patch, and a dab in each class."""
    rgb = np.full((60, 60, 3), GREY, np.uint8)
    rgb[:4], rgb[-4:], rgb[:, :4], rgb[:, -4:] = BLUE, BLUE, BLUE, BLUE
    rgb[20:40, 20:40] = RED
    rgb[30:40, 20:40] = GREEN
    marks = np.full((60, 60), -1, np.int16)
    marks[22:26, 22:26], marks[10:12, 10:50] = 0, 1
    return colour_bins(rgb), marks


def costs_of(colours, rgb):
    return colours.likelihood().costs[int(colour_bins(np.array([[rgb]], np.uint8))[0, 0])]


def test_the_border_counts_a_little_as_background():
    bins, marks = framed()
    unaware = StrokeColours.of(bins, marks, np.array([0, 1]), background=9)
    np.testing.assert_allclose(costs_of(unaware, BLUE), [0, 0], atol=1e-6)
    aware = StrokeColours.of(bins, marks, np.array([0, 1]), background=1)
    assert costs_of(aware, BLUE)[0] > 1 > costs_of(aware, BLUE)[1]
    assert costs_of(aware, RED)[1] == LARGEST_COST  # what is marked is not outvoted
    np.testing.assert_allclose(aware.densities.sum(axis=1), 1.0, rtol=1e-5)


def test_colours_of_the_answer_join_those_of_the_strokes():
    bins, marks = framed()
    colours = StrokeColours.of(bins, marks, np.array([0, 1]), background=1)
    np.testing.assert_allclose(costs_of(colours, GREEN), [0, 0], atol=1e-6)
    inside = np.zeros((60, 60), int)
    inside[20:40, 20:40] = 1
    patches = counts(Prototypes.of_map(inside), bins, BIN_LEVELS**3)
    richer = colours.and_of_answer(patches, np.array([1, 0], np.uint8))
    assert costs_of(richer, GREEN)[0] == 0 < costs_of(richer, GREEN)[1]
    corner = np.zeros((60, 60), int)
    corner[:3, :3] = 1  # too few pixels to say anything
    tiny = counts(Prototypes.of_map(corner), bins, BIN_LEVELS**3)
    np.testing.assert_array_equal(
        colours.and_of_answer(tiny, np.array([1, 0], np.uint8)).densities[0],
        colours.densities[0],
    )
