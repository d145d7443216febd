"""The headless segmenter: any input, any order of edits, the same pixels everywhere."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings as profile
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from PIL import Image
from threadpoolctl import threadpool_info

import segapp
from segapp.app.segmenter import ProvisionalAnswer
from segapp.io.project import Project, save_project
from segapp.model.answer import Answer, NotEnoughStrokes, Report
from segapp.model.display import DisplaySettings, Levels
from segapp.model.document import Document, Stroke
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS, SettingsChoice, with_encoder
from shlcore.parallel import limit_threads
from tests.segapp.fake_segmenter import NearestColour

SAMPLES = Path(__file__).parents[3] / "assets" / "samples"
QUICK = replace(DEFAULT_SETTINGS, prototypes=60)


def two_halves(height=24, width=32):
    """Return red and blue halves, with a little noise, and a dot of label on each."""
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 30, (height, width, 3)).astype(np.uint8)
    rgb[:, : width // 2, 0] += 200
    rgb[:, width // 2 :, 2] += 200
    labels = np.zeros((height, width), np.uint8)
    labels[8:12, 4:8], labels[8:12, -8:-4] = 1, 2
    return rgb, labels


# Inputs --------------------------------------------------------------------------------------


GREY = np.tile(np.linspace(0, 1, 32), (24, 1))


@pytest.mark.parametrize(
    "image",
    [
        GREY > 0.5,
        (GREY * 255).astype(np.uint8),
        (GREY * 255).astype(np.uint8)[:, :, np.newaxis],
        (GREY * 60_000).astype(np.uint16),
        (GREY * 100).astype(np.int8),
        (GREY * 1e6).astype(np.int64),
        GREY.astype(np.float16),
        GREY.astype(">f4"),
        GREY,
        GREY.astype(np.longdouble),
        np.dstack([GREY, 1 - GREY]),
        np.dstack([GREY, 1 - GREY, GREY]).astype(np.float32),
        (np.dstack([GREY] * 4) * 255).astype(np.uint8),
        (np.dstack([GREY] * 7) * 255).astype(np.uint8),
        GREY.tolist(),
    ],
    ids=lambda image: f"{np.asarray(image).dtype}-{np.asarray(image).shape[2:]}",
)
def test_an_image_may_be_any_array_of_numbers(image):
    _, labels = two_halves()
    result = segapp.segment(image, labels, settings=QUICK)
    assert result.labels.shape == (24, 32)
    assert result.mask[10, 5]
    assert not result.mask[10, -6]


def test_bytes_mean_what_an_image_file_of_them_means(tmp_path):
    rng = np.random.default_rng(1)
    for n_channels, mode in ((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
        values = rng.integers(0, 256, (6, 5, n_channels), np.uint8)
        path = tmp_path / f"{mode}.png"
        Image.fromarray(values.squeeze(), mode).save(path)
        made, read = segapp.Segmenter(values).picture, segapp.load_image(path)
        np.testing.assert_array_equal(made.rgb, read.rgb)
        assert (made.alpha is None) == (read.alpha is None)


def test_an_image_array_may_change_afterwards():
    rgb, labels = two_halves()
    before = segapp.segment(rgb, labels, settings=QUICK)
    values = rgb.astype(np.float32)
    for image in (rgb.copy(), values):
        segmenter = segapp.Segmenter(image, labels, settings=QUICK)
        image[:] = 0
        np.testing.assert_array_equal(segmenter.result.mask, before.mask)


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (np.zeros(5), r"image: wanted an array of H x W .* got shape \(5,\)"),
        (np.zeros((2, 0)), "image: wanted an array"),
        (np.zeros((1, 2, 3, 4)), "image: wanted an array"),
        (np.zeros((4, 4), complex), "image: wanted an array of numbers, got one of complex"),
        (np.full((4, 4), "a"), "image: wanted an array of numbers"),
        (Path("nowhere.png"), "There is no file"),
    ],
)
def test_an_array_or_file_that_is_no_image_is_refused_in_one_sentence(image, sentence):
    with pytest.raises(segapp.SegappError, match=sentence):
        segapp.Segmenter(image)


@pytest.mark.parametrize(
    ("strokes", "classes", "sentence"),
    [
        (np.zeros((3, 3), int), None, "strokes: wanted whole numbers of the image's 24 x 32"),
        (np.zeros((24, 32)), None, "strokes: wanted whole numbers"),
        (np.full((24, 32), -1), None, "classes from 1 to 8, got -1"),
        (np.full((24, 32), 255), None, "classes from 1 to 8, got 255"),
        (np.full((24, 32), 3), ["cat", "dog"], "classes from 1 to 2, got 3"),
        (np.zeros((24, 32), int), ["cat"], "classes: wanted 2 to 255 names, got 1"),
        (np.zeros((24, 32), int), ["cat", "cat"], "classes: wanted names that differ"),
        (np.zeros((24, 32), int), None, "Nothing is marked yet"),
        (np.eye(24, 32, dtype=int) * 2, None, "Only background is marked"),
        ("nowhere.segapp", None, "There is no file"),
    ],
)
def test_strokes_that_cannot_be_used_are_refused_in_one_sentence(strokes, classes, sentence):
    with pytest.raises(segapp.SegappError, match=sentence):
        segapp.segment(two_halves()[0], strokes, classes=classes)


def test_a_label_array_is_one_state_whose_classes_may_be_named():
    rgb, labels = two_halves()
    labels[0, 0] = 3
    plain = segapp.Segmenter(rgb, labels)
    assert [info.name for info in plain.document.classes] == [
        "foreground",
        "background",
        "class 3",
    ]
    assert plain.document.previous_state is None
    named = segapp.Segmenter(rgb, labels, classes=["cat", "dog", "background", "bird"])
    assert [info.name for info in named.document.classes] == ["cat", "dog", "background", "bird"]
    assert named.document.background == 2


def test_settings_come_from_the_project_or_a_preset_or_in_full(tmp_path):
    rgb, labels = two_halves()
    segmenter = segapp.Segmenter(rgb, labels, preset="alike")
    segmenter.save(tmp_path / "own.segapp")
    project = tmp_path / "own.segapp"
    assert segapp.Segmenter(rgb, project).settings == PRESETS["alike"]
    assert segapp.Segmenter(rgb, segapp.load_project(project)).settings == PRESETS["alike"]
    assert segapp.Segmenter(rgb, project, preset="paper").settings == PRESETS["paper"]
    assert segapp.Segmenter(rgb, labels).settings == DEFAULT_SETTINGS
    assert segapp.Segmenter(rgb, labels, settings=QUICK).settings == QUICK
    choice = SettingsChoice(changes=("bits=8",))
    assert segapp.Segmenter(rgb, project, settings=choice).settings.bits == 8
    assert segapp.Segmenter(rgb, project, encoder="").settings == PRESETS["alike"]
    with pytest.raises(segapp.SegappError, match="preset: wanted one of best, alike, paper"):
        segapp.segment(rgb, labels, preset="worst")


# Edits ---------------------------------------------------------------------------------------


def test_strokes_may_be_arrays_and_classes_names_or_numbers():
    segmenter = segapp.Segmenter(two_halves()[0])
    segmenter.add_stroke(np.array([[5.5, 9.5], [7.5, 9.5]]), 0, radius=2)
    segmenter.add_stroke([(28, 9)], "background", radius=2)
    segmenter.add_stroke([(28, 9)], None, radius=1)
    mask = np.zeros((24, 32), bool)
    mask[2:4, 2:4] = True
    segmenter.add_mask(mask, "foreground")
    labels = [mark.label for mark in segmenter.document.strokes]
    assert labels == [0, 1, None, 0]
    for _ in range(4):
        segmenter.undo()
    segmenter.undo()
    assert tuple(segmenter.document.strokes) == ()
    segmenter.redo()
    assert len(segmenter.document.strokes) == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.add_stroke([(1, 2)], "cat"), "label: wanted one of foreground, background"),
        (lambda s: s.add_stroke([(1, 2)], 2), "label: wanted a class from 0 to 1, got 2"),
        (lambda s: s.add_stroke([1, 2]), r"points: wanted pairs of x and y, got shape \(2,\)"),
        (lambda s: s.add_stroke([(1, np.nan)]), "points: wanted finite numbers"),
        (lambda s: s.add_stroke([(1, 2)], radius=-1), "radius: wanted a positive number"),
        (lambda s: s.add_mask(np.ones((2, 2), bool)), "mask: wanted 24 x 32 of bool"),
        (lambda s: s.add_mask(np.zeros((24, 32), bool)), "mask: wanted at least one pixel"),
        (lambda s: s.set_settings("worst"), "preset: wanted one of"),
        (lambda s: s.save("cat.png"), "wanted a name that ends in .segapp"),
        (lambda s: s.result, "Nothing is marked yet"),
    ],
)
def test_edits_that_are_wrong_are_refused_and_change_nothing(call, sentence):
    segmenter = segapp.Segmenter(two_halves()[0])
    with pytest.raises(segapp.SegappError, match=sentence):
        call(segmenter)
    assert segmenter.document == Document()


class AnyOrder(RuleBasedStateMachine):
    """Edits, undo and redo in any order; the result is that of the document from scratch."""

    def __init__(self):
        super().__init__()
        self.rgb = two_halves()[0]
        self.segmenter = segapp.Segmenter(self.rgb, settings=QUICK)

    @rule(
        x=st.integers(0, 31),
        y=st.integers(0, 23),
        label=st.sampled_from([0, 1, 0, 1, None]),
        radius=st.sampled_from([1.0, 3.0]),
    )
    def add_stroke(self, x, y, label, radius):
        self.segmenter.add_stroke([(x + 0.5, y + 0.5)], label, radius)

    @rule()
    def undo(self):
        self.segmenter.undo()

    @rule()
    def redo(self):
        self.segmenter.redo()

    @invariant()
    def the_result_is_that_of_a_fresh_segmenter(self):
        fresh = segapp.Segmenter(self.rgb, self.segmenter.document, settings=QUICK)
        try:
            wanted = fresh.result
        except NotEnoughStrokes as reason:
            with pytest.raises(NotEnoughStrokes, match=str(reason)):
                _ = self.segmenter.result
            return
        result = self.segmenter.result
        np.testing.assert_array_equal(result.labels, wanted.labels)
        np.testing.assert_array_equal(result.confidence, wanted.confidence)
        np.testing.assert_array_equal(result.codes, wanted.codes)


AnyOrder.TestCase.settings = profile(max_examples=12, stateful_step_count=10, deadline=None)
TestAnyOrder = pytest.mark.slow(AnyOrder.TestCase)


# Results -------------------------------------------------------------------------------------


def test_a_result_has_all_that_was_learnt():
    rgb, labels = two_halves()
    result = segapp.segment(rgb, labels, settings=QUICK)
    assert result.classes == ("foreground", "background")
    assert result.labels.dtype == np.uint8
    np.testing.assert_array_equal(result.mask, result.labels == 0)
    assert result.confidence.dtype == np.float32
    assert result.confidence[9, 5] == result.confidence.max()
    assert result.codes.shape == labels.shape
    assert result.codewords.shape == (2, 1, QUICK.bits)
    assert result.kernel_weights.shape == (QUICK.bits, len(result.kernels))
    assert list(result.objective) == sorted(result.objective, reverse=True)
    assert sum(result.shares.values()) == pytest.approx(1)


def test_a_result_is_exported_in_any_format(tmp_path):
    rgb, labels = two_halves()
    result = segapp.segment(rgb, labels, settings=QUICK)
    (path,) = result.export(tmp_path / "cat.json", format="coco-rle")
    assert len(json.loads(path.read_text())["annotations"]) == 1
    (path,) = result.export(tmp_path / "cat.png")
    np.testing.assert_array_equal(np.asarray(Image.open(path)) > 0, result.mask)
    (path,) = result.export(tmp_path / "other.png", format="mask", only="background")
    np.testing.assert_array_equal(np.asarray(Image.open(path)) > 0, ~result.mask)
    with pytest.raises(segapp.SegappError, match="format: wanted one of mask, indexed"):
        result.export(tmp_path / "cat.png", format="jpeg")
    with pytest.raises(
        segapp.SegappError, match=r"coco-rle is written to a name that ends in \.js"
    ):
        result.export(tmp_path / "cat.png", format="coco-rle")
    with pytest.raises(segapp.SegappError, match="wanted a format, or a name that ends in"):
        result.export(tmp_path / "cat.gif")
    with pytest.raises(segapp.SegappError, match="cat"):
        result.export(tmp_path / "cat.png", format="mask", only="cat")


def test_a_model_labels_other_images_and_is_read_back(tmp_path):
    rgb, labels = two_halves()
    segmenter = segapp.Segmenter(rgb, labels, settings=QUICK)
    other = np.ascontiguousarray(rgb[:, ::-1])
    model = segmenter.model()
    result = model.apply(other)
    assert result.classes == ("foreground", "background")
    assert not result.mask[:, :12].any()
    assert result.mask[:, -12:].all()
    model.save(tmp_path / "halves.shlmodel")
    Image.fromarray(other).save(tmp_path / "other.png")
    with segapp.load_model(tmp_path / "halves.shlmodel") as read:
        again = read.apply(tmp_path / "other.png")
    np.testing.assert_array_equal(again.labels, result.labels)
    assert again.codewords is None
    assert again.objective == ()


# Projects ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "image",
    [
        two_halves()[0],
        two_halves()[0][:, :, 0],
        two_halves()[0][:, :, 0] > 100,
        two_halves()[0].astype(np.uint16) * 100,
        np.dstack([two_halves()[0]] * 2),
        two_halves()[0][:, :, 0].astype(np.float64) / 255,
    ],
    ids=["rgb", "grey", "bool", "deep", "channels", "float"],
)
def test_a_saved_project_gives_the_same_result_and_has_its_image(image, tmp_path):
    segmenter = segapp.Segmenter(image, settings=QUICK)
    for x, y, label in ((5, 10, 0), (27, 10, 1), (6, 20, 0), (26, 3, 1)):
        segmenter.add_stroke([(x, y)], label, radius=2)
        if len(segmenter.document.strokes) < 2:
            continue
        result = segmenter.result
        path = tmp_path / f"{len(segmenter.document.strokes)}.segapp"
        segmenter.save(path)
        project = segapp.load_project(path)
        again = segapp.Segmenter(project.image_path, path)
        assert again.document == segmenter.document
        assert again.settings == QUICK
        np.testing.assert_array_equal(again.result.labels, result.labels)
        np.testing.assert_array_equal(again.result.confidence, result.confidence)
    assert segmenter.picture.path.is_file()


def test_saving_never_replaces_another_image(tmp_path):
    rgb, labels = two_halves()
    Image.fromarray(rgb[::-1]).save(tmp_path / "cat.png")
    before = (tmp_path / "cat.png").read_bytes()
    with pytest.raises(segapp.SegappError, match="is there already and is another image"):
        segapp.Segmenter(rgb, labels).save(tmp_path / "cat.segapp")
    assert (tmp_path / "cat.png").read_bytes() == before
    assert not (tmp_path / "cat.segapp").exists()


def test_a_project_with_levels_is_segmented_as_it_is_displayed(tmp_path):
    rng = np.random.default_rng(2)
    deep = rng.integers(0, 1000, (24, 32)).astype(np.uint16)
    segmenter = segapp.Segmenter(deep, settings=QUICK)
    segmenter.save(tmp_path / "deep.segapp")
    display = DisplaySettings(levels=(Levels(0, 500),))
    shown = Document(
        strokes=(Stroke(((5.0, 5.0),), 2, 0), Stroke(((25.0, 5.0),), 2, 1)), display=display
    )
    path = segmenter.picture.path
    save_project(tmp_path / "deep.segapp", Project(shown, QUICK, path, segmenter.picture.sha256))
    from_file = segapp.segment(path, tmp_path / "deep.segapp")
    assert from_file.picture.display == display
    segmenter.edit("levels", shown)
    np.testing.assert_array_equal(segmenter.result.labels, from_file.labels)
    np.testing.assert_array_equal(segmenter.picture.rgb, from_file.picture.rgb)


# Updates -------------------------------------------------------------------------------------


def test_updates_are_of_the_content_at_their_call():
    segmenter = segapp.Segmenter(two_halves()[0], settings=QUICK)
    (missing,) = list(segmenter.updates())
    assert isinstance(missing, NotEnoughStrokes)
    segmenter.add_stroke([(5, 10)], 0)
    segmenter.add_stroke([(27, 10)], 1)
    updates = segmenter.updates()
    segmenter.undo()
    *reports, answer = list(updates)
    assert all(isinstance(report, Report) for report in reports)
    assert isinstance(answer, Answer)


def test_without_the_features_of_its_encoder_the_answer_is_provisional():
    rgb, labels = two_halves()
    digest = "0" * 64
    segmenter = segapp.Segmenter(rgb, labels, settings=with_encoder(QUICK, digest))
    assert isinstance(list(segmenter.updates())[-1], ProvisionalAnswer)
    cells = np.random.default_rng(0).random((3, 4, 8)).astype(np.float16)
    features = EncoderFeatures(cells, (8.0, 8.0), digest)
    segmenter.attach_features(features)
    assert segmenter.encoder_features is features
    assert isinstance(list(segmenter.updates())[-1], Answer)
    assert segmenter.answer().insight is not None
    with pytest.raises(segapp.SegappError):  # neither installed nor attached
        _ = segapp.Segmenter(rgb, labels, settings=with_encoder(QUICK, digest)).result


def test_answers_are_learnt_with_one_thread():
    """Sums in another order differ in their last bits, and so may the pixels."""
    counts = set()

    class Counting(NearestColour):
        def updates(self, document, settings):
            counts.update(library["num_threads"] for library in threadpool_info())
            yield from super().updates(document, settings)

    with limit_threads(2):
        segapp.Segmenter(*two_halves(), make_trainer=Counting).answer()
    assert counts == {1}


def test_the_answer_is_computed_once_and_watched():
    calls = []

    class Counting(NearestColour):
        def updates(self, document, settings):
            calls.append(document)
            yield from super().updates(document, settings)

    rgb, labels = two_halves()
    segmenter = segapp.Segmenter(rgb, labels, make_trainer=Counting)
    steps = []
    first = segmenter.answer(lambda report: steps.append(report.step))
    assert segmenter.answer() is first
    assert steps == ["half", "nearly"]
    assert len(calls) == 1
    other = segmenter.answer(content=replace(segmenter.content, settings=QUICK))
    assert other is not first


# The same everywhere -------------------------------------------------------------------------


def test_the_api_is_imported_without_qt_and_without_the_learners_libraries():
    program = (
        "import sys, segapp; segapp.segment; segapp.Segmenter; segapp.Document; segapp.Settings\n"
        "names = ('PySide6', 'scipy', 'sklearn', 'skimage', 'PIL', 'tifffile')\n"
        "print(*[name for name in names if name in sys.modules])\n"
        "segapp.load_image; segapp.load_project; segapp.__version__; segapp.load_model\n"
        "print('PySide6' in sys.modules, sorted(set(segapp.__all__) - set(dir(segapp))))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout.splitlines() == ["", "False []"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = segapp.nothing


@pytest.mark.slow
@pytest.mark.parametrize("as_project", [False, True])
def test_the_command_gives_the_same_pixels(as_project, tmp_path):
    image, strokes = SAMPLES / "leaf.jpg", SAMPLES / "leaf-strokes.png"
    segmenter = segapp.Segmenter(image, strokes)
    if as_project:
        segmenter.add_stroke([(30, 30), (60, 30)], "background", radius=6)
        segmenter.add_stroke([(90, 40)], "background", radius=4)
        strokes = tmp_path / "leaf.segapp"
        segmenter.save(strokes)
    out = tmp_path / "leaf.npz"
    command = [sys.executable, "-m", "segapp", "segment", image, "--strokes", strokes]
    subprocess.run([*map(str, command), "--out", str(out)], check=True, capture_output=True)
    result = segmenter.result
    again = segapp.segment(image, strokes)
    with np.load(out) as arrays:
        for one in (result, again):
            np.testing.assert_array_equal(arrays["labels"], one.labels)
            np.testing.assert_array_equal(arrays["margin"], one.confidence)
            np.testing.assert_array_equal(arrays["codes"], one.codes)
