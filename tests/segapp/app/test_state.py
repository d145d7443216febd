import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from PIL import Image

from segapp.app import state
from segapp.app.segmenter import Segmenter
from segapp.app.state import Content, History, PictureState, outdated_preview, project_of
from segapp.batch.folder_export import FolderExport
from segapp.engine.trainer import Trainer
from segapp.imaging.rle import pack_labels
from segapp.io.export.formats import FOLDER_FORMATS
from segapp.io.images import load_image
from segapp.io.project import ProjectLocation, load_project, save_project
from segapp.model.classes import ObjectInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS
from tests.segapp.strategies import strokes

DOT = Stroke(((3.5, 2.5),), 2.0, 0)


class HistoryMachine(RuleBasedStateMachine):
    """Undo and redo against a plain list of contents with a cursor."""

    def __init__(self):
        super().__init__()
        self.history = History()
        self.contents = [Content()]
        self.names = []
        self.at = 0

    def edit(self, name, content):
        if content != self.contents[self.at]:
            self.names[self.at :] = [name]
            self.contents[self.at + 1 :] = [content]
            self.at += 1
        self.history = self.history.edit(name, content)

    @rule(stroke=strokes(), name=st.text(max_size=5))
    def paint(self, stroke, name):
        present = self.history.present
        self.edit(name, replace(present, document=present.document.with_stroke(stroke)))

    @rule()
    def clear(self):
        present = self.history.present
        self.edit("clear", replace(present, document=present.document.without_marks()))

    @rule(preset=st.sampled_from(sorted(PRESETS)))
    def choose_settings(self, preset):
        self.edit(preset, replace(self.history.present, settings=PRESETS[preset]))

    @rule()
    def undo(self):
        self.history = self.history.undo()
        self.at = max(self.at - 1, 0)

    @rule()
    def redo(self):
        self.history = self.history.redo()
        self.at = min(self.at + 1, len(self.contents) - 1)

    @invariant()
    def agrees(self):
        assert self.history.present == self.contents[self.at]
        assert self.history.undo_name == (self.names[self.at - 1] if self.at else None)
        more = self.at < len(self.contents) - 1
        assert self.history.redo_name == (self.names[self.at] if more else None)


HistoryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestHistory = HistoryMachine.TestCase


@pytest.mark.parametrize("strokes", [(), (DOT,)])
def test_undo_after_a_project_brings_back_strokes_and_settings(strokes):
    own = PictureState(Path("cat.png"), "0").with_settings("settings", PRESETS["alike"])
    project = Content(Document(strokes=strokes), PRESETS["paper"])
    opened = own.with_project("opening", project, ProjectLocation(Path("cat.segapp")))
    assert (opened.content, opened.unsaved) == (project, False)
    assert (opened.undo().content, opened.undo().unsaved) == (own.content, True)
    assert opened.undo().redo() == opened


def test_steps_of_one_number_are_one_edit_and_of_two_numbers_are_two():
    history = History()
    for smoothness in (31.0, 32.0, 33.0):
        changed = replace(DEFAULT_SETTINGS, smoothness=smoothness)
        history = history.with_settings("settings", changed)
    assert history.past.following is None
    history = history.with_settings("settings", replace(changed, bits=8))
    assert history.past.following.following is None
    assert history.undo().present.settings == changed
    assert history.undo().undo().present == Content()


def test_a_number_turned_back_is_no_edit_and_one_after_a_stroke_is_its_own():
    up = replace(DEFAULT_SETTINGS, bits=6)
    history = History().with_settings("settings", up)
    assert history.with_settings("settings", DEFAULT_SETTINGS) == History()
    stroked = Content(Document(strokes=(DOT,)), up)
    history = history.edit("stroke", stroked).with_settings("settings", replace(up, bits=7))
    assert history.undo().present == stroked


QUICK = replace(DEFAULT_SETTINGS, prototypes=60)
MARKS = (
    Stroke(((4.5, 8.5), (9.5, 9.5)), 2.0, 0),
    Stroke(((26.5, 8.5), (26.5, 14.5)), 2.0, 1),
    Stroke(((6.5, 18.5),), 1.0, 0),
)


@pytest.fixture
def image(tmp_path):
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 90, (24, 32, 3)).astype(np.uint8)
    rgb[:, :16, 0] += 100
    Image.fromarray(rgb).save(tmp_path / "cat.png")
    return tmp_path / "cat.png"


def learnt(image, document=None):
    """Save a project with its answer; return its path and the answer."""
    segmenter = Segmenter(image, document or Document(strokes=MARKS), settings=QUICK)
    answer = segmenter.answer()
    segmenter.save(image.with_suffix(".segapp"))
    return image.with_suffix(".segapp"), answer


def refused(*_):
    raise AssertionError("nothing was to be learnt")


@pytest.mark.parametrize(
    "document",
    [
        Document(strokes=MARKS),
        Document(strokes=MARKS, retouches=(Stroke(((20.5, 4.5),), 3.0, 0),)),
        Document(
            strokes=(*MARKS, replace(MARKS[2], object_number=2)),
            objects=(ObjectInfo(0, 2, "tail"),),
        ),
    ],
)
def test_a_stored_answer_is_the_learnt_one_and_learns_nothing(image, document):
    path, answer = learnt(image, document)
    found = Segmenter(image, path, make_trainer=refused).stored_answer()
    one, other = answer.labelling, found.labelling
    np.testing.assert_array_equal(other.labels, one.labels)
    assert (other.n_classes, other.n_bits) == (one.n_classes, one.n_bits)
    assert (one.objects is None) is (other.objects is None)
    if one.objects is not None:
        assert one.objects.keys == other.objects.keys
        np.testing.assert_array_equal(one.objects.index_map, other.objects.index_map)


