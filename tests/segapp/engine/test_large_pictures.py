"""Pictures that are learnt on at a smaller size: what is kept between strokes changes nothing."""

import numpy as np
import pytest
from scipy import ndimage

from segapp.engine.trainer import Trainer, segment
from segapp.imaging import pyramid
from segapp.imaging.rasterise import rasterize
from segapp.model.answer import final_answer
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS

SIZE = (150, 201)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    """Let a picture of some thousand pixels be a large one: its cells have 2 x 2 pixels."""
    monkeypatch.setattr(pyramid, "MAX_WORKING_PIXELS", 8000)
    assert pyramid.count_halvings(SIZE) == 1


@pytest.fixture
def rgb():
    rng = np.random.default_rng(3)
    clouds = ndimage.gaussian_filter(rng.normal(size=(*SIZE, 3)), (9, 9, 0))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    disc = np.hypot(y - 70, x - 90) < 45
    picture = (
        120 + 900 * clouds + np.where(disc, 50, -20)[..., None] + rng.normal(0, 6, (*SIZE, 3))
    )
    return np.clip(picture, 0, 255).astype(np.uint8)


def anywhere(rng, label):
    start = rng.uniform((10, 10), (190, 140))
    end = np.clip(start + rng.uniform(-25, 25, 2), 1, 140)
    return Stroke((tuple(start), tuple(end)), float(rng.uniform(2, 7)), label)


@pytest.mark.parametrize("seed", range(4))
def test_an_update_gives_what_a_fresh_start_gives(rgb, seed):
    """After strokes, erasing, undoing and other settings, in any order."""
    rng = np.random.default_rng(seed)
    document = Document().with_stroke(Stroke(((90.0, 70.0), (100.0, 80.0)), 6.0, 0))
    document = document.with_stroke(Stroke(((10.0, 10.0), (190.0, 12.0)), 4.0, 1))
    trainer, past = Trainer(rgb), [document]
    for _ in range(4):
        match int(rng.integers(5)):
            case 0 if len(past) > 1:
                document = past.pop()
            case 1:
                document = document.with_stroke(anywhere(rng, None))
            case _:
                document = document.with_stroke(anywhere(rng, int(rng.integers(2))))
        past.append(document)
        settings = PRESETS["alike" if rng.random() < 0.2 else "best"]
        grown = final_answer(trainer.updates(document, settings)).labelling
        fresh = segment(rgb, document, settings)
        np.testing.assert_array_equal(grown.labels, fresh.labels)
        np.testing.assert_array_equal(grown.margin, fresh.margin)
        np.testing.assert_array_equal(grown.codes, fresh.codes)
        marks = rasterize(document, SIZE)
        np.testing.assert_array_equal(grown.labels[marks >= 0], marks[marks >= 0])
        assert (grown.margin[marks >= 0] == grown.margin.max()).all()


def test_paper_paints_each_pixel_by_its_own_colour():
    """A pattern that halving averages away is in the answer, pixel by pixel."""
    rng = np.random.default_rng(0)
    inside = np.zeros(SIZE, bool)
    inside[:, 100:] = True
    inside[40:60, 101:141:2] = False  # lines of one pixel
    rgb = np.where(inside[..., None], (200, 60, 40), (40, 60, 200)).astype(np.uint8)
    rgb += rng.integers(0, 4, rgb.shape, dtype=np.uint8)
    document = Document().with_stroke(Stroke(((150.0, 100.0), (150.0, 140.0)), 5.0, 0))
    document = document.with_stroke(Stroke(((30.0, 20.0), (30.0, 140.0)), 5.0, 1))
    labels = segment(rgb, document, PRESETS["paper"]).labels
    np.testing.assert_array_equal(labels == 0, inside)


def test_values_are_given_for_what_is_asked(rgb):
    document = Document().with_stroke(Stroke(((90.0, 70.0),), 6.0, 0))
    document = document.with_stroke(Stroke(((10.0, 10.0), (190.0, 12.0)), 4.0, 1))
    answer = segment(rgb, document, PRESETS["best"])
    for box in (np.s_[3:90, 7:150], np.s_[1::3, 2::5], np.s_[149:150, 200:201]):
        np.testing.assert_array_equal(answer.margins[box], answer.margin[box])
        np.testing.assert_array_equal(answer.hash_codes[box], answer.codes[box])
