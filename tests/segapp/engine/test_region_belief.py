"""Ridge regression against scikit-learn, and answers with a good encoder."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from segapp.engine.region_belief import EncoderRidge, RegionBelief, ridge
from segapp.engine.region_classifier import UNLABELLED, Supervision
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import PRESETS, FeatureGroup, with_encoder

NETWORK = "0a" * 32
PLAIN = replace(PRESETS["best"], prototypes=200)
WITH = replace(PLAIN, features=(*PLAIN.features, FeatureGroup.ENCODER), encoder=NETWORK)
THREE = tuple(ClassInfo(name, (9 * k, 80, 80)) for k, name in enumerate(("left", "up", "rest")))


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)], ids=["by columns", "by rows"])
def test_ridge_and_leave_one_out_predictions_agree_with_scikit_learn(shape):
    rng = np.random.default_rng(0)
    x, weights, y = rng.normal(size=shape), rng.uniform(0.1, 3, shape[0]), rng.normal(size=(1, 3))
    y = np.repeat(y, shape[0], axis=0) + rng.normal(size=(shape[0], 3))
    theirs = Ridge(alpha=0.1, fit_intercept=False, tol=1e-12).fit(x, y, weights)
    coefficients, left_out = ridge(x, weights, y, 0.1)
    np.testing.assert_allclose(coefficients, theirs.coef_.T, atol=1e-8)
    for row in range(shape[0]):
        others = np.arange(shape[0]) != row
        without = Ridge(alpha=0.1, fit_intercept=False, tol=1e-12)
        without.fit(x[others], y[others], weights[others])
        np.testing.assert_allclose(left_out[row], without.predict(x[[row]])[0], atol=1e-6)


def supervised(labels, n_classes=2, again=()):
    labels = np.array(labels)
    rows = np.concatenate((np.arange(len(labels)), np.array(again, np.intp)))
    labels = np.concatenate((labels, labels[list(again)])) if len(again) else labels
    return Supervision(rows, labels, np.ones(len(rows)), np.arange(n_classes))


def seen(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 6))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def belief(x, supervision, border, background):
    return EncoderRidge.of(x, supervision, border, background).belief(x)


NOTHING = np.zeros(8, np.int64)
U = UNLABELLED


def test_classes_have_equal_weight_however_much_is_marked():
    x = seen(8)
    x[3] = x[1]
    once = belief(x, supervised([0, 1, U, U, U, U, U, U]), NOTHING, 1)
    twice = belief(x, supervised([0, 1, U, 1, U, U, U, U]), NOTHING, 1)
    np.testing.assert_allclose(once.fit, twice.fit, atol=1e-12)


def test_two_classes_are_each_others_opposite():
    found = belief(seen(8), supervised([0, 1, 1, U, U, U, U, U]), NOTHING, 1)
    columns, costs = found.columns(), found.costs()
    np.testing.assert_allclose(columns[:, 0], -columns[:, 1])
    assert columns[0, 0] > 0.5 > -0.5 > columns[1, 0]
    assert (costs.min(axis=1) == 0).all()
    assert costs.max() <= 3.0
    np.testing.assert_array_equal(costs.argmin(axis=1), columns.argmax(axis=1))
    even = found.mixed_with(np.full((8, 2), 0.5))
    np.testing.assert_allclose(even.sum(axis=1), 1.0)
    np.testing.assert_array_equal(even.argmax(axis=1), columns.argmax(axis=1))


def test_evidence_is_the_accuracy_for_left_out_regions():
    labels = [0, 0, 0, 1, 1, 1, U, U]
    x = np.zeros((8, 2))
    x[:3, 0], x[3:6, 1] = 1.0, 1.0
    clear = EncoderRidge.of(x, supervised(labels), NOTHING, 1)
    assert clear.evidence > 0.8
    x[:, :] = 1.0
    blind = EncoderRidge.of(x, supervised(labels), NOTHING, 1)
    assert blind.evidence < 0.01
    assert blind.belief(x).costs().max() < 0.01
    single = EncoderRidge.of(x, supervised([0, 1, U, U, U, U, U, U]), NOTHING, 1)
    assert single.evidence == 1.0  # there is no evidence against it


def test_the_unmarked_border_is_background_where_that_is_marked():
    x, labels = seen(8), [0, 1, U, U, U, U, U, U]
    border = np.array([3, 0, 0, 0, 5, 5, 0, 0])
    without = belief(x, supervised(labels), NOTHING, 1)
    inside = belief(x, supervised(labels), border, 1)
    assert (inside.columns()[4:6, 1] > without.columns()[4:6, 1]).all()
    elsewhere = belief(x, supervised(labels), border, 2)
    np.testing.assert_array_equal(elsewhere.fit, without.fit)
    marked = belief(x, supervised(labels), np.array([3, 4, 0, 0, 0, 0, 0, 0]), 1)
    np.testing.assert_array_equal(marked.fit, without.fit)


@pytest.mark.parametrize("background", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_ridge_over_products_is_the_linear_ridge(n_classes, background):
    x, labels = seen(30), [0, 1, *range(n_classes), 1, *[U] * (27 - n_classes)]
    border = np.arange(30) % 4
    linear = belief(x, supervised(labels, n_classes), border, background)
    found = RegionBelief.of(x @ x.T, supervised(labels, n_classes), border, background)
    np.testing.assert_allclose(found.fit, linear.fit, atol=1e-10)
    assert found.evidence == pytest.approx(linear.evidence)
    assert found.background == (background if background < n_classes else None)


def test_many_regions_are_fitted_by_channels_with_the_same_result():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    labels, border = [*(np.arange(30) % 2), *[U] * 10], np.arange(40) % 4
    kernel, supervision = x @ x.T, supervised(labels)
    by_rows = RegionBelief.of(kernel, supervision, border, 1)
    found = RegionBelief.of(kernel, supervision, border, 1, x)
    assert not np.array_equal(found.fit, by_rows.fit)  # the other way round
    np.testing.assert_allclose(found.fit, by_rows.fit, atol=1e-10)
    np.testing.assert_allclose(found.ridge.dual, by_rows.ridge.dual, atol=1e-9)
    assert found.evidence == pytest.approx(by_rows.evidence)


def test_doubtful_regions_are_no_background_in_probabilities_alone():
    # From certain object to certain background; the third is doubtful.
    fit = np.array([[1.0, 0.0], [0.6, 0.4], [0.4, 0.6], [0.0, 1.0]])
    found, plain = RegionBelief(fit, 1.0, background=1), RegionBelief(fit, 1.0)
    np.testing.assert_array_equal(found.probabilities().argmax(axis=1), [0, 0, 0, 1])
    np.testing.assert_array_equal(plain.probabilities().argmax(axis=1), [0, 0, 1, 1])
    np.testing.assert_array_equal(found.costs(), plain.costs())
    np.testing.assert_array_equal(found.costs().argmin(axis=1), [0, 0, 1, 1])


def test_a_region_with_two_classes_counts_for_both():
    supervision = supervised([0, 1, U, U, U, U, U, U])
    rows = np.append(supervision.rows, 0)
    both = Supervision(rows, np.append(supervision.labels, 1), np.ones(9), supervision.classes)
    fit = belief(seen(8), both, NOTHING, 1).fit
    assert 0.2 < fit[0, 0] < 0.8


def picture():
    """Return an image without colours, and features of a left and an upper object."""
    rng = np.random.default_rng(0)
    rgb = np.clip(rng.normal(128, 12, (64, 96, 3)), 0, 255).astype(np.uint8)
    truth = np.full((64, 96), 2, np.uint8)
    truth[16:48, 8:40], truth[8:32, 56:88] = 0, 1
    of_class = rng.normal(size=(3, 12))
    cells = of_class[truth[2::4, 2::4]] + rng.normal(0, 0.1, (16, 24, 12))
    return rgb, truth, EncoderFeatures(cells.astype(np.float16), (4.0, 4.0), NETWORK)


def dabs():
    return (Stroke(((24, 30),), 3, 0), Stroke(((72, 20),), 3, 1), Stroke(((48, 56),), 3, 2))


def test_three_classes_are_found_where_colours_say_nothing():
    rgb, truth, encoded = picture()
    document = Document(THREE, dabs())
    labels = final_answer(Trainer(rgb, encoded=encoded).updates(document, WITH)).labelling.labels
    assert (labels == truth).mean() > 0.9  # regions of noise do not follow the objects' edges
    plain = final_answer(Trainer(rgb).updates(document, PLAIN)).labelling.labels
    assert (plain == truth).mean() < 0.8


@pytest.mark.parametrize(("size", "cell"), [(64, 8), (128, 8), (128, 16)])
def test_colours_that_are_clear_stay_clear_where_cells_are_coarse(size, cell):
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:size, :size] - size // 2
    inside = rows**2 + columns**2 < 17**2  # a few cells across; those at the edge are mixtures
    rgb = np.where(inside[..., None], (200, 60, 60), (60, 160, 60))
    rgb = np.clip(rgb + rng.normal(0, 20, rgb.shape), 0, 255).astype(np.uint8)
    cells = rgb.reshape(size // cell, cell, size // cell, cell, 3).mean(axis=(1, 3)) / 60 - 2
    encoded = EncoderFeatures(cells.astype(np.float16), (float(cell), float(cell)), NETWORK)
    middle = size // 2
    strokes = Stroke(((middle, middle),), 3, 0), Stroke(((4, 4), (size - 4, 4)), 2, 1)
    settings = with_encoder(PRESETS["best"], NETWORK)
    trainer = Trainer(rgb, encoded=encoded)
    labels = final_answer(
        trainer.updates(Document(TWO_CLASSES, strokes), settings)
    ).labelling.labels
    assert ((labels == 0) == inside).mean() > 0.99


def test_unused_encoder_features_change_nothing():
    rgb, _, encoded = picture()
    document = Document(THREE, dabs())
    alone = final_answer(Trainer(rgb).updates(document, PLAIN)).labelling
    trainer = Trainer(rgb, encoded=encoded)
    for settings in (PLAIN, WITH, PLAIN, replace(PLAIN, encoder=NETWORK)):  # and afterwards
        given = final_answer(trainer.updates(document, settings)).labelling
        if settings is not WITH:
            np.testing.assert_array_equal(given.labels, alone.labels)
            np.testing.assert_array_equal(given.margin, alone.margin)


def test_the_answer_is_the_same_after_undo_and_after_reopening():
    rgb, _, encoded = picture()
    document = Document(THREE, dabs())
    more = document.with_stroke(Stroke(((30, 40),), 3, 0)).with_stroke(Stroke(((50, 50),), 3, 2))
    trainer = Trainer(rgb, encoded=encoded)
    first = final_answer(trainer.updates(more, WITH))
    final_answer(trainer.updates(document, WITH))
    again = final_answer(trainer.updates(more, WITH)).labelling
    np.testing.assert_array_equal(again.labels, first.labelling.labels)
    np.testing.assert_array_equal(again.margin, first.labelling.margin)
    reopened = Trainer(rgb, encoded=encoded)
    reopened.recall(first.make_snapshot())
    carried = final_answer(reopened.updates(more, WITH))
    np.testing.assert_array_equal(carried.labelling.labels, first.labelling.labels)
    assert carried.make_snapshot().digest == first.make_snapshot().digest


def test_a_snapshot_of_another_encoder_is_ignored():
    rgb, _, encoded = picture()
    more = Document(THREE, dabs()).with_stroke(Stroke(((30, 40),), 3, 0))
    other = replace(encoded, cells=encoded.cells[::-1].copy(), encoder="1b" * 32)
    its = replace(WITH, encoder=other.encoder)
    fresh = final_answer(Trainer(rgb, encoded=other).updates(more, its))
    trainer = Trainer(rgb, encoded=other)
    trainer.recall(final_answer(Trainer(rgb, encoded=encoded).updates(more, WITH)).make_snapshot())
    recalled = final_answer(trainer.updates(more, its)).labelling
    np.testing.assert_array_equal(recalled.labels, fresh.labelling.labels)


def test_encoder_kernels_have_weights_in_the_insight():
    rgb, _, encoded = picture()
    insight = final_answer(
        Trainer(rgb, encoded=encoded).updates(Document(THREE, dabs()), WITH)
    ).insight
    its = [name.startswith("encoder, sigma") for name in insight.kernels]
    assert sum(its) == 2
    assert (insight.kernel_weights[:, its] > 0).any()


@pytest.mark.parametrize("ask", ["updates", "live_preview", "learnt_model"])
def test_missing_encoder_features_are_refused_at_once(ask):
    rgb, _, _ = picture()
    with pytest.raises(ValueError, match="encoded: wanted what the encoder sees"):
        getattr(Trainer(rgb), ask)(Document(THREE, dabs()), WITH)
    with pytest.raises(ValueError, match="encoded: wanted what the encoder sees"):
        Trainer(rgb).prepare(WITH)


@pytest.mark.parametrize("preset", ["alike", "paper"])
def test_any_preset_can_use_an_encoder(preset):
    rgb, truth, encoded = picture()
    chosen = PRESETS[preset]
    settings = replace(
        chosen, features=(*chosen.features, FeatureGroup.ENCODER), encoder=NETWORK, prototypes=99
    )
    labels = final_answer(Trainer(rgb, encoded=encoded).updates(Document(THREE, dabs()), settings))
    assert labels.labelling.labels.shape == truth.shape
