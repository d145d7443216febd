"""What classes look like to a head, and what comes of it where colours say nothing."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from segapp.engine.encoder_features import Kinds
from segapp.engine.kernels import Geodesics
from segapp.engine.likelihood import of_kinds
from segapp.engine.region_graph import Edges
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document, Stroke
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import PRESETS, with_encoder

NETWORK = "0a" * 32
CLASSES = np.array([0, 1])


def kinds():
    """Four kinds in as many columns, the second a little like the first, in patches of columns."""
    of_pixels = np.tile(np.arange(4, dtype=np.int32), (10, 10))
    alike = np.eye(4, dtype=np.float32)
    alike[1, 0] = alike[0, 1] = 0.5
    of_patches = csr_array(100 * np.eye(4))
    return Kinds(of_pixels, of_patches, alike / alike.sum(axis=0))


def marked():
    marks = np.full((10, 40), -1, np.int16)
    marks[5, 4:8:4], marks[5, 6:10:4] = 0, 1  # kind 0 and kind 2
    return marks


def test_kinds_under_strokes_are_likely_in_their_class_and_so_are_like_ones():
    look = of_kinds(kinds(), marked(), CLASSES, background=9)
    costs = look.look().costs
    assert costs[0, 0] == costs[1, 0] == costs[2, 1] == 0.0
    assert costs[0, 1] > costs[1, 1] > 0.5
    assert costs[2, 0] > 0.5
    np.testing.assert_allclose(costs[3], 0.0)  # nobody has seen it


def test_kinds_of_an_answer_join_unless_all_is_as_it_is():
    look = of_kinds(kinds(), marked(), CLASSES, background=9)
    answer = np.array([0, 0, 1, 0], np.uint8)
    richer = look.with_answer(answer)
    assert richer.look().costs[3, 1] > 0.5
    fixed = richer.as_it_is()
    assert fixed.with_answer(1 - answer) is fixed


def test_the_unmarked_border_is_a_little_background():
    look = of_kinds(kinds(), marked(), CLASSES, background=1)
    assert look.look().costs[3, 0] > 0.0
    assert look.look().costs[3, 1] == 0.0


def test_steps_are_dearer_where_a_head_sees_an_outline():
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.ones(2))
    even = np.full((3, 2), 0.5)
    plain = Geodesics.of(edges, np.ones(2), even).distances(np.array([0]))
    told = Geodesics.of(edges, np.ones(2), even, np.array([0.25, 99.0])).distances(np.array([0]))
    np.testing.assert_allclose(told - plain, [0.0, 0.25, 0.25 + 9.0])


def picture():
    """A picture without colours; coarse cells see a blur, fine ones an object and another."""
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


def test_an_object_is_found_to_the_pixel_where_a_head_alone_sees_it():
    rgb, inside, encoded = picture()
    settings = with_encoder(PRESETS["best"], NETWORK)
    found = {}
    for name, seen in (("with", encoded), ("without", replace(encoded, fine=None))):
        trainer = Trainer(rgb, encoded=seen)
        labels = final_answer(trainer.updates(document(), settings)).labelling.labels
        found[name] = (inside & (labels == 0)).sum() / (inside | (labels == 0)).sum()
    assert found["with"] > 0.95
    assert found["with"] > found["without"] + 0.05


def test_answers_with_a_head_are_the_same_after_undo_and_after_reopening():
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
