"""Object proposals against discs that are known."""

import numpy as np
import pytest

from segapp import SegappError, Segmenter
from segapp.engine.trainer import Trainer
from segapp.model.answer import PROPOSAL_SIZES
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS


def scene(times=1):
    """An orange disc and a green one on blue, of a tenth and a thirtieth of the image."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[: 90 * times, : 120 * times] / times
    large = (x - 40) ** 2 + (y - 45) ** 2 < 18.5**2
    small = (x - 95) ** 2 + (y - 40) ** 2 < 10.7**2
    rgb = np.where(large[..., None], (210, 120, 40), (60, 90, 140))
    rgb = np.where(small[..., None], (60, 170, 60), rgb) + rng.normal(0, 6, (*large.shape, 3))
    return np.clip(rgb, 0, 255).astype(np.uint8), large, small


def overlap(one, other):
    return (one & other).sum() / (one | other).sum()


def test_the_object_at_a_point_is_found():
    rgb, large, small = scene()
    segmenter = Segmenter(rgb)
    assert overlap(segmenter.propose_object(40, 45, 3), large) > 0.9
    assert overlap(segmenter.propose_object(95, 40, 2), small) > 0.9


def test_it_contains_the_point_and_is_one_piece_of_growing_size():
    from scipy import ndimage

    rgb, *_ = scene()
    segmenter = Segmenter(rgb)
    areas = []
    for size in range(len(PROPOSAL_SIZES)):
        mask = segmenter.propose_object(30.5, 50.5, size)
        assert mask.shape == rgb.shape[:2]
        assert mask[50, 30]
        assert ndimage.label(mask)[1] == 1
        areas.append(mask.mean())
    assert areas[0] < 0.5 * areas[3] < areas[-1]


def test_large_pictures_have_outlines_at_full_size():
    rgb, large, _ = scene(10)
    segmenter = Segmenter(rgb)
    (proposal,) = segmenter.proposals(400, 450, 3)
    assert proposal.times > 1
    mask = segmenter.full_size_proposal(proposal)
    assert mask.shape == large.shape
    assert overlap(mask, large) > 0.95


@pytest.mark.parametrize("preset", ["alike", "paper"])
def test_presets_without_superpixels_propose_as_well(preset):
    rgb, *_ = scene()
    mask = Segmenter(rgb, preset=preset).propose_object(40, 45)
    assert mask[45, 40]


def test_no_answer_depends_on_proposals():
    from segapp.model.answer import final_answer

    rgb, *_ = scene()
    strokes = (Stroke(((40.0, 45.0),), 4.0, 0), Stroke(((70.0, 10.0),), 4.0, 1))
    plain, asked = Trainer(rgb), Trainer(rgb)
    for x in (40, 95, 10):
        asked.propose_object(x, 40, PRESETS["best"], 3)
    labels = [
        final_answer(trainer.updates(Document(strokes=strokes), PRESETS["best"])).labelling.labels
        for trainer in (plain, asked)
    ]
    np.testing.assert_array_equal(*labels)


def test_a_point_outside_has_no_object_and_a_wrong_size_is_refused():
    rgb, *_ = scene()
    segmenter = Segmenter(rgb)
    assert segmenter.propose_object(120, 5) is None
    with pytest.raises(SegappError, match="size: wanted 0 to 6, got 7"):
        segmenter.propose_object(5, 5, 7)
