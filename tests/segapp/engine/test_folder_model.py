"""The model of a folder against scikit-learn, and its review against planted mistakes."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from segapp.batch.robot_user import iou
from segapp.engine.folder_model import SETTINGS, FinishedPicture, FolderModel, RegionTable, review
from segapp.engine.preparation import PreparedPicture
from segapp.model.answer import final_answer
from segapp.model.classes import TWO_CLASSES


def picture(seed):
    """Two orange discs on blue; returns pixels, labels and the mask of the second disc."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:80, :140]
    rows = rng.uniform(25, 55, 2)
    discs = [(x - 35 - 70 * k) ** 2 + (y - rows[k]) ** 2 < 16**2 for k in (0, 1)]
    inside = discs[0] | discs[1]
    rgb = np.where(inside[..., None], (210, 120, 40), (60, 90, 140))
    rgb = np.clip(rgb + rng.normal(0, 8, (80, 140, 3)), 0, 255).astype(np.uint8)
    return PreparedPicture(rgb), np.where(inside, 0, 1).astype(np.uint8), discs[1]


@pytest.fixture(scope="module")
def pictures():
    return [picture(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def finished(pictures):
    return [
        FinishedPicture.of(f"{n}.png", prepared, labels, 2)
        for n, (prepared, labels, _) in enumerate(pictures)
    ]


def test_it_is_ridge_regression_with_weights(finished):
    model = FolderModel.of(TWO_CLASSES, finished[:2])
    features = np.concatenate([each.table.features() for each in finished[:2]])
    shares = np.concatenate([each.shares for each in finished[:2]])
    weights = []
    for each in finished[:2]:
        areas = each.table.weights @ each.shares
        weights.append(100 * each.table.weights * (each.shares / areas / 2).sum(axis=1))
        assert weights[-1].sum() == pytest.approx(100)
    ridge = Ridge(alpha=0.1, fit_intercept=False, solver="cholesky")
    ridge.fit(features, shares, sample_weight=np.concatenate(weights))
    np.testing.assert_allclose(model.coefficients, ridge.coef_.T, atol=1e-6)


def test_taking_a_picture_away_is_never_having_had_it(finished):
    left_out = FolderModel.of(TWO_CLASSES, finished).minus(finished[2])
    without = FolderModel.of(TWO_CLASSES, [*finished[:2], finished[3]])
    table = finished[2].table
    np.testing.assert_allclose(left_out.scores(table), without.scores(table), atol=1e-6)
    assert left_out.n_pictures == 3


def test_the_first_answer_of_the_next_picture(pictures, finished):
    prepared, labels, _ = pictures[3]
    answer = final_answer(FolderModel.of(TWO_CLASSES, finished[:3]).updates(prepared))
    assert iou(answer.labelling.labels, labels) > 0.9
    assert answer.labelling.margin.min() >= 0


def test_codes_are_near_where_regions_are_alike(pictures):
    prepared, labels, _ = pictures[0]
    table = RegionTable.of(prepared)
    regions = prepared.table(SETTINGS).prototypes.index_map
    bits = np.unpackbits(table.codes(), axis=1)
    inside, outside = regions[35, 30:40], regions[5, 60:80]

    def distance(one, other):
        return np.mean(bits[one][:, None] != bits[other][None])

    assert labels[35, 35] == 0
    assert distance(inside, inside) < 0.6 * distance(inside, outside)


def test_planted_mistakes_are_ranked_first(pictures, finished):
    missing = pictures[1][1].copy()
    missing[pictures[1][2]] = 1  # a disc is forgotten
    wrong = FinishedPicture.of("1.png", pictures[1][0], missing, 2)
    with_mistake = [finished[0], wrong, *finished[2:]]
    suspects = review(FolderModel.of(TWO_CLASSES, with_mistake), with_mistake)
    first = suspects[0]
    assert (first.name, first.label, first.likelier) == ("1.png", 1, 0)
    assert pictures[1][2][int(first.y), int(first.x)]
    assert first.box[0] <= first.x <= first.box[2]
    clean = review(FolderModel.of(TWO_CLASSES, finished), finished)
    assert not clean or clean[0].score < 0.5 * first.score


def test_one_picture_alone_has_nothing_to_be_compared_with(finished):
    assert review(FolderModel.of(TWO_CLASSES, finished[:1]), finished[:1]) == []
