"""``segapp batch``: folders, processes, resuming and the robot user."""

import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas
import pytest
from PIL import Image
from skimage.measure import label, regionprops_table

from segapp.batch.cases import bundled_cases
from segapp.io.project import load_project, save_project
from segapp.model.settings import PRESETS, with_value

QUICK = ("--set", "prototypes=100")


@pytest.fixture
def folder(ball):
    """Three good images and a broken one, in a plain folder."""
    data = ball.folder / "set"
    data.mkdir()
    for seed, name in enumerate(("a", "b", "c")):
        inside = ball.draw(data / f"{name}.png", seed)
        (data / f"{name}-strokes.png").write_bytes(ball.strokes.read_bytes())
        truth = np.where(inside, 255, 0).astype(np.uint8)
        Image.fromarray(truth).save(data / f"{name}-truth.png")
    return data


def masks(out):
    return {path.name: path.read_bytes() for path in (out / "masks").iterdir()}


def test_the_parent_process_loads_no_libraries_of_its_workers():
    """Loading it takes as long as two pictures, and the processes load it themselves."""
    code = "import sys, segapp.cli.batch; print(*{'sklearn', 'skimage'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def test_presets_are_segmented_beside_and_drawn_on_the_sheet(segapp, folder, tmp_path):
    words = ("batch", folder, "--out", tmp_path, "--beside", "paper", "alike", *QUICK)
    done = segapp(*words)
    assert done.code == 0
    for preset in ("paper", "alike"):
        written = {path.name for path in (tmp_path / "masks" / preset).iterdir()}
        assert written == {"a.png", "b.png", "c.png"}
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 5 * 240
    (tmp_path / "masks" / "paper" / "a.png").unlink()
    again = segapp(*words, "--resume")
    assert again.code == 0
    assert (tmp_path / "masks" / "paper" / "a.png").is_file()


def test_a_folder(segapp, folder, tmp_path):
    out = tmp_path / "deep" / "out"
    done = segapp("batch", folder, "--out", out, "--robot", 2, "--json", *QUICK)
    assert done.code == 0
    assert done.json == json.loads((out / "summary.json").read_text())
    assert done.json["images"] == 3
    assert done.json["failed"] == 0
    assert done.json["preset"] == "best (changed)"
    assert done.json["mean_iou"] > 0.8
    assert done.json["seconds_per_update"] > 0
    assert len(done.json["robot"]["curve"]) == 3
    with (out / "scores.csv").open(newline="") as file:
        assert [row["image"] for row in csv.DictReader(file)] == ["a", "b", "c"]
    with Image.open(out / "sheet.png") as sheet:
        assert sheet.width > 700
    with Image.open(out / "iou-over-strokes.png") as plot:
        assert plot.width > 500
    assert set(masks(out)) == {"a.png", "b.png", "c.png"}


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_measures_of_all_images_are_one_table(segapp, folder, tmp_path):
    out = tmp_path / "out"
    asked = ("batch", folder, "--out", out, "--measures", "--pixel-size", 0.5, "--unit", "µm")
    assert segapp(*asked, *QUICK, "--limit", 2).code == 0
    assert {row["image"] for row in table(out / "measures.csv")} == {"a.png", "b.png"}
    (folder / "d.png").write_bytes(b"no image")
    (folder / "d-strokes.png").write_bytes((folder / "a-strokes.png").read_bytes())
    before = (out / "masks" / "a.png").stat().st_mtime_ns
    assert segapp(*asked, *QUICK, "--resume").code == 3  # one is broken, and stops no other
    assert (out / "masks" / "a.png").stat().st_mtime_ns == before
    rows = table(out / "measures.csv")
    assert [name for name, _ in itertools.groupby(row["image"] for row in rows)] == [
        "a.png",
        "b.png",
        "c.png",
    ]
    for name in ("a", "b", "c"):
        with Image.open(out / "masks" / f"{name}.png") as image:
            white = np.array(image) > 0
        with Image.open(folder / f"{name}.png") as image:
            rgb = np.array(image.convert("RGB"))
        truth = regionprops_table(
            label(white, connectivity=2),
            rgb,
            properties=("area", "centroid", "bbox", "perimeter", "intensity_mean"),
        )
        own = [row for row in rows if row["image"] == f"{name}.png"]
        parts = [row for row in own if row["object"] != "all"]
        assert [int(row["objects"]) for row in own if row["object"] == "all"] == [len(parts)]
        for column, values in (
            ("area_px", truth["area"]),
            ("perimeter_px", truth["perimeter"]),
            ("area_µm2", truth["area"] / 4),
            ("x", truth["centroid-1"] + 0.5),
            ("top", truth["bbox-0"]),
            ("mean_green", truth["intensity_mean-1"]),
        ):
            found = [float(row[column]) for row in parts]
            np.testing.assert_allclose(found, values, rtol=1e-4, atol=0.01)
    frame = pandas.read_csv(out / "measures.csv")
    assert len(frame) == len(rows)
    (out / "measures" / "b.csv").write_text("spoilt")  # and made again
    assert segapp(*asked, *QUICK, "--resume").code == 3
    assert table(out / "measures.csv") == rows


