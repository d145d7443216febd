"""Days with many objects in the real window: the actions for a picture, and the objects got right.

    python tests/benchmarks/object_days.py [annotator] [microscopist] [--pictures N]
                                           [--ways classes objects] [--shots FOLDER]

The annotator has pictures of 3 classes: objects of one class touch, and one stands behind a pole.
The microscopist has fields of touching cells in two channels. Both work with classes alone, where
an object is a connected part, and with objects. A robot hand paints through the X server; an
action is a stroke, a click or a key. An object is right when an annotation of the COCO export, or
a region of the label image, shares at least 0.7 of their union with it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from pycocotools import mask as coco_masks
from scipy import ndimage
from touching_cells import KINDS, Corrections, made

from segapp.app.segmenter import Segmenter
from segapp.imaging.objects import inner_point, objects_of
from segapp.io.class_list import CLASS_LIST_FILE, ClassList, write_class_list
from segapp.io.project import ProjectError, load_project
from segapp.model.classes import ClassInfo
from tests.segapp.walkthroughs.real_window import LOOKS, program_in, until

RIGHT = 0.7
SIZE = (150, 220)
COLOURS = ((150, 120, 100), (90, 140, 90), (190, 190, 200), (60, 70, 90))
CLASSES = (
    ClassInfo("car", (230, 60, 50)),
    ClassInfo("person", (60, 200, 80)),
    ClassInfo("sign", (240, 200, 40)),
    ClassInfo("background", (60, 70, 220)),
)
CORRECTIONS = 3  # for a field of cells
SETTLE = 3.0  # seconds until strokes are on the disk


def main():
    """Print a row for each day and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="*", default=["annotator", "microscopist"])
    parser.add_argument("--pictures", type=int)
    parser.add_argument("--ways", nargs="+", default=["classes", "objects"])
    parser.add_argument("--shots", type=Path)
    arguments = parser.parse_args()
    print("| day | pictures | with | actions a picture | objects | right | counted |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.days:
        kind = {"annotator": Annotator, "microscopist": Microscopist}[name]
        for way in arguments.ways:
            with tempfile.TemporaryDirectory() as folder:
                day = kind(Path(folder), arguments.pictures or kind.n_pictures, way == "objects")
                with program_in(LOOKS["plain"], name, Path(folder) / "home") as program:
                    day.work(program, arguments.shots)
                n_right, counted = day.score()
            n_objects = sum(int(truth.max()) for truth in day.truths)
            row = (name, len(day.truths), way, f"{day.actions / len(day.truths):.1f}")
            row += (n_objects, f"{n_right / n_objects:.0%}", counted)
            print(f"| {' | '.join(map(str, row))} |", flush=True)


class Day:
    """Pictures of a folder, the hand that works on them, and its actions."""

    def __init__(self, folder, n_pictures, with_objects):
        self.folder, self.with_objects = folder / "pictures", with_objects
        self.folder.mkdir()
        self.actions, self.truths = 0, []
        self.paths = [self.write(number) for number in range(n_pictures)]

    def work(self, program, shots):
        """Work on all pictures, one after the other."""
        self.program, self.desk = program, program.desk
        program.start(self.folder, title=self.paths[0].name)
        for number, path in enumerate(self.paths):
            self.desk.window(path.name)
            time.sleep(1.0)
            self.find_picture(self.truths[number].shape)
            self.work_on(number)
            if shots is not None and number in (0, len(self.paths) - 1):
                time.sleep(4)
                shots.mkdir(parents=True, exist_ok=True)
                way = "objects" if self.with_objects else "classes"
                program.screen().save(shots / f"{program.way}-{way}-{number + 1}.png")
            self.press("d", "Next")
        self.desk.window(self.paths[-1].name)
        self.desk.keys("ctrl+q")
        program.process.wait(timeout=60)

    def find_picture(self, size):
        """Find the picture on the screen: the ground around it has one colour."""
        screen = np.array(self.program.screen().convert("RGB")).astype(int)
        middle, centre = screen.shape[0] // 2, screen.shape[1] // 2 - 20
        ground = np.array([218, 220, 222])
        self.left, right = _extent(np.abs(screen[middle] - ground).max(axis=1) < 6)
        self.top, bottom = _extent(np.abs(screen[:, centre] - ground).max(axis=1) < 6)
        self.zoom = (right - self.left) / size[1]
        assert abs((bottom - self.top) / size[0] - self.zoom) < 0.1, "the picture is not in sight"

    def at(self, x, y):
        """Return the place of a picture's point on the screen."""
        return round(self.left + x * self.zoom), round(self.top + y * self.zoom)

    def stroke(self, *points, button=1):
        """Paint, or draw a line: one action."""
        self.actions += 1
        first, *others = (self.at(*point) for point in points)
        words = ["mousemove", *first, "mousedown", button]
        for place in others or [(first[0] + 2, first[1])]:
            words += ["mousemove", *place, "sleep", 0.03]
        self.desk.do(*words, "mouseup", button)

    def press(self, *keys):
        """Press keys: one action each."""
        self.actions += len(keys)
        for key in keys:
            self.desk.keys(key)

    def project(self, number):
        """Return the project of a picture."""
        return self.paths[number].with_suffix(".segapp")

    def segapp(self, *words):
        """Run a command."""
        command = [sys.executable, "-m", "segapp", *map(str, words)]
        subprocess.run(command, check=True, capture_output=True)


class Annotator(Day):
    """Three classes; objects of one class touch, and one is behind a pole."""

    n_pictures = 20

    def __init__(self, folder, n_pictures, with_objects):
        self.labels, self.middles = [], []
        super().__init__(folder, n_pictures, with_objects)
        listing = ClassList(CLASSES, tuple(range(1, len(CLASSES) + 1)))
        write_class_list(self.folder / CLASS_LIST_FILE, listing)

    def write(self, number):
        """Write a picture: two cars that touch, two persons that touch, a sign behind a pole."""
        rng = np.random.default_rng(number)
        rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
        truth = np.zeros(SIZE, np.int32)
        x, y = rng.integers(30, 42), rng.integers(30, 40)
        truth[y - 15 : y + 15, x - 22 : x + 22] = 1
        truth[y - 10 : y + 18, x + 22 : x + 60] = 2
        left = rng.integers(40, 70)
        for place in (0, 1):
            far = ((columns - left - 31 * place) / 16) ** 2 + ((rows - 105) / 30) ** 2
            truth[(far < 1) & (truth == 0)] = 3 + place
        top = rng.integers(45, 60)
        truth[top : top + 40, 150:205] = 5
        pole = slice(173, 181)
        truth[:, pole] = 0
        rgb = np.array(COLOURS, float)[np.array([3, 0, 0, 1, 1, 2])[truth]]
        light = np.array([1, 1.1, 0.85, 1.1, 0.85, 1])[truth]
        rgb *= light[..., None]
        rgb[:, pole] = (120, 110, 160)
        rgb += rng.normal(0, 8, rgb.shape)
        path = self.folder / f"p{number:02}.png"
        Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
        self.truths.append(truth)
        return path

    def work_on(self, number):
        """Stroke each part of each object, and the background."""
        truth, labels = self.truths[number], (1, 1, 2, 2, 3)
        before = 0
        for place, label in enumerate(labels, start=1):
            if label != before:
                self.press(str(label))
            if self.with_objects:
                self.press("i")
            numbered, n_parts = ndimage.label(truth == place)
            for part in range(1, n_parts + 1):
                x, y = inner_point(numbered == part)
                self.stroke((x - 5, y), (x, y + 1), (x + 5, y))
            before = label
        self.stroke((177, 8), (177, 60), (177, 142), button=3)
        self.stroke((8, 140), (60, 143), (140, 143), (145, 80), (140, 8), button=3)
        time.sleep(SETTLE)

    def score(self):
        """Return the number of right objects, and the annotations."""
        self.segapp("export", self.folder, "--as", "coco-rle", "--out", self.folder / "out")
        content = json.loads((self.folder / "out" / "annotations.json").read_text())
        names = {image["id"]: image["file_name"] for image in content["images"]}
        found = {path.name: [] for path in self.paths}
        for each in content["annotations"]:
            found[names[each["image_id"]]].append(coco_masks.decode(each["segmentation"]) > 0)
        pairs = zip(self.paths, self.truths, strict=True)
        hits = sum(n_right(truth, found[path.name]) for path, truth in pairs)
        return hits, len(content["annotations"])


class Microscopist(Day):
    """Cells that touch, in two channels with names and a pixel size."""

    n_pictures = 10

    def write(self, number):
        """Write a hyperstack as ImageJ does."""
        rgb, truth = made(40, KINDS["nuclei in clumps"], 100 + number)
        rng = np.random.default_rng(number)
        second = np.where(truth % 3 == 1, 2000, 300) + rng.normal(0, 60, truth.shape)
        values = np.stack([rgb[..., 0] * 16.0, second]).clip(0).astype(np.uint16)
        path = self.folder / f"field{number:02}.tif"
        told = {"axes": "CYX", "unit": "um", "Labels": ["DAPI", "GFP"]}
        tifffile.imwrite(path, values, imagej=True, resolution=(4.0, 4.0), metadata=told)
        self.truths.append(truth)
        return path

    def work_on(self, number):
        """Dab a cell, stroke the background, let cells be cut, and correct up to three errors."""
        truth = self.truths[number]
        for place in self.all_similar():
            self.desk.do("mousemove", *place, "click", 1)
        self.actions += 1
        time.sleep(1.0)
        cell = inner_point(truth == 1 + int(np.bincount(truth[truth > 0])[1:].argmax()))
        self.stroke(cell)
        free = ndimage.distance_transform_edt(np.pad(truth == 0, 1))[1:-1, 1:-1]
        y, x = np.unravel_index(int(free.argmax()), free.shape)
        reach = free.max() * 0.6
        self.stroke((x - reach, y), (x + reach, y), button=3)
        time.sleep(SETTLE)
        if self.with_objects:
            self.press("shift+c")
            self.correct(number)
            self.press("b", "shift+i")
        time.sleep(SETTLE)

    def correct(self, number):
        """Cut and join where the saved result is wrong."""
        tool = ""
        for _ in range(CORRECTIONS):
            found = until(lambda: self.found(number), "the result on the disk")
            kind, points = Corrections(self.truths[number], found).largest()
            if kind not in ("cut", "join"):
                return
            if tool != "cut":
                self.press("c")
                tool = "cut"
            self.stroke(*points, button=1 if kind == "cut" else 3)
            time.sleep(SETTLE)

    def found(self, number):
        """Return the objects that the project holds, if they are those of its strokes."""
        try:
            segmenter = Segmenter(self.paths[number], load_project(self.project(number)))
            answer = segmenter.stored_answer()
        except ProjectError:
            return None
        if answer is None or answer.labelling.objects is None:
            return None
        return objects_of(answer.labelling, segmenter.document, segmenter.picture.rgb)

    def all_similar(self):
        """Return the places of the preset's button: below objects and a banner it is lower."""
        width, _ = self.program.look.size
        return [(width - 140, down) for down in (404, 452, 492)]

    def score(self):
        """Return the number of right objects, and the regions of the label images."""
        out = self.folder / "out"
        self.segapp("export", self.folder, "--as", "labels", "measures", "--out", out)
        hits = counted = 0
        for path, truth in zip(self.paths, self.truths, strict=True):
            values = tifffile.imread(out / "labels" / f"{path.stem}.tif")
            counted += int(values.max())
            masks = [values == value for value in range(1, values.max() + 1)]
            hits += n_right(truth, masks)
        return hits, counted


def n_right(truth, masks):
    """Count the true objects that a mask is."""
    hits = 0
    for place in range(1, truth.max() + 1):
        own = truth == place
        shares = [(own & mask).sum() / (own | mask).sum() for mask in masks if mask[own].any()]
        hits += max(shares, default=0) >= RIGHT
    return hits


def _extent(is_ground):
    """Return where a picture begins and ends that lies within some pixels of ground."""
    ground = ndimage.binary_opening(is_ground, np.ones(8))
    first, last = np.flatnonzero(ground)[[0, -1]]
    inside = np.flatnonzero(~ground[first : last + 1]) + first
    return int(inside[0]), int(inside[-1]) + 1


if __name__ == "__main__":
    main()
