from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

from segapp.batch.robot_user import iou
from segapp.engine.trainer import segment
from segapp.io.folder_files import write_display
from segapp.io.images import load_image
from segapp.io.project import Project, save_project
from segapp.model.classes import ClassInfo
from segapp.model.display import DisplaySettings, Levels
from segapp.model.document import Stroke
from segapp.model.settings import PRESETS


def test_a_mask_from_strokes(segapp, ball, tmp_path):
    out = tmp_path / "new" / "mask.png"
    done = segapp("segment", ball.image, "--strokes", ball.strokes, "--out", out)
    assert done.code == 0
    assert done.out == f"{out}\n"
    with Image.open(out) as image:
        mask = np.array(image)
    expected = segment(ball.picture.rgb, ball.document, PRESETS["best"])
    assert (mask == np.where(expected.labels == 0, 255, 0)).all()
    assert iou(np.where(mask == 255, 0, 1), np.where(ball.inside, 0, 1)) > 0.9


def test_a_project_and_its_strokes_as_a_picture_give_the_same_file(segapp, ball, tmp_path):
    for name, strokes in (("a.npz", ball.strokes), ("b.npz", ball.project)):
        out = tmp_path / name
        assert segapp("segment", ball.image, "--strokes", strokes, "--out", out).code == 0
    with np.load(tmp_path / "a.npz") as a, np.load(tmp_path / "b.npz") as b:
        for name in ("labels", "margin", "codes"):
            assert (a[name] == b[name]).all()


def test_strokes_on_the_object_alone_suffice(segapp, ball, tmp_path):
    strokes, out = tmp_path / "object.png", tmp_path / "mask.png"
    with Image.open(ball.strokes) as image:
        marks = np.array(image)
    Image.fromarray(np.where(marks == 1, 1, 0).astype(np.uint8)).save(strokes)
    assert segapp("segment", ball.image, "--strokes", strokes, "--out", out).code == 0
    with Image.open(out) as image:
        mask = np.array(image)
    assert iou(np.where(mask == 255, 0, 1), np.where(ball.inside, 0, 1)) > 0.9


def test_strokes_on_the_background_alone_are_reported(segapp, ball, tmp_path):
    strokes, out = tmp_path / "ground.png", tmp_path / "mask.png"
    with Image.open(ball.strokes) as image:
        marks = np.array(image)
    Image.fromarray(np.where(marks == 2, 2, 0).astype(np.uint8)).save(strokes)
    done = segapp("segment", ball.image, "--strokes", strokes, "--out", out)
    assert done.code != 0
    assert "Only background is marked so far: mark foreground as well." in done.err
    assert not out.exists()


def test_json_lists_the_written_files(segapp, ball, tmp_path):
    out = tmp_path / "m.png"
    words = ("segment", ball.image, "--strokes", ball.strokes, "--out", out, "--json")
    done = segapp(*words, "--as", "classes")
    assert done.json["files"] == [
        str(tmp_path / "m-foreground.png"),
        str(tmp_path / "m-background.png"),
    ]
    assert (done.json["width"], done.json["height"]) == (90, 60)
    assert [c["name"] for c in done.json["classes"]] == ["foreground", "background"]
    assert sum(c["pixels"] for c in done.json["classes"]) == 60 * 90
    assert done.json["seconds"] > 0


def test_a_png_of_more_than_two_classes_distinguishes_them(segapp, ball, tmp_path):
    document = ball.document.with_class(ClassInfo("rim", (1, 2, 3)))
    document = document.with_stroke(Stroke(((3.0, 3.0), (12.0, 3.0)), 2.0, 2))
    project = Project(document, PRESETS["best"], ball.image, ball.picture.sha256)
    save_project(ball.project, project)
    for name, more in (("a.png", ()), ("b.png", ("--as", "indexed")), ("c.png", ("--as", "mask"))):
        words = ("segment", ball.image, "--strokes", ball.project, "--out", tmp_path / name)
        assert segapp(*words, *more).code == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert set(np.unique(np.array(image))) == {0, 1, 2}


