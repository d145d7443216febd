"""All channels as features: what lies in one that nobody sees is found, and not without it."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.engine.learnt_model import load_model, save_model
from segapp.engine.trainer import Trainer
from segapp.model.answer import final_answer
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS, FeatureGroup, Samples, preset_of, with_channels


def scene(seed=0, size=160):
    """Return what is seen of five channels, all of them, and two objects of the fifth."""
    rng = np.random.default_rng(seed)
    values = rng.normal(1000, 60, (size, size, 5))
    y, x = np.mgrid[:size, :size] / size
    values[..., 0] += 500 * (x > 0.5)  # what is seen has nothing to do with the objects
    one = (y - 0.3) ** 2 + (x - 0.3) ** 2 < 0.15**2
    other = (y - 0.7) ** 2 + (x - 0.65) ** 2 < 0.18**2
    values[one | other, 4] += 900
    values = np.clip(values, 0, 65535).astype(np.uint16)
    low, high = np.percentile(values[..., :3], (0.1, 99.9))
    rgb = np.clip((values[..., :3] - low) / (high - low) * 255, 0, 255).astype(np.uint8)
    return rgb, values, one, other


def strokes(size=160):
    k = size / 200
    return Document(
        strokes=(
            Stroke(((55 * k, 60 * k), (65 * k, 62 * k)), 4 * k, 0),
            Stroke(((20 * k, 150 * k), (40 * k, 170 * k)), 4 * k, 1),
            Stroke(((170 * k, 30 * k), (180 * k, 60 * k)), 4 * k, 1),
        )
    )


def iou(found, truth):
    return (found & truth).sum() / (found | truth).sum()


def found(settings, size=160):
    rgb, values, *_ = scene(size=size)
    return (
        final_answer(Trainer(rgb, values).updates(strokes(size), settings)).labelling.labels == 0
    )


@pytest.mark.parametrize("name", PRESETS)
def test_an_object_of_a_channel_that_is_not_shown_is_found_with_all_channels_alone(name):
    *_, one, other = scene()
    meant = one if name == "best" else one | other
    assert iou(found(PRESETS[name]), meant) < 0.5
    assert iou(found(with_channels(PRESETS[name], wanted=True)), meant) > 0.95


@pytest.mark.parametrize("name", ["best", "alike"])
def test_it_is_found_at_full_size_where_learning_is_on_less(name, monkeypatch):
    monkeypatch.setattr("segapp.imaging.pyramid.MAX_WORKING_PIXELS", 200 * 200)
    *_, one, other = scene(size=320)
    meant = one if name == "best" else one | other
    assert iou(found(with_channels(PRESETS[name], wanted=True), 320), meant) > 0.95


def test_levels_of_what_is_shown_do_not_matter_to_channels():
    rgb, values, *_ = scene()
    settings = replace(
        PRESETS["best"], features=(FeatureGroup.CHANNELS,), samples=Samples.SUPERPIXELS
    )
    answers = [
        final_answer(Trainer(shown, values).updates(strokes(), settings)).labelling.labels
        for shown in (rgb, 255 - rgb)
    ]
    np.testing.assert_array_equal(*answers)


def test_a_model_finds_it_in_another_picture_with_the_scale_it_was_learnt_with(tmp_path):
    rgb, values, *_ = scene()
    settings = with_channels(PRESETS["alike"], wanted=True)
    model = Trainer(rgb, values).learnt_model(strokes(), settings)
    save_model(model, tmp_path / "a.shlmodel")
    again = load_model(tmp_path / "a.shlmodel")
    assert again.scales == model.scales
    other_rgb, other_values, one, other = scene(seed=7)
    labels = again.apply(other_rgb, other_values).labels
    assert iou(labels == 0, one | other) > 0.95
    # Nothing is there, and nothing is found: a scale of its own would stretch noise to objects.
    dark = other_values.copy()
    dark[one | other, 4] = 1000
    assert (again.apply(other_rgb, dark).labels == 0).mean() < 0.01
    with pytest.raises(ValueError, match="channels: wanted 5, as in the picture"):
        again.apply(other_rgb)


def test_what_a_project_carries_is_of_the_channels_too():
    rgb, values, *_ = scene(size=100)
    settings = with_channels(PRESETS["best"], wanted=True)
    trainer, document = Trainer(rgb, values), strokes(100)
    answer = final_answer(trainer.updates(document, settings))
    carried = answer.snapshot()
    other = values.copy()
    other[..., 4] = other[::-1, :, 4]
    for channels in (values, other):
        fresh, recalling = Trainer(rgb, channels), Trainer(rgb, channels)
        recalling.recall(carried)
        np.testing.assert_array_equal(
            final_answer(recalling.updates(document, settings)).labelling.labels,
            final_answer(fresh.updates(document, settings)).labelling.labels,
        )


def test_channels_that_do_not_fit_are_refused():
    rgb, values, *_ = scene(size=40)
    with pytest.raises(ValueError, match="channels: wanted 40 x 40 x channels, got"):
        Trainer(rgb, values[:20])
    many = np.repeat(values, 6, axis=2)
    settings = with_channels(PRESETS["alike"], wanted=True)
    with pytest.raises(ValueError, match=r"at most 24 channels .* got 30; superpixels take any"):
        final_answer(Trainer(rgb, many).updates(strokes(40), settings))


def test_presets_are_known_with_and_without_channels():
    for name, preset in PRESETS.items():
        assert with_channels(preset, wanted=False) == preset
        assert preset_of(preset) == preset_of(with_channels(preset, wanted=True)) == name
    assert preset_of(replace(PRESETS["best"], features=(FeatureGroup.CHANNELS,))) is None