def test_the_background_may_be_the_first_class(segapp, ball, folder, tmp_path):
    """Masks, scores, sheets and truths mean the object, wherever the background stands."""
    scores = []
    for name, order in (("usual", (0, 1)), ("turned", (1, 0))):
        data = tmp_path / name
        data.mkdir()
        shutil.copy(folder / "a.png", data / "a.png")
        shutil.copy(folder / "a-truth.png", data / "a-truth.png")
        project = load_project(ball.project)
        classes = tuple(project.document.classes[place] for place in order)
        document = project.document.with_classes(classes, order)
        save_project(data / "a.segapp", replace(project, document=document))
        done = segapp("batch", data, "--out", data / "out", "--json", *QUICK)
        assert done.code == 0
        scores.append(done.json["mean_iou"])
    assert scores[0] > 0.9
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    for part in ("masks/a.png", "sheet.png"):
        one, other = (
            np.array(Image.open(tmp_path / n / "out" / part)) for n in ("usual", "turned")
        )
        assert (one != other).mean() < 0.01


@pytest.mark.slow
def test_masks_are_those_of_segment(segapp, folder, tmp_path):
    segapp("batch", folder, "--out", tmp_path / "out", "--preset", "paper", "--limit", 2)
    for name in "ab":
        out = tmp_path / f"{name}.png"
        segapp(
            "segment", folder / f"{name}.png", "--strokes", folder / f"{name}-strokes.png",
            "--out", out, "--preset", "paper",
        )  # fmt: skip
        assert out.read_bytes() == masks(tmp_path / "out")[f"{name}.png"]


def test_a_bad_image_is_reported_and_the_exit_code_says_so(segapp, folder, tmp_path):
    (folder / "bad.png").write_text("no image")
    (folder / "bad-strokes.png").write_text("no strokes")
    done = segapp("batch", folder, "--out", tmp_path / "out", *QUICK)
    assert done.code == 3
    assert "bad: bad.png is not an image" in done.err
    assert done.out.startswith("4 images, 1 failed, preset best (changed)\nmean IoU ")
    assert set(masks(tmp_path / "out")) == {"a.png", "b.png", "c.png"}
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["failed"] == 1


def test_results_that_cannot_be_read_are_left_out_of_the_sheet(
    segapp, folder, tmp_path, monkeypatch
):
    def load(path):
        if path.stem == "b":
            raise OSError(f"There is no file {path.name}.")
        return load_project(path)

    monkeypatch.setattr("segapp.cli.batch.load_project", load)
    done = segapp("batch", folder, "--out", tmp_path / "out", *QUICK)
    assert done.code == 0
    assert "b: not on the sheet. There is no file b.segapp." in done.err
    assert (tmp_path / "out" / "sheet.png").is_file()
    assert set(masks(tmp_path / "out")) == {"a.png", "b.png", "c.png"}


def test_limit_and_resume(segapp, folder, tmp_path):
    out = tmp_path / "out"
    assert (
        segapp("batch", folder, "--out", out, "--limit", 2, "--json", *QUICK).json["images"] == 2
    )
    first = {path: path.stat().st_mtime_ns for path in (out / "masks").iterdir()}
    assert len(first) == 2
    done = segapp("batch", folder, "--out", out, "--resume", "--json", *QUICK)
    assert done.json["images"] == 3
    assert all(path.stat().st_mtime_ns == time for path, time in first.items())
    segapp("batch", folder, "--out", out, "--json", "--set", "prototypes=90", "--resume")
    assert all(path.stat().st_mtime_ns != time for path, time in first.items())
    summary = json.loads((out / "summary.json").read_text())
    assert summary["preset"] == "best (changed)"


