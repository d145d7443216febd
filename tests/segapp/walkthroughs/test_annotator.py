"""An annotator's day: twelve pictures, four classes, a crash, an end and a return.

No dialog is answered: any window that opens beside the main one fails the test.
"""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageGrab
from pycocotools.coco import COCO

from segapp.engine.trainer import segment
from segapp.io.class_list import CLASS_LIST_FILE, read_class_list
from segapp.io.folder_files import PROGRESS_FILE, read_progress
from segapp.io.images import load_image
from segapp.io.project import ProjectError, load_project
from tests.segapp.walkthroughs.real_window import (
    SHOTS,
    Desk,
    environment_of,
    in_looks,
    program_in,
    screen_of,
    until,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(shutil.which, ("Xvfb", "xdotool"))),
        reason="needs Xvfb and xdotool (apt install xvfb xdotool)",
    ),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
N_PICTURES, CRASH_AFTER = 12, 5
SIZE = (150, 220)
COLOURS = {
    "disc": (200, 60, 50),
    "square": (60, 170, 80),
    "bar": (220, 200, 70),
    "background": (60, 70, 150),
}
WIDTH, HEIGHT = 1200, 800


def truth(number):
    """A disc, a square and a bar on the background, elsewhere in every picture."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    names = np.full(SIZE, "background", dtype=object)
    x, y = 45 + 4 * (number % 5), 45 + 3 * (number % 4)
    names[(columns - x) ** 2 + (rows - y) ** 2 < 26**2] = "disc"
    left, top = 130 + 3 * (number % 7), 20 + 5 * (number % 3)
    names[top : top + 50, left : left + 55] = "square"
    below = 112 + number % 9
    names[below : below + 22, 30:190] = "bar"
    return names


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "pictures"
    home.mkdir()
    rng = np.random.default_rng(8)
    for number in range(N_PICTURES):
        names = truth(number)
        rgb = np.zeros((*SIZE, 3))
        for name, colour in COLOURS.items():
            rgb[names == name] = colour
        rgb = np.clip(rgb + rng.normal(0, 10, rgb.shape), 0, 255).astype(np.uint8)
        Image.fromarray(rgb).save(home / f"p{number:02}.png")
    return home


class Day:
    """The program on a screen, and a look at that screen."""

    def __init__(self, display, home, shots):
        self.environment = environment_of(display, home)
        self.desk, self.shots = Desk(self.environment), shots
        self.process, self.dialogs = None, set()

    def start(self, *words, title):
        for _ in range(2):  # a screen that has only just begun may lose its first window
            self.process = subprocess.Popen(
                [sys.executable, "-m", "segapp", *map(str, words)],
                env=self.environment,
                cwd=Path(__file__).parents[3],
            )
            if self.desk.shows(title, 30):
                break
            self.process.kill()
            self.process.wait()
        window = self.desk.window(title)
        self.desk.do("windowmove", window, 0, 0, "windowsize", "--sync", window, WIDTH, HEIGHT)
        time.sleep(0.7)
        self.look_for_dialogs()

    def look_for_dialogs(self):
        """Note every window that is not the main one."""
        for window in self.desk.do("search", "--onlyvisible", "--name", ".+").split():
            title = self.desk.do("getwindowname", window, check=False)
            if (title and "segapp" not in title) or title == "segapp":
                self.dialogs.add(title)

    def screen(self, name):
        image = ImageGrab.grab(xdisplay=self.environment["DISPLAY"])
        image.save(self.shots / f"{name}.png")
        return np.array(image.convert("RGB")).astype(int)

    def places(self, pixels):
        """Find the four colours on the canvas; the largest patch of each is its object."""
        canvas = pixels[80 : HEIGHT - 60, 290 : WIDTH - 320]
        found = {}
        for name, colour in COLOURS.items():
            near = np.abs(canvas - colour).max(axis=2) < 45
            rows, columns = np.nonzero(near)
            assert rows.size > 500, f"{name} is not in sight"
            found[name] = (
                int(np.median(columns)) + 290,
                int(np.median(rows)) + 80,
            )
        # The background's median may lie anywhere: its lower left corner is always free.
        bar = found["bar"]
        found["background"] = (bar[0], (found["disc"][1] + bar[1]) // 2 + 18)
        return found

    def paint(self, places, keys):
        """Choose each class by its digit and draw a short stroke of it."""
        words = []
        for name, (x, y) in places.items():
            words += ["key", keys[name], "mousemove", x - 18, y, "mousedown", 1]
            words += ["mousemove", x, y + 2, "mousemove", x + 18, y, "mouseup", 1]
        self.desk.do(*words)


@pytest.fixture
def day(tmp_path):
    shots = Path(SHOTS or tmp_path / "shots") / "annotator"
    shots.mkdir(parents=True, exist_ok=True)
    with screen_of(WIDTH, HEIGHT) as display:
        made = Day(display, tmp_path / "home", shots)
        yield made
        if made.process is not None and made.process.poll() is None:
            made.process.kill()
            made.process.wait()


def n_strokes(path):
    try:
        return len(load_project(path.with_suffix(".segapp")).document.strokes)
    except ProjectError:
        return 0


def test_a_day(day, folder):
    pictures = sorted(folder.glob("*.png"))
    desk = day.desk
    day.start(folder, title="p00.png")

    # Four classes, made once: two are there, named anew; two are added.
    for keys, name in (("F2", "disc"), ("ctrl+shift+n", "square"), ("ctrl+shift+n", "bar")):
        desk.keys(keys)
        time.sleep(0.3)
        desk.do("type", "--delay", "2", name)
        desk.keys("Return")
    day.screen("classes offered")
    desk.keys("ctrl+shift+l")
    classes = until(
        lambda: (folder / CLASS_LIST_FILE).exists() and read_class_list(folder / CLASS_LIST_FILE),
        "the class list",
    ).classes
    assert [info.name for info in classes] == ["disc", "background", "square", "bar"]
    keys = {info.name: str(place + 1) for place, info in enumerate(classes)}

    def work_on(number):
        desk.window(pictures[number].name)
        day.paint(day.places(day.screen(f"image {number}")), keys)
        desk.keys("d")
        day.look_for_dialogs()

    for number in range(CRASH_AFTER + 1):
        work_on(number)
        if number < CRASH_AFTER:
            desk.keys("Next")  # at once: leaving saves
    until(lambda: n_strokes(pictures[CRASH_AFTER]) == 4, "the strokes on disk")
    time.sleep(0.6)  # the flag of the last one as well
    day.screen("before the crash")
    day.process.send_signal(signal.SIGKILL)
    day.process.wait()

    # Back where one was, with everything.
    day.start(folder, title=pictures[CRASH_AFTER].name)
    day.screen("after the crash")
    for number in range(CRASH_AFTER + 1):
        assert n_strokes(pictures[number]) == 4
    for number in range(CRASH_AFTER + 1, N_PICTURES):
        desk.keys("Next")
        work_on(number)
    day.look_for_dialogs()
    desk.keys("ctrl+q")
    assert day.process.wait(timeout=20) == 0
    assert [n_strokes(path) for path in pictures] == [4] * N_PICTURES
    done = read_progress(folder / PROGRESS_FILE).done
    assert done == {path.name for path in pictures}

    # The next day: no argument, and the folder is there; all of it goes into one file.
    day.start(title=pictures[-1].name)
    desk.keys("ctrl+shift+e")
    time.sleep(0.3)
    day.screen("export")
    desk.keys("space")
    out = folder / "segapp-export" / "coco-rle" / "annotations.json"
    for _ in range(4):  # all pictures are learnt anew, on a machine that may be busy
        if not out.exists():
            with contextlib.suppress(AssertionError):
                until(out.exists, "the COCO file")
    assert out.exists()
    day.screen("exported")
    day.look_for_dialogs()
    desk.window(pictures[-1].name)
    desk.keys("ctrl+q")
    assert day.process.wait(timeout=20) == 0
    assert day.dialogs == set()

    check_coco(out, pictures)


def check_coco(out, pictures):
    """All pictures: equal to the masks of their projects, and most near the truth."""
    coco = COCO(str(out))
    content = json.loads(out.read_text())
    assert [image["file_name"] for image in content["images"]] == [p.name for p in pictures]
    numbers = {each["name"]: each["id"] for each in content["categories"]}
    assert set(numbers) == set(COLOURS) - {"background"}
    for number, image in enumerate(content["images"]):
        masks = {}
        for name, category in numbers.items():
            found = coco.loadAnns(coco.getAnnIds(imgIds=image["id"], catIds=category))
            masks[name] = np.any([coco.annToMask(each) for each in found], axis=0)
            wanted = truth(number) == name
            assert (masks[name] & wanted).sum() / (masks[name] | wanted).sum() > 0.85
        if number % 7 == 0:
            project = load_project(pictures[number].with_suffix(".segapp"))
            rgb = load_image(pictures[number]).rgb
            labels = segment(rgb, project.document, project.settings).labels
            names = [info.name for info in project.document.classes]
            for name, mask in masks.items():
                assert (mask == (labels == names.index(name))).all()


@in_looks("small")
def test_a_folder_by_keys(look, tmp_path, folder):
    """Flags of done pictures are listed, stored beside the pictures, and exported."""
    with program_in(look, "folder", tmp_path / "home") as program:
        program.start(folder, title="p00.png")
        program.shot("opened")
        for number in range(3):
            program.desk.window(f"p{number:02}.png")
            program.desk.keys("d", "Next")
        program.desk.window("p03.png")
        program.shot("three are done")
        program.desk.keys("ctrl+shift+e")
        time.sleep(0.3)
        program.shot("export")
        program.quit("p03.png")
    done = read_progress(folder / PROGRESS_FILE).done
    assert done == {"p00.png", "p01.png", "p02.png"}
