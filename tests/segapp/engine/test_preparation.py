"""Images with a smaller working resolution, and with channels as features."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from segapp.engine.learnt_model import load_model, save_model
from segapp.engine.trainer import Trainer, segment
from segapp.imaging import pyramid
from segapp.imaging.rasterise import rasterize
from segapp.model.answer import final_answer
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS, FeatureGroup, Samples, preset_of, with_channels

SIZE = (150, 201)


@pytest.fixture
def small_is_large(monkeypatch):
    """Halve images of some thousand pixels: a pixel of the working resolution has 2 x 2."""
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


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("seed", range(4))
def test_an_update_equals_a_fresh_answer(rgb, seed):
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


@pytest.mark.usefixtures("small_is_large")
def test_paper_paints_each_pixel_by_its_own_colour():
    """A pattern that halving removes is in the answer, pixel by pixel."""
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


@pytest.mark.usefixtures("small_is_large")
def test_margins_and_codes_are_given_for_any_box(rgb):
    document = Document().with_stroke(Stroke(((90.0, 70.0),), 6.0, 0))
    document = document.with_stroke(Stroke(((10.0, 10.0), (190.0, 12.0)), 4.0, 1))
    answer = segment(rgb, document, PRESETS["best"])
    for box in (np.s_[3:90, 7:150], np.s_[1::3, 2::5], np.s_[149:150, 200:201]):
        np.testing.assert_array_equal(answer.margins[box], answer.margin[box])
        np.testing.assert_array_equal(answer.hash_codes[box], answer.codes[box])


def scene(seed=0, size=160):
    """Return three of five channels as colours, all channels, and two objects of the fifth."""
    rng = np.random.default_rng(seed)
    values = rng.normal(1000, 60, (size, size, 5))
    y, x = np.mgrid[:size, :size] / size
    values[..., 0] += 500 * (x > 0.5)  # the colours do not show the objects
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
def test_an_object_of_a_hidden_channel_is_found_with_all_channels_alone(name):
    *_, one, other = scene()
    meant = one if name == "best" else one | other
    assert iou(found(PRESETS[name]), meant) < 0.5
    assert iou(found(with_channels(PRESETS[name], wanted=True)), meant) > 0.95


@pytest.mark.parametrize("name", ["best", "alike"])
def test_a_large_image_with_channels_is_segmented_at_full_size(name, monkeypatch):
    monkeypatch.setattr("segapp.imaging.pyramid.MAX_WORKING_PIXELS", 200 * 200)
    *_, one, other = scene(size=320)
    meant = one if name == "best" else one | other
    assert iou(found(with_channels(PRESETS[name], wanted=True), 320), meant) > 0.95


def test_display_levels_do_not_change_channels():
    rgb, values, *_ = scene()
    settings = replace(
        PRESETS["best"], features=(FeatureGroup.CHANNELS,), samples=Samples.SUPERPIXELS
    )
    answers = [
        final_answer(Trainer(shown, values).updates(strokes(), settings)).labelling.labels
        for shown in (rgb, 255 - rgb)
    ]
    np.testing.assert_array_equal(*answers)


def test_a_model_scales_channels_of_another_image_as_in_training(tmp_path):
    rgb, values, *_ = scene()
    settings = with_channels(PRESETS["alike"], wanted=True)
    model = Trainer(rgb, values).learnt_model(strokes(), settings)
    save_model(model, tmp_path / "a.shlmodel")
    again = load_model(tmp_path / "a.shlmodel")
    assert again.scales == model.scales
    other_rgb, other_values, one, other = scene(seed=7)
    labels = again.apply(other_rgb, other_values).labels
    assert iou(labels == 0, one | other) > 0.95
    # There is no object, and none is found: a scale of its own would stretch noise to objects.
    dark = other_values.copy()
    dark[one | other, 4] = 1000
    assert (again.apply(other_rgb, dark).labels == 0).mean() < 0.01
    with pytest.raises(ValueError, match="channels: wanted 5, as in the image"):
        again.apply(other_rgb)


def test_a_snapshot_depends_on_the_channels():
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


def test_mismatched_channels_are_refused():
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
