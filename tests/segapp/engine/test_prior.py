"""Priors: image border, previous answer and initial labels."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.engine.prior import (
    RegionShares,
    border_mask,
    seeds_from_labels,
    temporal_prior,
    with_border,
)
from segapp.engine.region_graph import Edges, Geodesics
from segapp.engine.superpixels import Prototypes
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.document import Document, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS


def test_the_border_is_a_fiftieth_of_the_shorter_side_and_a_pixel_at_least():
    assert not border_mask((200, 300))[4:-4, 4:-4].any()
    assert np.count_nonzero(border_mask((200, 300))) == 200 * 300 - 192 * 292
    assert np.count_nonzero(border_mask((10, 10))) == 36
    assert border_mask((2, 9)).all()


def test_marks_on_the_border_stay_what_they_are():
    marked = np.full((5, 6), -1, np.int16)
    marked[0, 2], marked[2, 3] = 0, 0
    found = with_border(marked, 1)
    inside = found[1:-1, 1:-1]
    np.testing.assert_array_equal(inside, marked[1:-1, 1:-1])
    assert found[0, 2] == 0
    assert np.count_nonzero(found == 1) == 2 * 6 + 2 * 3 - 1
    assert (marked == -1).sum() == 28


def test_shares_are_those_of_the_answer_in_bytes():
    prototypes = Prototypes.of_map(np.array([[0, 0, 1, 1]]))
    shares = RegionShares.of(prototypes, np.array([[0, 2, 2, 2]], np.uint8), 3)
    np.testing.assert_array_equal(shares.shares, [[128, 0, 128], [0, 0, 255]])
    np.testing.assert_allclose(
        shares.of_classes(np.array([2, 4])), [[128 / 255, 0], [1, 0]]
    )  # class 4 came later


def test_a_stroke_confirms_as_much_as_had_its_class_before():
    prototypes = Prototypes.of_map(np.array([[0, 0, 1, 1]]))
    shares = RegionShares(np.array([[255, 0], [51, 204]], np.uint8))
    for marks, confirmed in (
        ([0, 0, -1, -1], 1.0),
        ([-1, 1, -1, -1], 0.0),
        ([0, -1, -1, 1], 0.9),
        ([-1, 0, 0, 0], (1 + 0.2 + 0.2) / 3),
        ([-1, 0, -1, 2], 0.5),  # class 2 came later
        ([-1, -1, -1, -1], 0.0),
    ):
        found = shares.confirmed_by(prototypes, np.array([marks], np.int16))
        assert found == pytest.approx(confirmed)


def test_the_prior_is_strong_far_from_the_newest_stroke_and_nothing_at_it():
    edges = Edges(np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.int32), np.ones(4))
    geodesics = Geodesics.of(edges, np.ones(4), np.full((5, 2), 0.5))
    held = np.tile([1.0, 0.0], (5, 1))
    costs = temporal_prior(geodesics, np.array([0]), np.array([4]), held, 0.0)
    np.testing.assert_allclose(costs[:, 1], [0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(costs[:, 0], 0)
    nowhere = np.array([], dtype=np.intp)
    np.testing.assert_allclose(
        temporal_prior(geodesics, nowhere, np.array([4]), held, 0.0)[:, 1], 1, atol=1e-3
    )


def test_after_a_guess_a_stroke_changes_regions_to_its_own_class_alone():
    edges = Edges(np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.int32), np.ones(4))
    geodesics = Geodesics.of(edges, np.ones(4), np.full((5, 2), 0.5))
    held = np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3)
    ends = np.array([0]), np.array([4])
    kept = np.tile([True, False], (5, 1))  # the stroke is of the second class
    costs = temporal_prior(geodesics, *ends, held, 0.0, kept=kept)
    near, usual = costs[:, 1], temporal_prior(geodesics, *ends, held, 0.0)[:, 1]
    np.testing.assert_allclose(near[:2] / near[1], usual[:2] / usual[1])
    np.testing.assert_array_equal(costs[2:, 0], costs[:, 0].max())  # as hard however near
    assert (costs[:2, 0] == 0).all()


@pytest.fixture(scope="module")
def scene():
    """Two red discs on blue, and labels that miss one of them."""
    rng = np.random.default_rng(4)
    rows, columns = np.mgrid[:90, :160]
    left = (rows - 45) ** 2 + (columns - 40) ** 2 < 25**2
    right = (rows - 45) ** 2 + (columns - 115) ** 2 < 25**2
    rgb = np.where((left | right)[..., None], (200, 60, 50), (50, 70, 160))
    rgb = np.clip(rgb + rng.normal(0, 10, rgb.shape), 0, 255).astype(np.uint8)
    labels = np.where(left, 0, 1).astype(np.uint8)
    return rgb, labels, left, right


def start_of(labels):
    size = labels.shape
    answer = Labelling(labels.copy(), np.ones(size, np.float32), np.zeros(size, np.uint32), 2, 4)
    return Document(initial=InitialLabels.from_labelling(answer, "before.png"))


def answered(rgb, document):
    return final_answer(Trainer(rgb).updates(document, DEFAULT_SETTINGS)).labelling.labels


def test_without_strokes_initial_labels_are_the_answer(scene):
    rgb, labels, *_ = scene
    assert (answered(rgb, start_of(labels)) == labels).all()


def test_one_stroke_corrects_what_was_wrong_and_leaves_the_rest(scene):
    rgb, labels, left, right = scene
    stroke = Stroke(((110.0, 45.0), (120.0, 48.0)), 4.0, 0)
    corrected = answered(rgb, start_of(labels).with_stroke(stroke))
    assert ((corrected == 0) == (left | right)).mean() > 0.99
    assert ((corrected == 0)[:, :75] == left[:, :75]).mean() > 0.99


def test_the_answer_depends_on_nothing_but_the_document(scene):
    rgb, labels, *_ = scene
    first = start_of(labels).with_stroke(Stroke(((110.0, 45.0),), 4.0, 0))
    second = first.with_stroke(Stroke(((75.0, 10.0),), 4.0, 1))
    trainer = Trainer(rgb)
    final_answer(trainer.updates(first, DEFAULT_SETTINGS))
    stepwise = final_answer(trainer.updates(second, DEFAULT_SETTINGS)).labelling.labels
    assert (stepwise == answered(rgb, second)).all()


def test_the_answer_after_another_start_is_that_of_a_new_learner(scene):
    """Two starts of the same seeds were told apart by nothing, and one had the other's prior."""
    _, labels, left, right = scene
    colours = np.where((left | right)[..., None], (118, 100, 100), (100, 100, 118))
    rgb = colours + np.random.default_rng(4).normal(0, 12, colours.shape)
    rgb = np.clip(rgb, 0, 255).astype(np.uint8)
    other = labels.copy()
    other[67:90, 32:58] = 0
    starts = [start_of(each) for each in (labels, other)]
    seeds = [seeds_from_labels(s, each) for s, each in zip(starts, (labels, other), strict=True)]
    assert seeds[0].strokes == seeds[1].strokes
    strokes = Stroke(((110.0, 45.0),), 4.0, 0), Stroke(((75.0, 10.0),), 4.0, 1)
    first, second = (start.with_stroke(strokes[0]).with_stroke(strokes[1]) for start in starts)
    trainer = Trainer(rgb)
    final_answer(trainer.updates(first, DEFAULT_SETTINGS))
    again = final_answer(trainer.updates(second, DEFAULT_SETTINGS))
    assert (again.labelling.labels == answered(rgb, second)).all()
    snapshot = final_answer(Trainer(rgb).updates(first, DEFAULT_SETTINGS)).snapshot()
    opened = Trainer(rgb)
    opened.recall(snapshot)
    carried = final_answer(opened.updates(second, DEFAULT_SETTINGS))
    assert (carried.labelling.labels == answered(rgb, second)).all()