def test_strokes_of_another_image_are_reported(segapp, ball, tmp_path):
    Image.fromarray(ball.picture.rgb[::-1].copy()).save(tmp_path / "other.png")
    words = ("--strokes", ball.project, "--out", tmp_path / "mask.png")
    told = "other.png is not the image that the project was made with."
    done = segapp("segment", tmp_path / "other.png", *words)
    assert (done.code, told in done.err) == (0, True)
    assert told not in segapp("segment", ball.image, *words).err


def test_settings_come_from_the_project_unless_given(segapp, ball, tmp_path):
    save_project(
        ball.project,
        Project(ball.document, PRESETS["paper"], ball.image, ball.picture.sha256),
    )
    words = ("segment", ball.image, "--strokes", ball.project, "--out")
    masks = {}
    for name, more in (("own", ()), ("best", ("--preset", "best")), ("set", ("--set", "bits=3"))):
        assert segapp(*words, tmp_path / f"{name}.npz", *more).code == 0
        with np.load(tmp_path / f"{name}.npz") as arrays:
            masks[name] = arrays["codes"]
    for name, settings in (("own", PRESETS["paper"]), ("best", PRESETS["best"])):
        expected = segment(ball.picture.rgb, ball.document, settings)
        assert (masks[name] == expected.codes).all()
    assert masks["set"].max() < 2**3


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"--strokes": "none.png"}, "There is no file none.png."),
        ({"--out": "mask.jpg"}, "--out: mask.jpg: wanted a format, or a name that ends in .png, "),
        ({"--as": "numpy"}, "--out: m.png: numpy is written to a name that ends in .npz"),
        ({"--set": "bits=none"}, "bits: wanted a whole number, got 'none'."),
        ({"--set": "bits=77"}, "bits: wanted 1 to 32, got 77"),
        ({"--set": "bit=7"}, "There is no setting 'bit': wanted one of features"),
    ],
)
def test_a_command_that_cannot_be_done_gives_one_sentence(
    segapp, ball, tmp_path, changes, sentence
):
    options = {"--strokes": ball.strokes, "--out": tmp_path / "m.png"} | changes
    words = [word for option in options.items() for word in option]
    done = segapp("segment", ball.image, *words, "--json")
    assert done.code == 1
    assert done.json["error"].startswith(sentence)
    assert done.err == f"segapp: {done.json['error']}\n"
    assert list(tmp_path.glob("*.png")) == []


def test_one_class_alone_is_not_enough(segapp, ball, tmp_path):
    Image.fromarray(np.ones((60, 90), np.uint8)).save(ball.strokes)
    done = segapp("segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "m.png")
    assert done.code == 1
    assert "mark background as well" in done.err
    assert not (tmp_path / "m.png").exists()


def test_a_folder_that_cannot_be_made(segapp, ball, tmp_path):
    (tmp_path / "file").write_text("x")
    out = tmp_path / "file" / "deep" / "m.png"
    done = segapp("segment", ball.image, "--strokes", ball.strokes, "--out", out)
    assert done.code == 1
    assert done.err.startswith(f"segapp: The folder {out.parent} cannot be made: ")


def test_wrong_usage(segapp):
    done = segapp("segment", "a.png")
    assert done.code == 2
    assert "--strokes" in done.err
    assert "segapp segment cat.jpg" in segapp("segment", "--help").out


def test_measures_are_written_beside(segapp, ball, tmp_path):
    words = ("segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "m.png")
    more = ("--measures", tmp_path / "m.csv", "--pixel-size", "2", "--unit", "mm")
    assert segapp(*words, *more).code == 0
    with Image.open(tmp_path / "m.png") as image:
        area = int((np.array(image) == 255).sum())
    header, row = (tmp_path / "m.csv").read_text().splitlines()[:2]
    found = dict(zip(header.split(","), row.split(","), strict=True))
    assert int(found["area_px"]) == area
    assert float(found["area_mm2"]) == 4 * area


def test_the_edge_of_a_cutout_is_a_choice(segapp, ball, tmp_path):
    words = ("segment", ball.image, "--strokes", ball.strokes, "--as", "cutout", "--out")
    assert segapp(*words, tmp_path / "hard.png", "--edge", "hard").code == 0
    assert segapp(*words, tmp_path / "soft.png", "--edge", "5").code == 0
    values = {}
    for name in ("hard", "soft"):
        with Image.open(tmp_path / f"{name}.png") as image:
            values[name] = set(np.unique(np.array(image)[:, :, 3]))
    assert values["hard"] == {0, 255}
    assert len(values["soft"]) > 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--edge", "-3"), "edge: wanted 0 to 200 pixels, got -3.0."),
        (("--pixel-size", "0"), "pixel: wanted a positive length, got 0.0."),
    ],
)
def test_choices_that_are_none_are_refused(segapp, ball, tmp_path, words, told):
    out = ("--strokes", ball.strokes, "--out", tmp_path / "m.png")
    done = segapp("segment", ball.image, *out, *words)
    assert done.code != 0
    assert told in done.err


