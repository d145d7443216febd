"""Strokes correct an answer that was there before them."""

import numpy as np
import pytest

from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.document import Document, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS


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


def test_without_strokes_it_is_the_answer(scene):
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


def test_an_answer_of_another_picture_is_told(scene):
    rgb, labels, *_ = scene
    with pytest.raises(ValueError, match=r"before\.png has 160 x 80 pixels: wanted the picture's"):
        answered(rgb, start_of(labels[:80]))