def test_margins_and_codes_are_learnt_once_when_they_are_asked_for(image):
    path, answer = learnt(image)
    made = []
    segmenter = Segmenter(image, path, make_trainer=lambda *a: made.append(a) or Trainer(*a))
    labelling = segmenter.stored_answer().labelling
    assert (made, labelling.has_scores, answer.labelling.has_scores) == ([], False, True)
    np.testing.assert_array_equal(labelling.margin, answer.labelling.margin)
    np.testing.assert_array_equal(labelling.codes, answer.labelling.codes)
    assert len(made) == 1


def test_a_stored_answer_is_stored_again_with_all_it_had(image):
    path, _ = learnt(image)
    segmenter = Segmenter(image, path, make_trainer=refused)
    again = project_of(
        image, segmenter.picture.sha256, segmenter.content, segmenter.stored_answer()
    )
    before = load_project(path)
    assert (again.labels, again.answer) == (before.labels, before.answer)
    assert before.answer is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.with_stroke(MARKS[0]),
        lambda document: replace(document, strokes=document.strokes[:2]),
        lambda document: document.with_retouch(MARKS[0]),
        lambda document: document.with_background(0),
        lambda document: replace(document, cuts=MARKS[:1]),
        lambda document: document.as_one_state(),
    ],
)
def test_other_strokes_have_another_answer(image, change):
    path, _ = learnt(image)
    project = load_project(path)
    save_project(path, replace(project, document=change(project.document)))
    assert Segmenter(image, path).stored_answer() is None


def test_names_and_colours_are_no_reason_to_learn_again(image):
    path, _ = learnt(image)
    project = load_project(path)
    first = replace(project.document.classes[0], name="cat", colour=(1, 2, 3))
    renamed = project.document.with_class_changed(0, first)
    save_project(path, replace(project, document=renamed))
    assert Segmenter(image, path).stored_answer() is not None


def test_other_settings_pictures_and_programs_have_another_answer(image, monkeypatch):
    path, answer = learnt(image)
    assert Segmenter(image, path, preset="paper").stored_answer() is None
    with monkeypatch.context() as patched:
        patched.setattr(state, "program_digest", lambda: "another")
        assert Segmenter(image, path).stored_answer() is None
    Image.new("RGB", (32, 24)).save(image)
    segmenter = Segmenter(image, path)
    assert segmenter.stored_answer() is None
    labels = load_project(path).labels
    preview = outdated_preview(segmenter.picture, segmenter.content, labels)
    np.testing.assert_array_equal(preview.labelling.labels, answer.labelling.labels)
    assert not preview.labelling.margin.any()


@pytest.mark.parametrize(
    "labels",
    [b"", b"nonsense", pack_labels(np.eye(24, 31, dtype=np.uint8))],
)
def test_damaged_labels_are_left_out(image, labels):
    path, _ = learnt(image)
    project = load_project(path)
    save_project(path, replace(project, labels=replace(project.labels, labels=labels)))
    segmenter = Segmenter(image, path)
    assert segmenter.stored_answer() is None
    content = Content(project.document, project.settings)
    assert outdated_preview(segmenter.picture, content, load_project(path).labels) is None


def test_other_labels_under_the_same_digest_are_left_out(image):
    path, _ = learnt(image)
    project = load_project(path)
    forged = replace(project.labels, labels=pack_labels(np.full((24, 32), 1, np.uint8)))
    save_project(path, replace(project, labels=forged))
    assert Segmenter(image, path).stored_answer() is None


def test_labels_of_unknown_classes_are_not_shown(image):
    path, _ = learnt(image)
    segmenter = Segmenter(image, path)
    labels = replace(load_project(path).labels, labels=pack_labels(np.full((24, 32), 2)))
    assert outdated_preview(segmenter.picture, segmenter.content, labels) is None


def test_a_project_without_labels_or_with_half_of_them_opens(image):
    path, _ = learnt(image)
    project = load_project(path)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("project.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", content)
    assert load_project(path) == replace(project, labels=None, answer=None)


def test_labels_of_a_small_picture_take_a_fifth_of_its_project(image):
    path, _ = learnt(image, Document(strokes=(*MARKS, Patch(1, 1, 2, 2, b"\xf0", 0))))
    size = path.stat().st_size
    save_project(path, replace(load_project(path), labels=None))
    assert size < 1.3 * path.stat().st_size


def test_an_export_of_a_folder_learns_what_has_no_result(image, tmp_path):
    path, answer = learnt(image)
    other = tmp_path / "dog.png"
    other.write_bytes(image.read_bytes())
    project = load_project(path)
    save_project(
        other.with_suffix(".segapp"), replace(project, image_path=other, labels=None, answer=None)
    )
    made = []

    def make(*pixels):
        made.append(pixels)
        return Trainer(*pixels)

    export = FolderExport.of_folder(tmp_path, FOLDER_FORMATS["mask"], tmp_path / "out")
    list(export.run(make))
    assert len(made) == 1
    masks = [np.array(Image.open(tmp_path / "out" / f"{name}.png")) for name in ("cat", "dog")]
    np.testing.assert_array_equal(masks[0] > 0, answer.labelling.labels == 0)
    np.testing.assert_array_equal(masks[0], masks[1])
    list(replace(export, relearn=True).run(make))
    assert len(made) == 3
    again = [np.array(Image.open(tmp_path / "out" / f"{name}.png")) for name in ("cat", "dog")]
    np.testing.assert_array_equal(masks, again)


def test_an_image_of_another_display_is_not_taken_for_this_one(image):
    path, _ = learnt(image)
    segmenter = Segmenter(load_image(image), load_project(path))
    assert segmenter.stored_answer() is not None