def test_a_page_is_segmented_as_its_project_shows_it(segapp, ball, tmp_path):
    """The command learns from the page, channel and levels that the window shows."""
    grey = ball.picture.rgb.astype(np.uint16).sum(axis=2) * 20
    noise = np.random.default_rng(0).integers(0, 60000, grey.shape, dtype=np.uint16)
    stack = tmp_path / "stack.tif"
    tifffile.imwrite(stack, np.stack([noise, grey]), photometric="minisblack")
    display = DisplaySettings((0,), (Levels(0, 12000, 1.5),))
    document = replace(ball.document, display=display)
    settings = PRESETS["best"]
    save_project(tmp_path / "p.segapp", Project(document, settings, stack, ""))
    out, strokes = tmp_path / "mask.png", tmp_path / "p.segapp"
    done = segapp("segment", stack, "--page", 2, "--strokes", strokes, "--out", out)
    assert done.code == 0
    rgb = np.repeat(display.levels[0].apply(grey)[:, :, np.newaxis], 3, axis=2)
    expected = segment(rgb, ball.document, settings)
    with Image.open(out) as image:
        assert (np.array(image) == np.where(expected.labels == 0, 255, 0)).all()
    for page, told in ((3, "has no page 3: the last one is page 2."), (0, "--page: wanted 1 to")):
        done = segapp("segment", stack, "--page", page, "--strokes", strokes, "--out", out)
        assert done.code != 0
        assert told in done.err


def test_strokes_as_a_picture_follow_the_view_of_the_folder(segapp, ball, tmp_path):
    image = tmp_path / "ball.tif"
    deep = ball.picture.rgb.astype(np.uint16) * 200
    tifffile.imwrite(image, deep, photometric="rgb")
    display = DisplaySettings((2, 1, 0))
    write_display(tmp_path, display)
    out = tmp_path / "mask.png"
    assert segapp("segment", image, "--strokes", ball.strokes, "--out", out).code == 0
    expected = segment(load_image(image, display).rgb, ball.document, PRESETS["best"])
    with Image.open(out) as mask:
        assert (np.array(mask) == np.where(expected.labels == 0, 255, 0)).all()


def test_all_channels_are_learnt_from_when_asked_for(segapp, tmp_path):
    rng = np.random.default_rng(4)
    values = rng.integers(900, 1100, (90, 110, 5), dtype=np.uint16)
    inside = np.zeros((90, 110), bool)
    inside[30:60, 40:80] = True
    values[inside, 4] += 800  # outside the display range
    image, marks = tmp_path / "five.tif", np.zeros((90, 110), np.uint8)
    tifffile.imwrite(image, values, photometric="minisblack", planarconfig="contig")
    marks[44:47, 55:66], marks[8:12, 10:95] = 1, 2
    strokes, model = tmp_path / "marks.png", tmp_path / "five.shlmodel"
    Image.fromarray(marks).save(strokes)
    scores = []
    for name, more in (("seen", ()), ("all", ("--set", "features=rgb,channels"))):
        out = tmp_path / f"{name}.png"
        asked = ("--strokes", strokes, "--out", out, "--preset", "alike", *more)
        assert segapp("segment", image, *asked, "--save-model", model).code == 0
        with Image.open(out) as mask:
            found = np.array(mask) == 255
        scores.append((found & inside).sum() / (found | inside).sum())
    assert scores[0] < 0.5 < 0.95 < scores[1]
    done = segapp("apply", model, image, "--out", tmp_path / "applied")
    assert done.code == 0
    with Image.open(tmp_path / "applied" / "five.png") as mask:
        found = np.array(mask) == 255
    assert (found & inside).sum() / (found | inside).sum() > 0.95
