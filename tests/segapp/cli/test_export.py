import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.io.export.formats import FOLDER_FORMATS, FORMATS
from segapp.io.images import load_image
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import ObjectInfo
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import PRESETS


def test_every_format(segapp, ball):
    done = segapp("export", ball.project, "--as", *FORMATS, "--json")
    assert done.code == 0
    assert done.err == ""
    names = {path.name for path in ball.folder.iterdir()}
    for name, entry in FORMATS.items():
        if name == "classes":
            assert {"ball-classes-foreground.png", "ball-classes-background.png"} <= names
        else:
            assert f"ball-{name}{entry.suffix}" in names
    content = json.loads((ball.folder / "ball-labelme.json").read_text(encoding="utf-8"))
    assert content["imagePath"] == "ball.png"


def test_the_mask_is_that_of_segment(segapp, ball, tmp_path):
    out = tmp_path / "deep" / "mask.png"
    assert segapp("export", ball.project, "--as", "mask", "--out", out).code == 0
    segapp("segment", ball.image, "--strokes", ball.project, "--out", tmp_path / "m.png")
    assert out.read_bytes() == (tmp_path / "m.png").read_bytes()
    assert segapp("export", ball.project, "--as", "mask", "--out", tmp_path).code == 0
    assert (tmp_path / "ball-mask.png").read_bytes() == out.read_bytes()


def test_measures_of_a_folder_are_one_table(segapp, ball):
    ball.draw(ball.folder / "other.png", 3)
    project = replace(load_project(ball.project), image_path=ball.folder / "other.png")
    save_project(ball.folder / "other.segapp", project)
    done = segapp("export", ball.folder, "--measures", "--split", "--json")
    assert done.code == 0
    (path,) = done.json["files"]
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["image", "class", "object", "name"]
    assert [row["image"] for row in rows if row["object"] == "all"] == ["ball.png", "other.png"]
    first = Path(path).read_bytes()
    again = segapp("export", ball.folder, "--measures", "--split", "--json")
    assert again.json["kept"] == 2
    assert Path(path).read_bytes() == first
    done = segapp("export", ball.folder)
    assert done.code == 1
    assert "--as: wanted one or more formats, got none." in done.err


@pytest.mark.parametrize(
    ("words", "count"),
    [((), 1), (("--split",), 3), (("--per", "part"), 2), (("--per", "class"), 1)],
)
def test_objects_of_one_project_are_told_apart_as_asked(segapp, ball, tmp_path, words, count):
    labels = np.ones((60, 90), np.uint8)
    rows, columns = np.mgrid[:60, :90]
    for x in (18, 40):  # two discs that touch, and a piece apart that belongs to the first
        labels[(rows - 30) ** 2 + (columns - x) ** 2 < 12**2] = 0
    labels[25:35, 70:80] = 0
    shape = (60, 90)
    answer = Labelling(labels, np.ones(shape, np.float32), np.zeros(shape, np.uint32), 2, 4)
    one = ObjectInfo(0, 1, anchors=((18.5, 30.5), (75.5, 30.5)))
    objects = () if "--split" in words else (one,)
    document = Document(initial=InitialLabels.from_labelling(answer, "x"), objects=objects)
    # The image shows these objects, as cuts also follow its edges.
    Image.fromarray(np.where(labels == 0, 200, 60).astype(np.uint8)).save(ball.image)
    picture = load_image(ball.image)
    project = Project(document, PRESETS["best"], picture.path, picture.sha256)
    save_project(ball.project, project)
    out = tmp_path / "o.json"
    done = segapp("export", ball.project, "--as", "coco-rle", "--out", out, *words)
    assert done.code == 0, done.err
    assert len(json.loads(out.read_text())["annotations"]) == count


def test_a_class_by_name(segapp, ball, tmp_path):
    out = tmp_path / "ground.png"
    asked = ("export", ball.project, "--as", "mask", "--out", out, "--class")
    assert segapp(*asked, "background").code == 0
    assert segapp("export", ball.project, "--as", "mask", "--out", tmp_path / "m.png").code == 0
    assert (np.array(Image.open(out)) == 255 - np.array(Image.open(tmp_path / "m.png"))).all()
    done = segapp(*asked, "cat")
    assert done.code == 1
    assert "class: wanted one of 'foreground', 'background', got 'cat'." in done.err


