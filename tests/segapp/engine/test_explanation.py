"""Explanations against the costs that they explain, and against learning without a stroke."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.engine.trainer import Trainer
from segapp.imaging.rasterise import rasterize
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.explanation import Source
from segapp.model.settings import PRESETS, FeatureGroup
from segapp.model.validation import SegappError

QUICK = replace(PRESETS["best"], prototypes=150)


def discs():
    """Two orange discs on blue."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:60, :120]
    inside = np.zeros((60, 120), bool)
    for column in (30, 90):
        inside |= (x - column) ** 2 + (y - 30) ** 2 < 15**2
    rgb = np.where(inside[..., None], (210, 120, 40), (60, 90, 140)) + rng.normal(
        0, 8, (60, 120, 3)
    )
    return np.clip(rgb, 0, 255).astype(np.uint8)


RGB = discs()


def dab(x, y, label, radius=3.0):
    return Stroke(((x, y),), radius, label)


ON_BOTH = (dab(30, 30, 0), dab(60, 8, 1), dab(90, 30, 0), dab(60, 52, 1))


def answered(strokes, settings=QUICK):
    return final_answer(Trainer(RGB).updates(Document(strokes=strokes), settings))


@pytest.fixture(scope="module")
def both():
    return answered(ON_BOTH)


def test_the_parts_sum_to_the_lead(both):
    rng = np.random.default_rng(0)
    unmarked = np.argwhere(rasterize(Document(strokes=ON_BOTH), RGB.shape[:2]) < 0)
    for row, column in rng.choice(unmarked, 30):
        explained = next(both.explain(column + 0.5, row + 0.5))
        assert explained.label == both.labelling.labels[row, column]
        total = sum(part.value for part in explained.contributions)
        assert total == pytest.approx(explained.lead, abs=1e-5)
        values = explained.code.values
        bits = sum(int(value >= 0) << bit for bit, value in enumerate(values))
        assert bits == both.labelling.codes[row, column]


def test_kernels_sum_to_the_learners_part(both):
    """The distance of f between the two codewords, as the cut has it."""
    explained = next(both.explain(40.5, 30.5))
    code = explained.code
    apart = np.subtract(code.word, code.other)
    clipped = np.clip(code.values, -1, 1)
    wanted = apart @ clipped / (2 * len(apart))
    constant = sum(
        part.value for part in explained.contributions if part.source is Source.CONSTANT
    )
    assert sum(value for _, value in explained.kernels) + constant == pytest.approx(wanted)
    assert [bit for bit in range(len(apart)) if apart[bit]] == list(code.deciding)


def test_a_disc_is_explained_by_the_dab_on_it(both):
    """Both dabs have its colour; the one on it is nearer, and decides."""
    for x, stroke, other in ((38.5, 0, 2), (82.5, 2, 0)):
        *_, explained = both.explain(x, 33.5)
        near = {
            part.stroke: part.value
            for part in explained.contributions
            if part.ground is FeatureGroup.NEARNESS
        }
        assert near[stroke] > 2 * near.get(other, 0.0)
        falls = {effect.strokes: effect.fall for effect in explained.effects}
        assert falls[stroke,] == 1.0
        assert falls[other,] < 1.0


def test_the_decisive_strokes_decide(both):
    """Without the dab, its disc is lost: a component without a stroke is dropped."""
    *_, explained = both.explain(82.5, 33.5)
    assert 2 in explained.decisive()
    fresh = answered((ON_BOTH[0], ON_BOTH[1], ON_BOTH[3]))
    without = {effect.strokes: effect for effect in explained.effects}[2,]
    assert without.label == fresh.labelling.labels[33, 82]
    assert without.label == 1
    assert "Without stroke 3 it would be background" in explained.sentence(
        ("foreground", "background")
    )


def test_a_pixel_under_a_stroke_is_marked(both):
    (explained,) = both.explain(30.5, 30.5)
    (part,) = explained.contributions
    assert (part.source, part.stroke, part.ground) == (Source.STROKE, 0, None)
    assert explained.decisive() == (0,)
    assert explained.sentence(("thing", "rest")) == "thing, because stroke 1 marks it."


def test_the_border_counts_while_the_background_has_no_marks():
    explained = next(answered(ON_BOTH[:1]).explain(60.5, 5.5))
    assert explained.label == 1
    shares = [
        explained.share(part) for part in explained.contributions if part.source is Source.BORDER
    ]
    assert sum(shares) > 0.2


def test_the_answer_before_has_a_share_of_its_own(both):
    parts = next(both.explain(38.5, 33.5)).contributions
    assert any(part.source is Source.ANSWER and part.ground is None for part in parts)
    alone = next(answered(ON_BOTH[:1]).explain(38.5, 33.5)).contributions
    assert not any(part.source is Source.ANSWER and part.ground is None for part in alone)


@pytest.mark.parametrize("preset", ["paper", "alike"])
def test_without_regions_the_pixels_are_explained_as_well(preset):
    settings = replace(PRESETS[preset], passes=3)
    answer = answered(ON_BOTH, settings)
    explained = next(answer.explain(38.5, 33.5))
    assert explained.label == 0
    assert sum(part.value for part in explained.contributions) == pytest.approx(
        explained.lead, abs=1e-5
    )


def test_several_classes_and_a_working_resolution():
    classes = tuple(ClassInfo(name, (i, i, i)) for i, name in enumerate(("a", "b", "rest")))
    large = RGB.repeat(12, axis=0).repeat(12, axis=1)
    strokes = (dab(360, 360, 0, 36.0), dab(1080, 360, 1, 36.0), dab(720, 96, 2, 36.0))
    trainer = Trainer(large)
    answer = final_answer(trainer.updates(Document(classes, strokes), QUICK))
    explained = next(answer.explain(1200.5, 360.5))
    assert explained.label == 1
    assert next(iter(explained.stroke_shares())) == 1
    total = sum(part.value for part in explained.contributions)
    assert total == pytest.approx(explained.lead, abs=1e-5)


def test_a_point_outside_is_refused(both):
    with pytest.raises(SegappError, match="wanted one in the image of 120 x 60 pixels"):
        next(both.explain(120.0, 5.0))
