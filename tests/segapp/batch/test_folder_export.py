"""A folder goes into a data set, is gone on with, and one bad picture stops nothing."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.batch.folder_export import ExportFinished, ExportStatus, FolderExport, ImageExported
from segapp.engine.trainer import Trainer
from segapp.io.class_list import CLASS_LIST_FILE, ClassList, write_class_list
from segapp.io.export.formats import FOLDER_FORMATS
from segapp.io.folder_files import PROGRESS_FILE, ProgressChanges, update_progress
from segapp.io.images import load_image
from segapp.io.project import Project, save_project
from segapp.model.answer import NotEnoughStrokes, Report
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Document, Stroke
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.model.validation import SegappError
from tests.segapp.fake_segmenter import NearestColour

MARKS = (Stroke(((5.0, 10.0),), 2.0, 0), Stroke(((25.0, 10.0),), 2.0, 1))


def save(folder, name, document):
    picture = load_image(folder / name)
    project = Project(document, DEFAULT_SETTINGS, picture.path, picture.sha256)
    save_project((folder / name).with_suffix(".segapp"), project)


@pytest.fixture
def folder(tmp_path):
    """Six pictures: three marked, one untouched, one with too little, one damaged."""
    home = tmp_path / "photos"
    home.mkdir()
    for number in range(6):
        rgb = np.zeros((20, 30, 3), np.uint8)
        rgb[:, : 10 + number] = 220
        Image.fromarray(rgb).save(home / f"p{number}.png")
    for number in (0, 1, 2, 5):
        save(home, f"p{number}.png", Document(strokes=MARKS))
    save(home, "p4.png", Document(strokes=MARKS[:1]))
    (home / "p5.png").write_bytes(b"no picture")
    write_class_list(home / CLASS_LIST_FILE, ClassList.from_classes(TWO_CLASSES))
    return home


class NearestMean(NearestColour):
    """Says as the real one what is missing."""

    def updates(self, document, settings):
        if len(document.strokes) < 2:
            raise NotEnoughStrokes("Only foreground is marked so far.")
        return super().updates(document, settings)


class Counting(NearestMean):
    made = 0

    def __init__(self, rgb, channels=None):
        super().__init__(rgb)
        Counting.made += 1


def run(export, make=NearestMean):
    steps = list(export.run(make))
    assert isinstance(steps[-1], ExportFinished)
    return [step for step in steps if isinstance(step, ImageExported)]


def test_one_bad_picture_stops_nothing_and_a_second_run_goes_on(folder):
    out = folder / "out"
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["coco-rle"], out)
    fates = {step.image.name: step.status for step in run(export)}
    assert list(fates.values()) == [
        *[ExportStatus.WRITTEN] * 3,
        ExportStatus.SKIPPED,
        ExportStatus.SKIPPED,
        ExportStatus.FAILED,
    ]
    first = (out / "annotations.json").read_bytes()
    content = json.loads(first)
    assert [image["file_name"] for image in content["images"]] == ["p0.png", "p1.png", "p2.png"]
    assert [annotation["area"] for annotation in content["annotations"]] == [200, 220, 240]
    Counting.made = 0
    assert [step.status for step in run(export, Counting)][:3] == [ExportStatus.KEPT] * 3
    assert Counting.made <= 1  # the one with too little may be tried again
    assert (out / "annotations.json").read_bytes() == first


def test_a_run_that_was_cut_goes_on_where_it_was(folder):
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["indexed"], folder / "out")
    steps = export.run(NearestMean)
    next(step for step in steps if isinstance(step, ImageExported))
    steps.close()
    journal = folder / "out" / ".indexed.jsonl"
    journal.write_bytes(journal.read_bytes() + b'\n{"name": "p1.p')  # a line that was cut, too
    assert [step.status for step in run(export)][:3] == [
        ExportStatus.KEPT,
        ExportStatus.WRITTEN,
        ExportStatus.WRITTEN,
    ]
    for number in range(3):
        values = np.array(Image.open(folder / "out" / f"p{number}.png"))
        assert (values[:, : 10 + number] == 1).all()
        assert (values[:, 10 + number :] == 0).all()


def test_changed_or_deleted_files_are_written_again(folder):
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["mask"], folder / "out")
    run(export)
    (folder / "out" / "p0.png").unlink()
    save(folder, "p1.png", Document(strokes=(*MARKS, Stroke(((3.0, 3.0),), 1.0, 0))))
    assert [step.status for step in run(export)][:3] == [
        ExportStatus.WRITTEN,
        ExportStatus.WRITTEN,
        ExportStatus.KEPT,
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("name", ["segapp-export", "segapp-export/mask", "segapp-export/mask/x"])
def test_no_folder_that_is_a_link_is_written_to(folder, tmp_path, name):
    (tmp_path / "home").mkdir()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(tmp_path / "home")
    with pytest.raises(SegappError, match="is a link, and may lead anywhere"):
        run(
            FolderExport.of_folder(
                folder, FOLDER_FORMATS["mask"], folder / "segapp-export" / "mask"
            )
        )
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("there", [False, True])
def test_no_file_of_an_export_is_written_through_a_link(folder, tmp_path, there):
    secret, out = tmp_path / "secret", folder / "segapp-export" / "mask"
    out.mkdir(parents=True)
    if there:
        secret.write_text("of the user")
    for name in (".mask.jsonl", "p0.png"):
        (out / name).symlink_to(secret)
    done = run(FolderExport.of_folder(folder, FOLDER_FORMATS["mask"], out))
    assert (secret.read_text() if secret.exists() else None) == ("of the user" if there else None)
    assert not (out / "p0.png").is_symlink()
    assert "it is a link" in done[0].message


def test_the_done_ones_alone(folder):
    changes = ProgressChanges({"p2.png": True}, {"p1.png": True})
    update_progress(folder / PROGRESS_FILE, changes)
    form = FOLDER_FORMATS["coco-rle"]
    export = replace(FolderExport.of_folder(folder, form, folder / "out"), done_only=True)
    assert [(step.image.name, step.total) for step in run(export)] == [("p1.png", 1)]


def test_the_answer_of_a_model_is_exported_without_strokes(folder):
    labels = np.ones((20, 30), np.uint8)
    labels[3:9, 4:8] = 0
    answer = Labelling(labels, np.ones((20, 30), np.float32), np.zeros((20, 30), np.uint32), 2, 4)
    save(folder, "p3.png", Document(initial=InitialLabels.from_labelling(answer, "p0.png")))
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["indexed"], folder / "out")
    export = replace(export, images=(folder / "p3.png",))
    run(export, Trainer)
    assert (np.array(Image.open(folder / "out" / "p3.png")) == 1 - labels).all()


def test_pictures_of_one_stem_have_files_of_their_own(folder):
    Image.open(folder / "p0.png").save(folder / "p0.bmp")
    picture = load_image(folder / "p0.bmp")
    project = Project(Document(strokes=MARKS), DEFAULT_SETTINGS, picture.path, picture.sha256)
    save_project(folder / "p0.bmp.segapp", project)
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["mask"], folder / "out")
    run(export)
    assert {"p0.bmp.png", "p0.png.png"} <= {path.name for path in (folder / "out").iterdir()}


def test_a_long_picture_can_be_left_in_its_middle_and_is_whole_or_not_there(folder):
    """A soft edge takes seconds at 12 MP, and closing the window waits for none."""
    out = folder / "out"
    export = FolderExport.of_folder(folder, FOLDER_FORMATS["cutout"], out)
    steps = export.run(NearestMean)
    assert any(isinstance(step, Report) and step.step == "Writing" for step in steps)
    steps.close()
    assert not list(out.glob("*.png"))
    assert [step.status for step in run(export)][:3] == [ExportStatus.WRITTEN] * 3
    assert len(list(out.glob("*.png"))) == 3
