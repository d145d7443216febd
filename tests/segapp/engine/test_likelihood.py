"""Likelihood of colours and feature clusters under each class."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from segapp.engine.encoder_features import FeatureClusters
from segapp.engine.likelihood import (
    LARGEST_COST,
    ClassDensities,
    class_probabilities,
    cluster_appearance,
)
from segapp.engine.region_graph import value_counts
from segapp.engine.superpixels import BIN_LEVELS, Prototypes, colour_bins
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document, Stroke
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import PRESETS, with_encoder

RED, GREEN, BLUE, GREY = (220, 30, 30), (30, 200, 30), (30, 30, 220), (128, 128, 128)


def test_the_likeliest_class_costs_nothing_and_others_are_bounded():
    rgb = np.zeros((1, 4, 3), np.uint8)
    rgb[0, 1:3], rgb[0, 3] = 255, 128
    marks = np.array([[0, 1, -1, -1]], np.int16)
    bins = colour_bins(rgb)
    likelihood = ClassDensities.of(bins, marks, np.array([0, 1]), background=9).costs()
    np.testing.assert_allclose(
        likelihood.costs[bins[0]],
        [[0, LARGEST_COST], [LARGEST_COST, 0], [LARGEST_COST, 0], [0, 0]],
        atol=1e-5,
    )
    regions = Prototypes.of_map(np.array([[0, 0, 1, 1]]))
    means = likelihood.mean_costs(value_counts(regions, bins, BIN_LEVELS**3), regions.sizes)
    np.testing.assert_allclose(means, [[2.0, 2.0], [2.0, 0.0]], atol=1e-5)
    np.testing.assert_allclose(class_probabilities(means)[0], [0.5, 0.5])


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
    return colours.costs().costs[int(colour_bins(np.array([[rgb]], np.uint8))[0, 0])]


def test_the_border_counts_a_little_as_background():
    bins, marks = framed()
    unaware = ClassDensities.of(bins, marks, np.array([0, 1]), background=9)
    np.testing.assert_allclose(costs_of(unaware, BLUE), [0, 0], atol=1e-6)
    aware = ClassDensities.of(bins, marks, np.array([0, 1]), background=1)
    assert costs_of(aware, BLUE)[0] > 1 > costs_of(aware, BLUE)[1]
    assert costs_of(aware, RED)[1] == LARGEST_COST  # marks are not outvoted
    np.testing.assert_allclose(aware.densities.sum(axis=1), 1.0, rtol=1e-5)


def test_colours_of_the_answer_are_mixed_in():
    bins, marks = framed()
    colours = ClassDensities.of(bins, marks, np.array([0, 1]), background=1)
    np.testing.assert_allclose(costs_of(colours, GREEN), [0, 0], atol=1e-6)
    inside = np.zeros((60, 60), int)
    inside[20:40, 20:40] = 1
    patches = value_counts(Prototypes.of_map(inside), bins, BIN_LEVELS**3)
    richer = colours.with_answer(patches, np.array([1, 0], np.uint8))
    assert costs_of(richer, GREEN)[0] == 0 < costs_of(richer, GREEN)[1]
    corner = np.zeros((60, 60), int)
    corner[:3, :3] = 1  # too few pixels to say anything
    tiny = value_counts(Prototypes.of_map(corner), bins, BIN_LEVELS**3)
    np.testing.assert_array_equal(
        colours.with_answer(tiny, np.array([1, 0], np.uint8)).densities[0],
        colours.densities[0],
    )


NETWORK = "0a" * 32
CLASSES = np.array([0, 1])


def clusters():
    """Four clusters in as many columns, the second a little similar to the first."""
    of_pixels = np.tile(np.arange(4, dtype=np.int32), (10, 10))
    alike = np.eye(4, dtype=np.float32)
    alike[1, 0] = alike[0, 1] = 0.5
    of_patches = csr_array(100 * np.eye(4))
    return FeatureClusters(of_pixels, of_patches, alike / alike.sum(axis=0))


def marked():
    marks = np.full((10, 40), -1, np.int16)
    marks[5, 4:8:4], marks[5, 6:10:4] = 0, 1  # cluster 0 and cluster 2
    return marks


def test_clusters_under_strokes_and_similar_ones_are_likely():
    model = cluster_appearance(clusters(), marked(), CLASSES, background=9)
    costs = model.unary_term().costs
    assert costs[0, 0] == costs[1, 0] == costs[2, 1] == 0.0
    assert costs[0, 1] > costs[1, 1] > 0.5
    assert costs[2, 0] > 0.5
    np.testing.assert_allclose(costs[3], 0.0)  # an unseen cluster


def test_clusters_of_an_answer_are_mixed_in_unless_the_model_is_final():
    model = cluster_appearance(clusters(), marked(), CLASSES, background=9)
    answer = np.array([0, 0, 1, 0], np.uint8)
    richer = model.with_answer(answer)
    assert richer.unary_term().costs[3, 1] > 0.5
    fixed = replace(richer, strokes=None)
    assert fixed.with_answer(1 - answer) is fixed


def test_the_unmarked_border_is_a_little_background():
    model = cluster_appearance(clusters(), marked(), CLASSES, background=1)
    assert model.unary_term().costs[3, 0] > 0.0
    assert model.unary_term().costs[3, 1] == 0.0


def picture():
    """An image without colours; coarse cells are blurred, fine ones show two objects."""
    rng = np.random.default_rng(0)
    rgb = np.clip(rng.normal(128, 12, (192, 256, 3)), 0, 255).astype(np.uint8)
    y, x = np.mgrid[:192, :256]
    inside = (np.abs(y - 96) < 60) & (np.abs(x - 80) < 44)
    other = (np.abs(y - 96) < 60) & (np.abs(x - 192) < 28)
    of_kind = rng.normal(size=(3, 8))
    values = of_kind[np.where(inside, 0, np.where(other, 1, 2))]
    fine = values.reshape(96, 2, 128, 2, 8).mean(axis=(1, 3)) + rng.normal(0, 0.1, (96, 128, 8))
    cells = values.reshape(6, 32, 8, 32, 8).mean(axis=(1, 3)) + rng.normal(0, 0.3, (6, 8, 8))
    smaller = EncoderFeatures(fine.astype(np.float16), (2.0, 2.0), NETWORK)
    return rgb, inside, EncoderFeatures(cells.astype(np.float16), (32.0, 32.0), NETWORK, smaller)


def document():
    return Document(TWO_CLASSES, (Stroke(((80, 96),), 6, 0), Stroke(((140, 8),), 6, 1)))


def test_fine_features_alone_segment_an_object_to_the_pixel():
    rgb, inside, encoded = picture()
    settings = with_encoder(PRESETS["best"], NETWORK)
    found = {}
    for name, seen in (("with", encoded), ("without", replace(encoded, fine=None))):
        trainer = Trainer(rgb, encoded=seen)
        labels = final_answer(trainer.updates(document(), settings)).labelling.labels
        found[name] = (inside & (labels == 0)).sum() / (inside | (labels == 0)).sum()
    assert found["with"] > 0.95
    assert found["with"] > found["without"] + 0.05


def test_answers_with_fine_features_are_the_same_after_undo_and_reopening():
    rgb, _, encoded = picture()
    settings = with_encoder(PRESETS["best"], NETWORK)
    more = document().with_stroke(Stroke(((192, 96),), 6, 0))
    more = more.with_stroke(Stroke(((140, 120),), 6, 1))
    trainer = Trainer(rgb, encoded=encoded)
    first = final_answer(trainer.updates(more, settings))
    final_answer(trainer.updates(document(), settings))
    again = final_answer(trainer.updates(more, settings)).labelling
    np.testing.assert_array_equal(again.labels, first.labelling.labels)
    reopened = Trainer(rgb, encoded=encoded)
    reopened.recall(first.make_snapshot())
    carried = final_answer(reopened.updates(more, settings)).labelling
    np.testing.assert_array_equal(carried.labels, first.labelling.labels)
