import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from segapp.engine.learnt_model import LearntModelError, load_model, save_model
from segapp.engine.trainer import Trainer
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document, Stroke
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import PRESETS, FeatureGroup

SETTINGS = replace(PRESETS["best"], prototypes=150)


def picture(seed, flipped=False):
    rng = np.random.default_rng(seed)
    y, x = np.indices((60, 80))
    inside = (y - 30) ** 2 + (x - (55 if flipped else 25)) ** 2 < 300
    rgb = np.where(inside[..., None], (200, 90, 60), (60, 110, 160))
    return np.clip(rgb + rng.normal(0, 9, rgb.shape), 0, 255).astype(np.uint8), inside


@pytest.fixture(scope="module")
def model():
    rgb, _ = picture(0)
    strokes = (Stroke(((25, 30), (30, 32)), 4, 0), Stroke(((60, 10), (70, 50)), 4, 1))
    return Trainer(rgb).learnt_model(Document(strokes=strokes), SETTINGS)


def test_a_model_round_trips_and_labels_another_image(model, tmp_path):
    rgb, inside = picture(1, flipped=True)
    direct = model.apply(rgb)
    assert ((direct.labels == 0) == inside).mean() > 0.99
    path = tmp_path / "coins.shlmodel"
    save_model(model, path)
    read = load_model(path)
    again = read.apply(rgb)
    np.testing.assert_array_equal(again.labels, direct.labels)
    np.testing.assert_array_equal(again.codes, direct.codes)
    np.testing.assert_allclose(again.margin, direct.margin, rtol=1e-6)
    assert read.classes == model.classes
    assert read.settings == model.settings


def test_features_specific_to_one_image_are_left_out(model):
    assert model.settings.features == (FeatureGroup.TEXTURE,)


def test_position_alone_cannot_be_transferred():
    rgb, _ = picture(0)
    document = Document(strokes=(Stroke(((9, 9),), 4, 0), Stroke(((60, 10),), 4, 1)))
    with pytest.raises(ValueError, match="features: wanted a group that means the same"):
        Trainer(rgb).learnt_model(document, replace(SETTINGS, features=(FeatureGroup.POSITION,)))


def test_the_file_holds_no_pickle(model, tmp_path):
    path = tmp_path / "m.shlmodel"
    save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        inner = tmp_path / "learner.npz"
        inner.write_bytes(archive.read("learner"))
    with np.load(inner, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_other_files_are_refused(model, tmp_path):
    path = tmp_path / "m.shlmodel"
    path.write_bytes(b"not a zip")
    with pytest.raises(LearntModelError, match=r"m\.shlmodel is damaged or not a learnt model"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": "a cake", "version": 1}))
    with pytest.raises(LearntModelError, match="is not a learnt model"):
        load_model(path)
    save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({**header, "version": 99}))
    with pytest.raises(LearntModelError, match="newer version: wanted version 1, got 99"):
        load_model(path)


def test_a_file_cut_short_is_damaged(model, tmp_path):
    path = tmp_path / "m.shlmodel"
    save_model(model, path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(LearntModelError, match="damaged"):
        load_model(path)


def test_the_background_may_be_listed_first():
    """It is the class named so: once the object was emptied as a "hole" of the last class."""
    rgb, inside = picture(0)
    strokes = (Stroke(((25, 30), (30, 32)), 4, 1), Stroke(((60, 10), (70, 50)), 4, 0))
    document = Document(TWO_CLASSES[::-1], strokes)
    found = Trainer(rgb).learnt_model(document, SETTINGS).apply(rgb)
    assert ((found.labels == 1) == inside).mean() > 0.99


NETWORK = "0a" * 32
WITH = replace(SETTINGS, features=(*SETTINGS.features, FeatureGroup.ENCODER), encoder=NETWORK)


def seen(inside, channels=8):
    """Return encoder features of the object, wherever that is and whatever its colour."""
    rng = np.random.default_rng(3)
    of_class = rng.normal(size=(2, channels))
    cells = of_class[inside[2::4, 2::4].astype(int)] + 7 + rng.normal(0, 0.1, (15, 20, channels))
    return EncoderFeatures(cells.astype(np.float16), (4.0, 4.0), NETWORK)


@pytest.fixture(scope="module")
def seeing_model():
    rgb, inside = picture(0)
    strokes = (Stroke(((25, 30), (30, 32)), 4, 0), Stroke(((60, 10), (70, 50)), 4, 1))
    return Trainer(rgb, encoded=seen(inside)).learnt_model(Document(strokes=strokes), WITH)


def test_encoder_features_are_transferred(model, seeing_model, tmp_path):
    assert seeing_model.settings.features == (FeatureGroup.TEXTURE, FeatureGroup.ENCODER)
    rgb, inside = picture(1, flipped=True)
    rgb = rgb[..., ::-1].copy()  # another colour, which alone misleads
    assert ((model.apply(rgb).labels == 0) == inside).mean() < 0.5
    path = tmp_path / "coins.shlmodel"
    save_model(seeing_model, path)
    read = load_model(path)
    direct = seeing_model.apply(rgb, encoded=seen(inside))
    np.testing.assert_array_equal(read.apply(rgb, encoded=seen(inside)).labels, direct.labels)
    np.testing.assert_array_equal(
        read.encoder_classifier.centre, seeing_model.encoder_classifier.centre
    )
    assert ((direct.labels == 0) == inside).mean() > 0.85


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "encoded: wanted what the encoder sees in the picture, got nothing"),
        (seen(np.ones((60, 80), bool), 9), "encoded: wanted 8 channels, got 9"),
        (
            replace(seen(np.ones((60, 80), bool)), encoder="1b" * 32),
            "encoded: wanted what encoder 0a0a0a0a sees in the picture, got that of 1b1b1b1b",
        ),
    ],
)
def test_another_image_needs_features_of_the_same_encoder(seeing_model, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        seeing_model.apply(picture(1)[0], encoded=given)


def test_a_model_without_its_encoder_classifier_is_refused(seeing_model, tmp_path):
    path, other = tmp_path / "m.shlmodel", tmp_path / "n.shlmodel"
    save_model(seeing_model, path)
    for content in (None, b"", np.zeros(9).tobytes(), np.full(27, np.nan).tobytes()):
        with zipfile.ZipFile(path) as whole, zipfile.ZipFile(other, "w") as part:
            for name in whole.namelist():
                if name != "sight.f8":
                    part.writestr(name, whole.read(name))
            if content is not None:
                part.writestr("sight.f8", content)
        with pytest.raises(LearntModelError):
            load_model(other)


def test_evidence_of_a_model_comes_from_left_out_strokes():
    rgb, inside = picture(0)
    several = (
        Stroke(((20, 25),), 3, 0),
        Stroke(((30, 36),), 3, 0),
        Stroke(((60, 10), (70, 50)), 3, 1),
        Stroke(((8, 52),), 3, 1),
    )
    document = Document(strokes=several)
    clear = Trainer(rgb, encoded=seen(inside)).learnt_model(document, WITH)
    assert clear.encoder_classifier.ridge.evidence > 0.5
    blind = replace(seen(inside), cells=seen(np.zeros_like(inside)).cells)
    assert (
        Trainer(rgb, encoded=blind).learnt_model(document, WITH).encoder_classifier.ridge.evidence
        < 0.2
    )