def test_without_matplotlib_the_plot_is_missed_by_a_sentence(
    segapp, folder, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = segapp("batch", folder, "--out", tmp_path / "out", "--robot", 1, "--limit", 1, *QUICK)
    assert done.code == 0
    assert done.err == (
        "The plot of IoU over strokes needs matplotlib: pip install 'segapp[plots]'.\n"
    )
    assert not (tmp_path / "out" / "iou-over-strokes.png").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("nowhere",), 1, "There is no folder nowhere."),
        ((".",), 1, "There is no image with strokes"),
        (("--jobs", "0"), 2, "--jobs: invalid whole number from 1 value: '0'"),
        (("--robot", "-1"), 2, "--robot: invalid whole number from 0 value: '-1'"),
        (("--limit", "x"), 2, "--limit: invalid whole number from 1 value: 'x'"),
        (("--preset", "worst"), 2, "--preset: invalid choice: 'worst'"),
    ],
)
def test_wrong_usage(segapp, tmp_path, monkeypatch, words, code, sentence):
    monkeypatch.chdir(tmp_path)
    done = segapp("batch", *words, "--out", tmp_path / "out")
    assert done.code == code
    assert sentence in done.err


@pytest.mark.slow
def test_the_samples_in_two_processes(segapp, tmp_path):
    """The bundled samples: four classes among them; the same masks whatever ``--jobs``."""
    one = segapp("batch", "--out", tmp_path / "one", "--json")
    two = segapp("batch", "--out", tmp_path / "two", "--jobs", 2, "--json", "--limit", 2)
    assert one.code == two.code == 0
    assert one.json["images"] == len(bundled_cases())
    assert one.json["preset"] == "best"
    assert one.json["mean_iou"] > 0.9
    assert len(masks(tmp_path / "two")) == 2
    assert masks(tmp_path / "two").items() <= masks(tmp_path / "one").items()
    with (tmp_path / "one" / "scores.csv").open(newline="") as file:
        scores = {row["image"]: row for row in csv.DictReader(file)}
    assert scores["fruit"]["classes"] == "4"
    assert float(scores["fruit"]["iou"]) > 0.9
    with Image.open(tmp_path / "one" / "masks" / "fruit.png") as image:
        assert image.mode == "P"
        assert set(np.unique(np.array(image))) == {0, 1, 2, 3}