def test_an_image_that_was_moved(segapp, ball, tmp_path):
    ball.image.rename(tmp_path / "moved.png")
    done = segapp("export", ball.project, "--as", "mask")
    assert done.code == 1
    assert "is not there: say where it is by --image." in done.err
    done = segapp("export", ball.project, "--as", "mask", "--image", tmp_path / "moved.png")
    assert done.code == 0
    assert done.err == ""


def test_an_image_that_was_changed_is_noticed(segapp, ball):
    Image.fromarray(255 - np.array(ball.picture.rgb)).save(ball.image)
    done = segapp("export", ball.project, "--as", "mask")
    assert done.code == 0
    assert done.err == "ball.png is not the image that the project was made with.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--as", "mask", "indexed", "--out", "m.png"), "several formats want a folder"),
        (("--as", "numpy", "--out", "m.png"), "numpy is written to a name that ends in .npz"),
    ],
)
def test_a_target_that_cannot_be_written_gives_a_sentence(segapp, ball, words, sentence):
    done = segapp("export", ball.project, *words)
    assert done.code == 1
    assert sentence in done.err


def test_a_file_that_is_no_project_gives_a_sentence(segapp, ball):
    done = segapp("export", ball.image, "--as", "mask")
    assert done.code == 1
    assert "ball.png is damaged or not a project" in done.err
    assert segapp("export", ball.project, "--as", "video").code == 2


def test_a_folder_becomes_one_coco_file(segapp, ball):
    done = segapp("export", ball.folder, "--as", "coco-rle", "--json")
    assert done.code == 0
    assert done.json["written"] == 1
    assert done.json["skipped"] == 1  # strokes.png has no project
    (path,) = done.json["files"]
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    assert [image["file_name"] for image in content["images"]] == ["ball.png"]
    segapp("export", ball.project, "--as", "mask", "--out", ball.folder / "m.png")
    with Image.open(ball.folder / "m.png") as mask:
        white = int((np.array(mask) == 255).sum())
    assert sum(annotation["area"] for annotation in content["annotations"]) == white
    again = segapp("export", ball.folder, "--as", "coco-rle", "--json")
    assert again.json["kept"] == 1
    none = segapp("export", ball.folder, "--as", "coco-rle", "--done")
    assert "no image is finished yet" in none.out


@pytest.mark.slow
def test_every_format_of_a_folder(segapp, ball, tmp_path):
    out = tmp_path / "sets"
    done = segapp("export", ball.folder, "--as", *FOLDER_FORMATS, "--out", out, "--json")
    assert done.code == 0
    assert done.json["written"] == len(FOLDER_FORMATS)
    assert {path.name for path in out.iterdir()} == set(FOLDER_FORMATS)


def test_a_bad_picture_of_a_folder_is_reported(segapp, ball):
    (ball.folder / "bad.png").write_bytes(b"nothing")
    (ball.folder / "bad.segapp").write_bytes(b"nothing")
    done = segapp("export", ball.folder, "--as", "mask", "--json")
    assert done.code == 3
    assert done.json["failed"] == 1
    assert done.json["written"] == 1
    assert "bad.segapp" in done.err


def test_a_data_set_of_one_project_is_refused(segapp, ball):
    done = segapp("export", ball.project, "--as", "yolo")
    assert done.code == 1
    assert "--as: yolo is for a folder, got ball.segapp." in done.err


def test_projects_may_lie_elsewhere(segapp, ball, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    ball.project.rename(kept / ball.project.name)
    (ball.folder / "labels.txt").write_text("foreground\nthing\n")
    words = ("export", ball.folder, "--as", "coco-rle", "--out", tmp_path / "out", "--json")
    assert segapp(*words).json["written"] == 0
    assert segapp(*words, "--projects", kept).json["written"] == 1
    content = json.loads((tmp_path / "out" / "annotations.json").read_text())
    assert [each["name"] for each in content["categories"]] == ["foreground", "thing"]