def test_initial_labels_of_another_size_are_refused(scene):
    rgb, labels, *_ = scene
    with pytest.raises(ValueError, match=r"before\.png has 160 x 80 pixels: wanted the image's"):
        answered(rgb, start_of(labels[:80]))


def test_a_stroke_beside_a_small_object_leaves_it_a_dab():
    labels = np.ones((60, 80), np.uint8)
    labels[28:34, 38:44] = 0
    initial = InitialLabels.from_labelling(
        Labelling(labels, np.ones(labels.shape, np.float32), labels.astype(np.uint32), 2, 1), "one"
    )
    stroke = Stroke(((46.0, 31.0),), 4.0, 1)
    seeded = seeds_from_labels(Document(strokes=(stroke,), initial=initial), labels)
    (dab,) = [mark for mark in seeded.strokes if mark.label == 0]
    assert labels[int(dab.points[0][1]), int(dab.points[0][0])] == 0
    assert np.hypot(dab.points[0][0] - 46, dab.points[0][1] - 31) > 4


def test_a_stroke_on_one_propagated_object_keeps_all_others():
    rng = np.random.default_rng(0)
    labels = np.ones((120, 160), np.uint8)
    for row in range(4):
        for column in range(5):
            labels[8 + 28 * row : 28 + 28 * row, 8 + 30 * column : 28 + 30 * column] = 0
    rgb = np.where(labels[..., None] == 0, 190, 60).repeat(3, axis=2).astype(np.uint8)
    rgb += rng.integers(0, 20, rgb.shape).astype(np.uint8)
    packed = Labelling(labels, np.ones(labels.shape, np.float32), labels.astype(np.uint32), 2, 1)
    initial = replace(InitialLabels.from_labelling(packed, "page"), propagated=True)
    document = Document(strokes=(Stroke(((14.0, 14.0),), 3.0, 1),), initial=initial)
    found = final_answer(Trainer(rgb).updates(document, DEFAULT_SETTINGS)).labelling.labels
    others = labels.copy()
    others[:32, :34] = 1
    assert found[14, 14] == 1
    assert (found[others == 0] == 0).mean() > 0.98