def ended(group, seconds):
    """Wait until no process of a group is left."""
    for _ in range(10 * seconds):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_ctrl_c_stops_cleanly(folder, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "segapp", "batch", str(folder), "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--robot", "2000", "--jobs", "2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)  # some processes still start
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does it: to all processes
    printed, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip().startswith("segapp: Stopped after ")
    assert said.strip().endswith("of 3 images; --resume goes on from there.")
    assert json.loads(printed)["error"] in said
    assert ended(process.pid, seconds=10)
    assert not list(tmp_path.rglob(".*"))


def test_a_project_brings_its_own_settings(segapp, ball, tmp_path):
    """The rule is that of `segment`: the project's settings, unless a preset is asked for."""
    project = replace(
        load_project(ball.project), settings=with_value(PRESETS["best"], "clean_up.smoothing=30")
    )
    save_project(ball.project, project)
    for name, more in (("own", ()), ("best", ("--preset", "best")), ("set", ("--set", "bits=3"))):
        done = segapp("batch", ball.folder, "--out", tmp_path / name, "--json", *more)
        told = {"own": "the project's own", "set": "the project's own (changed)", "best": "best"}
        assert done.json["preset"] == told[name]
        alone = tmp_path / f"{name}.png"
        segapp("segment", ball.image, "--strokes", ball.project, "--out", alone, *more)
        assert masks(tmp_path / name)["ball.png"] == alone.read_bytes()
    assert masks(tmp_path / "own") != masks(tmp_path / "best")


def test_begun_with_dabs(segapp, folder, tmp_path):
    words = ("batch", folder, "--robot", 1, "--json", *QUICK)
    dabs = segapp(*words, "--out", tmp_path / "dabs", "--start", "dabs").json
    assert dabs["robot"]["dips"] >= 0
    assert dabs["robot"]["dip_sum"] >= 0
    begun = load_project(tmp_path / "dabs" / "projects" / "a.segapp").document
    assert [mark.label for mark in begun.strokes] == [0, 1]
    assert max(mark.width for mark in begun.strokes) == 17  # a brush of radius 8
    (folder / "a-truth.png").unlink()
    failed = segapp(*words, "--out", tmp_path / "no truth", "--start", "dabs")
    assert failed.json["failed"] == 1
    assert "wanted a truth" in failed.err


def test_begun_with_the_object_by_a_noisy_hand(segapp, folder, tmp_path):
    words = ("batch", folder, "--robot", 2, "--json", *QUICK, "--start", "object")
    exact = segapp(*words, "--out", tmp_path / "exact").json
    assert 0 <= exact["robot"]["first_five"] <= 1
    assert 0 <= exact["robot"]["first_worse"] <= 1
    begun = load_project(tmp_path / "exact" / "projects" / "a.segapp").document
    assert [mark.label for mark in begun.strokes[:2]] == [0, 1]
    for seed, name in ((1, "one"), (1, "same"), (2, "two")):
        noisy = ("--start", "classes", "--hand", "noisy", "--hand-seed", seed)
        segapp(*words, "--out", tmp_path / name, *noisy)
    one, same, two = (
        load_project(tmp_path / name / "projects" / "a.segapp").document.strokes
        for name in ("one", "same", "two")
    )
    assert one == same
    assert one != two


def test_the_kept_project_gives_the_kept_mask(segapp, folder, tmp_path):
    """The order of the strokes counts, and a picture of them does not hold it."""
    # So coarse that the robot finds something to correct.
    coarse = ("--set", "prototypes=6", "--set", "smoothness=0", "--set", "colour_likelihood=0")
    segapp("batch", folder, "--out", tmp_path / "out", "--robot", 3, "--limit", 1, *coarse)
    project = tmp_path / "out" / "projects" / "a.segapp"
    assert load_project(project).document.previous_state is not None
    again = tmp_path / "again.png"
    assert segapp("segment", folder / "a.png", "--strokes", project, "--out", again).code == 0
    assert masks(tmp_path / "out")["a.png"] == again.read_bytes()


# Projects that carry their answer ------------------------------------------------


@pytest.fixture
def robot_project(segapp, ball, tmp_path):
    """Let the robot work on a truth that colours do not give; returns its project and mask."""
    folder = tmp_path / "cases"
    folder.mkdir()
    truth = ball.inside.copy()
    truth[4:24, 70:86] = True
    for name, image in (
        ("ball.png", Image.fromarray(ball.picture.rgb)),
        ("ball-strokes.png", Image.open(ball.strokes)),
        ("ball-truth.png", Image.fromarray(np.where(truth, 255, 0).astype(np.uint8))),
    ):
        image.save(folder / name)
    done = segapp("batch", folder, "--out", tmp_path / "out", "--robot", 3)
    assert done.code == 0
    return tmp_path / "out" / "projects" / "ball.segapp", tmp_path / "out" / "masks" / "ball.png"


@pytest.mark.slow
def test_batch_segment_and_export_agree_with_and_without_it(segapp, robot_project, tmp_path):
    path, mask = robot_project
    project = load_project(path)
    assert project.answer is not None
    assert len(list(project.document.earlier_states())) > 1
    foreign = replace(project.answer, digest="0" * 64)
    found = {}
    for name, answer in (("with", project.answer), ("without", None), ("foreign", foreign)):
        own = tmp_path / name
        own.mkdir()
        save_project(own / "ball.segapp", replace(project, answer=answer))
        Image.open(project.image_path).save(own / "ball.png")
        words = ("--strokes", own / "ball.segapp", "--out", own / "segment.png")
        assert segapp("segment", own / "ball.png", *words).code == 0
        words = ("--as", "mask", "--out", own / "export.png")
        assert segapp("export", own / "ball.segapp", *words).code == 0
        assert segapp("batch", own, "--out", own / "again").code == 0
        paths = (own / "segment.png", own / "export.png", own / "again" / "masks" / "ball.png")
        found[name] = [np.array(Image.open(path)) for path in paths]
        assert load_project(own / "again" / "projects" / "ball.segapp").answer == project.answer
    for masks in found.values():
        for one in masks:
            np.testing.assert_array_equal(one, np.array(Image.open(mask)))
