"""The real program in a real window, driven from outside as by a user."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.io.project import load_project
from tests.segapp.walkthroughs.real_window import (
    PATIENCE,
    Desk,
    environment_of,
    needs_a_screen,
    screen_of,
    until,
)

pytestmark = [pytest.mark.slow, needs_a_screen]
WIDTH, HEIGHT = 1200, 800


@pytest.fixture
def display():
    """Start an X server of our own and return its name."""
    with screen_of(WIDTH, HEIGHT) as name:
        yield name


@pytest.fixture
def picture(tmp_path):
    """A round red thing on speckled blue."""
    rng = np.random.default_rng(5)
    rows, columns = np.mgrid[:150, :200]
    inside = (rows - 70) ** 2 + (columns - 80) ** 2 < 45**2
    rgb = np.where(inside[..., None], (190, 60, 50), (50, 70, 160)) + rng.normal(
        0, 12, (150, 200, 3)
    )
    path = tmp_path / "thing.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path


@pytest.fixture
def program(display, picture, tmp_path):
    environment = environment_of(display, tmp_path / "home")
    log = (tmp_path / "log").open("w+")
    desk = Desk(environment)

    def start():
        return subprocess.Popen(
            [sys.executable, "-m", "segapp", str(picture)],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[3],
        )

    process = start()
    # On a busy machine a screen that has only just begun may lose its first window. A program
    # that does not start does not start twice, and what it said is told.
    if not desk.shows(picture.name, PATIENCE / 2):
        process.kill()
        process.wait()
        process = start()
        assert desk.shows(picture.name, PATIENCE), (tmp_path / "log").read_text()
    process.desk, process.log, process.environment = desk, log, environment
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()
    log.close()


def export(desk, path):
    """Write the mask; the dialog lets it happen once the newest answer is there."""
    desk.window("thing.png")
    desk.keys("ctrl+e")
    desk.window("^Export")
    desk.type_path(path)

    def written():
        if not path.exists():
            desk.keys("Return")
            time.sleep(0.2)
        return path.exists()

    until(written, path.name)
    desk.gone("^Export")
    return np.array(Image.open(path))


def test_two_strokes_undo_redo_and_export_give_what_the_command_gives(program, picture, tmp_path):
    desk = program.desk
    main = desk.window("thing.png")
    desk.do("windowmove", main, 0, 0, "windowsize", "--sync", main, WIDTH, HEIGHT)
    time.sleep(0.5)
    # The canvas lies between the tools on the left and the panels, some 300 px, on the right.
    desk.stroke(1, (330, 360), (380, 340), (400, 400))
    desk.stroke(3, (700, 200), (760, 300), (740, 600))
    first = export(desk, tmp_path / "first.png")
    assert 0.1 < (first == 255).mean() < 0.5

    desk.window("thing.png")
    desk.stroke(1, (680, 560), (740, 600))
    second = export(desk, tmp_path / "second.png")
    assert not np.array_equal(first, second)

    desk.window("thing.png")
    desk.keys("ctrl+z")
    np.testing.assert_array_equal(export(desk, tmp_path / "undone.png"), first)
    desk.window("thing.png")
    desk.keys("ctrl+shift+z")
    np.testing.assert_array_equal(export(desk, tmp_path / "redone.png"), second)

    desk.window("thing.png")
    desk.keys("ctrl+s")
    desk.window("^Save project")
    project = tmp_path / "thing.segapp"
    desk.type_path(project)
    desk.keys("Return")
    until(project.exists, "the project")
    assert len(load_project(project).document.strokes) == 3

    by_command = tmp_path / "command.png"
    command = ["segment", picture, "--strokes", project, "--out", by_command]
    subprocess.run(
        [sys.executable, "-m", "segapp", *map(str, command)],
        check=True,
        env=program.environment,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        timeout=120,
    )
    assert by_command.read_bytes() == (tmp_path / "redone.png").read_bytes()

    desk.window("thing.png")
    desk.keys("ctrl+q")
    assert program.wait(timeout=10) == 0
    program.log.seek(0)
    assert program.log.read() == ""


def test_a_burst_of_strokes_keeps_every_corner_and_the_strokes_apart(program, tmp_path):
    """Hundreds of moves at once while the learner works: X11 events are not dropped."""
    desk = program.desk
    main = desk.window("thing.png")
    desk.do("windowmove", main, 0, 0, "windowsize", "--sync", main, WIDTH, HEIGHT)
    time.sleep(0.5)
    words, drawn = [], []
    for button, top in ((1, 300), (3, 150), (1, 420), (3, 560)):
        zigzag = [(250 + 8 * step, top + 40 * (step % 2)) for step in range(50)]
        drawn.append(zigzag)
        words += ["mousemove", *zigzag[0], "mousedown", button]
        for point in zigzag[1:]:
            words += ["mousemove", *point]
        words += ["mouseup", button]
    desk.do(*words)
    desk.keys("ctrl+s")
    desk.window("^Save project")
    project = tmp_path / "zigzag.segapp"
    desk.type_path(project)
    desk.keys("Return")
    until(project.exists, "the project")
    strokes = load_project(project).document.strokes
    assert [stroke.label for stroke in strokes] == [0, 1, 0, 1]
    for stroke, zigzag in zip(strokes, drawn, strict=True):
        place, scale = np.array(zigzag[0]), 8 / np.diff(np.array(stroke.points)[:, 0]).mean()
        found = (np.array(stroke.points) - stroke.points[0]) * scale + place
        np.testing.assert_allclose(found, zigzag, atol=0.75)
    desk.window("zigzag|thing")
    desk.keys("ctrl+q")
    assert program.wait(timeout=10) == 0


def test_the_first_window_fits_a_screen_of_double_scale(picture, tmp_path):
    """1600 x 1000 pixels at 2x are 800 x 500, less than the default window."""
    with screen_of(1600, 1000) as display:
        environment = environment_of(display, tmp_path / "home") | {"QT_SCALE_FACTOR": "2"}
        desk = Desk(environment)
        process = subprocess.Popen(
            [sys.executable, "-m", "segapp", str(picture)],
            env=environment,
            cwd=Path(__file__).parents[3],
        )
        try:
            window = desk.window(picture.name)
            told = desk.do("getwindowgeometry", "--shell", window)
            place = dict(line.split("=") for line in told.splitlines())
            x, y, width, height = (int(place[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))
            assert x >= 0
            assert y >= 0
            assert x + width <= 1600
            assert y + height <= 1000
            desk.keys("ctrl+q")
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
