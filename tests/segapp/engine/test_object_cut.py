"""Touching objects of one class, divided by the engine of the classes."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS

CLASSES = (ClassInfo("car", (230, 159, 0)), ClassInfo("background", (0, 114, 178)))
HEIGHT, WIDTH = 80, 120


def scene():
    """Two boxes that touch, red and blue, and a third behind a pole."""
    truth = np.zeros((HEIGHT, WIDTH), int)
    truth[10:40, 15:45], truth[12:42, 45:90] = 1, 2
    truth[52:72, 20:100] = 3
    truth[48:76, 58:64] = 0  # the pole
    colours = np.array([(90, 140, 90), (200, 60, 50), (60, 70, 190), (210, 200, 90)])
    noise = np.random.default_rng(0).normal(0, 8, (HEIGHT, WIDTH, 3))
    return np.clip(colours[truth] + noise, 0, 255).astype(np.uint8), truth


def line(start, end, label, number=0):
    return Stroke((start, end), 3.0, label, object_number=number)


MARKS = (
    line((20.0, 25.0), (30.0, 25.0), 0, 1),
    line((70.0, 27.0), (82.0, 27.0), 0, 2),
    line((30.0, 62.0), (45.0, 62.0), 0, 3),
    line((75.0, 62.0), (90.0, 62.0), 0, 3),
    line((4.0, 46.0), (110.0, 46.0), 1),
    line((61.0, 54.0), (61.0, 70.0), 1),
)


def answer(trainer, document):
    return final_answer(trainer.updates(document, DEFAULT_SETTINGS)).labelling


@pytest.fixture(scope="module")
def picture():
    return scene()


def test_touching_objects_are_divided_and_parts_behind_a_pole_joined(picture):
    rgb, truth = picture
    labelling = answer(Trainer(rgb), Document(CLASSES, MARKS))
    assert labelling.objects.keys == ((0, 1), (0, 2), (0, 3))
    for number in (1, 2, 3):
        found, true = labelling.objects.pixels((0, number)), truth == number
        assert (found & true).sum() / (found | true).sum() > 0.97
    left, right = (labelling.objects.pixels((0, 3))[:, part] for part in (slice(58), slice(64, 0)))
    assert left.any()
    assert not right.any()


def test_numbers_change_no_mask(picture):
    """To the bit, whichever objects the strokes belong to."""
    rgb, _ = picture
    numbered = answer(Trainer(rgb), Document(CLASSES, MARKS))
    plain_marks = tuple(replace(mark, object_number=0) for mark in MARKS)
    plain = answer(Trainer(rgb), Document(CLASSES, plain_marks))
    assert plain.objects is None
    assert (plain.labels == numbered.labels).all()
    assert (plain.margin == numbered.margin).all()
    assert (plain.codes == numbered.codes).all()


def test_objects_alone_are_not_learnt_again(picture, monkeypatch):
    rgb, _ = picture
    trainer, document = Trainer(rgb), Document(CLASSES, MARKS)
    before = answer(trainer, document)
    monkeypatch.setattr(Trainer, "_answer", None)
    renumbered = document.with_object_moved((0, 2), (0, 9))
    cut = replace(renumbered, cuts=(Stroke(((5.0, 25.0), (50.0, 25.0)), 0.5, None),))
    anchored = cut.with_object(ObjectInfo(0, 8, anchors=((40.5, 30.5),)))
    split = replace(anchored, classes=(replace(CLASSES[0], split=True), CLASSES[1]))
    for changed in (renumbered, cut, anchored, split):
        after = answer(trainer, changed)
        assert after.labels is before.labels
        assert (0, 9) in after.objects.keys
    assert (0, 8) in answer(trainer, anchored).objects.keys


def test_the_same_objects_come_after_any_earlier_request(picture):
    rgb, _ = picture
    document = Document(CLASSES, MARKS)
    fresh = answer(Trainer(rgb), document).objects
    trainer = Trainer(rgb)
    answer(trainer, replace(document, strokes=MARKS[:5]))
    answer(trainer, document.with_object_moved((0, 2), (0, 3)))
    again = answer(trainer, document).objects
    assert again.keys == fresh.keys
    assert (again.index_map == fresh.index_map).all()


def test_retouches_are_of_objects_too(picture):
    rgb, _ = picture
    document = Document(CLASSES, MARKS).with_retouch(Stroke(((100.5, 20.5),), 4.0, 0))
    labelling = answer(Trainer(rgb), document)
    assert labelling.objects.keys == ((0, 1), (0, 2), (0, 3), (0, 4))
    assert labelling.objects.at(100, 20) == (0, 4)


def test_many_objects_of_a_piece_go_by_nearness(picture):
    rgb, _ = picture
    dots = tuple(line((18.0 + 7 * k, 25.0), (18.0 + 7 * k, 25.0), 0, k + 1) for k in range(10))
    thin = tuple(replace(dot, radius=1.0) for dot in dots)
    document = Document(CLASSES, (*MARKS[4:], *MARKS[:1], *thin))
    objects = answer(Trainer(rgb), document).objects
    assert {(0, k + 1) for k in range(10)} <= set(objects.keys)


def test_a_large_image_is_divided_at_its_own_size():
    rgb, truth = scene()
    large = np.repeat(np.repeat(rgb, 14, axis=0), 14, axis=1)  # of 1.9 MP: learnt at half of it
    marks = tuple(
        replace(mark, points=tuple((14 * x, 14 * y) for x, y in mark.points), radius=40.0)
        for mark in MARKS
    )
    labelling = answer(Trainer(large), Document(CLASSES, marks))
    for number in (1, 2, 3):
        found = labelling.objects.pixels((0, number))[::14, ::14]
        true = truth == number
        assert (found & true).sum() / (found | true).sum() > 0.95
