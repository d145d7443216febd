"""Pictures of the guide and of the README, made from the real window.

    python tests/benchmarks/make_guide.py            all of them
    python tests/benchmarks/make_guide.py first      those whose names begin so

The window is the program's own, with the mouse on it, but without a screen. The images are
samples that come with the program.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
_HOME = tempfile.TemporaryDirectory()  # settings and recovery copies of the user stay out
for _name in ("CONFIG", "STATE", "DATA", "CACHE"):
    os.environ[f"XDG_{_name}_HOME"] = _HOME.name

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import segapp
from segapp.imaging.components import label_components
from segapp.imaging.overlay import code_colours
from segapp.io.masks import document_from_labels
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.jobs import Jobs
from segapp.qt.session.session import Session
from segapp.qt.window.startup import build_window

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SAMPLES = ASSETS / "samples"
_PATIENCE = 60.0  # seconds for a result
_SIZE = (1160, 720)
_DRAWN = 300  # milliseconds in which jobs that draw have begun
_FRAME = 80  # milliseconds of a frame of the animation

Points = tuple[tuple[float, float], ...]
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


class Studio:
    """The program's window with a hand on the mouse."""

    def __init__(self, path: Path, size: tuple[int, int] = _SIZE, *, keep: bool = True) -> None:
        preferences = Preferences()
        preferences.set("keep/wish", "beside" if keep else "")
        self.window = build_window(Session(), preferences)
        self.window.resize(*size)
        self.window.show()
        self.window.files.open(path)
        self.frames: list[Image.Image] = []
        self.until(lambda: self.window.session.picture is not None)
        self.prepare()

    def prepare(self) -> None:
        """Have a result and take it back, so that the next one comes at once."""
        self.stroke(LEFT, (9, 9), (12, 12))
        self.command("undo")
        self.rest()

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the window work until a condition holds."""
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the window did not get there in time")
            QApplication.processEvents()
            time.sleep(0.02)  # in which other threads run, as they do not in QTest.qWait

    def settle(self) -> None:
        """Wait for the result, and for the picture of it."""
        answers = self.window.session.answers
        if len(self.window.session.document.strokes):
            self.until(lambda: answers.is_current)
        for _ in range(2):  # jobs begin after a moment, and by the end of others
            QTest.qWait(_DRAWN)
            jobs = self.window.findChildren(Jobs)
            self.until(lambda jobs=jobs: not any(job.busy for job in jobs))
        QApplication.processEvents()

    def command(self, name: str) -> None:
        """Trigger a command of the menus."""
        self.window.commands[name].trigger()
        self.settle()

    def stroke(self, button: Qt.MouseButton, *points: tuple[float, float], film: int = 0) -> None:
        """Paint through points of the image; keep every n-th step as a frame."""
        canvas, to_widget = self.window.canvas, self.window.canvas.viewport.view.to_widget
        places = [to_widget(QPointF(*point)).toPoint() for point in _along(points)]
        QTest.mouseMove(canvas, places[0])
        QTest.mousePress(canvas, button, Qt.KeyboardModifier.NoModifier, places[0])
        for number, place in enumerate(places):
            _drag(canvas, place, button)
            QTest.qWait(40 if film else 5)
            if film and number % film == 0:
                self.take()
        QTest.mouseRelease(canvas, button, Qt.KeyboardModifier.NoModifier, places[-1])
        if film:
            QTest.qWait(40)
        else:
            self.settle()

    def rest(self) -> None:
        """Take the mouse away from the image."""
        QTest.mouseMove(self.window, QPoint(2, 2))
        QApplication.sendEvent(self.window.canvas, QEvent(QEvent.Type.Leave))
        QApplication.processEvents()

    def take(self, times: int = 1) -> None:
        """Keep the window as frames of an animation."""
        self.frames += [as_image(self.window)] * times

    def save(self, name: str, part: QWidget | None = None) -> None:
        """Save a picture of the window, or of a part."""
        save(as_image(part or self.window), name)

    def close(self) -> None:
        """Close the window, without a question."""
        self.window.file_commands.save_to(
            Path(_HOME.name) / "closing.segapp", self.window.session.state
        )
        self.window.autosave.wait(_PATIENCE)
        self.window.close()


def _drag(canvas: QWidget, place: QPoint, button: Qt.MouseButton) -> None:
    """Send a move with a pressed button, which QTest.mouseMove leaves out."""
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(place),
        QPointF(canvas.mapToGlobal(place)),
        Qt.MouseButton.NoButton,
        button,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(canvas, event)


def _along(points: tuple[tuple[float, float], ...], step: float = 7) -> list[tuple[float, float]]:
    """Return points along a line, a step apart."""
    found = [points[0]]
    for start, end in pairwise(points):
        count = max(1, round(np.hypot(end[0] - start[0], end[1] - start[1]) / step))
        shares = np.arange(1, count + 1) / count
        found += [
            (start[0] + (end[0] - start[0]) * s, start[1] + (end[1] - start[1]) * s)
            for s in shares
        ]
    return found


def as_image(part: QWidget) -> Image.Image:
    """Return a widget as a picture."""
    grabbed = part.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    lines = np.frombuffer(grabbed.constBits(), np.uint8).reshape(grabbed.height(), -1)
    rgb = lines[:, : 3 * grabbed.width()].reshape(grabbed.height(), grabbed.width(), 3)
    return Image.fromarray(rgb.copy())


def save(image: Image.Image, name: str) -> None:
    """Save a picture of the guide, as JPEG without coarser colours."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.convert("RGB").save(path, quality=86, subsampling=0, optimize=True)
    print(path.name, path.stat().st_size)


@contextmanager
def sample(name: str, **options: tuple[int, int] | bool) -> Iterator[Studio]:
    """Open a window on a copy of a sample."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.jpg"
        shutil.copy(SAMPLES / path.name, path)
        studio = Studio(path, **options)
        yield studio
        studio.close()


@contextmanager
def export_dialog(studio: Studio, form: str) -> Iterator[ExportDialog]:
    """Open the dialog of an export, with a format chosen and its preview there."""
    folder = Path("/home/you/Pictures")
    dialog = ExportDialog(studio.window.session, folder, form, parent=studio.window)
    dialog.resize(940, 600)
    dialog.show()
    studio.settle()
    yield dialog
    dialog.close()


# Pictures ------------------------------------------------------------------------------------

# Points of strokes on the samples.
PERSON = ((232, 45), (222, 110), (235, 160), (240, 330), (120, 330), (95, 430))
HELMET = ((345, 390), (460, 470), (370, 490))
RIM = ((415, 353), (466, 385), (490, 440))
DESK = ((420, 296), (500, 330), (506, 400))
STRAP = ((258, 330), (272, 430), (268, 495), (238, 440), (175, 490))
PORTRAIT = PERSON, HELMET, RIM, STRAP
CUP = ((200, 100), (250, 60), (335, 50), (380, 105)), ((190, 170), (280, 250), (360, 225))
SAUCER = ((125, 240), (180, 320), (300, 355)), ((432, 175), (425, 270))
SPOON = ((310, 318), (366, 290)), ((402, 76), (414, 100))
HANDLE = ((215, 258), (212, 292)), ((262, 272), (300, 276))
CELL = (52, 115), (100, 75), (145, 110), (108, 140), (110, 176)
AROUND_CELLS = (20, 20), (215, 15), (212, 165)


def strokes_to_cutout() -> None:
    """Film two strokes on a portrait, and the cut-out, for the README."""
    with sample("astronaut", size=(940, 640)) as studio:
        studio.window.commands["mark_spot"].setChecked(False)
        studio.take(6)
        for button, points in (*((LEFT, points) for points in PORTRAIT), (RIGHT, DESK)):
            studio.stroke(button, *points, film=6)
            for _ in range(2):
                QTest.qWait(_FRAME)
                studio.take()
            studio.settle()
        studio.rest()
        studio.take(5)
        studio.command("view_cut-out")
        studio.settle()
        studio.take(22)
        first, *others = studio.frames
        path = Path("strokes-to-cutout.webp")
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=_FRAME,
            loop=0,
            quality=72,
            method=6,
        )
        print(path.name, path.stat().st_size, len(studio.frames) * _FRAME / 1000, "s")


def first() -> None:
    """Show the first cut-out step by step."""
    with sample("coffee", keep=False) as studio:
        studio.window.hint.begin()
        studio.window.refresh()
        QTest.qWait(300)
        studio.save("guide/images/first-start.jpg")
        studio.stroke(LEFT, *CUP[0])
        studio.stroke(LEFT, *CUP[1])
        studio.rest()
        studio.save("guide/images/first-stroke.jpg")
        for button, points in ((RIGHT, SAUCER), (RIGHT, SPOON), (LEFT, HANDLE)):
            for each in points:
                studio.stroke(button, *each)
        studio.rest()
        studio.save("guide/images/first-result.jpg")
        studio.command("view_cut-out")
        studio.settle()
        studio.save("guide/images/first-cutout.jpg")
        studio.command("view_overlay")
        with export_dialog(studio, "cutout") as dialog:
            studio.save("guide/images/first-export.jpg", dialog)


def portrait() -> None:
    """Put the portrait on a new background, with a hard and a soft edge."""
    rgb = np.array(Image.open(SAMPLES / "astronaut.jpg").convert("RGB"))
    segmenter = segapp.Segmenter(SAMPLES / "astronaut.jpg")
    for points in PORTRAIT:
        segmenter.add_stroke(list(points), "foreground", radius=8)
    segmenter.add_stroke(list(DESK), "background", radius=8)
    ground = np.linspace((244, 236, 222), (168, 196, 205), len(rgb))[:, np.newaxis]
    drawn = []
    with tempfile.TemporaryDirectory() as folder:
        for edge in (0.0, None):
            (path,) = segmenter.result.export(Path(folder) / "cut.png", "cutout", edge=edge)
            cut = np.array(Image.open(path)).astype(float)
            alpha = cut[..., 3:] / 255
            drawn.append(cut[..., :3] * alpha + ground * (1 - alpha))
    hard, soft = (Image.fromarray(values.round().astype(np.uint8)) for values in drawn)
    save(side_by_side([Image.fromarray(rgb), soft]), "guide/images/portrait.jpg")
    box = (140, 10, 300, 130)
    pieces = [Image.fromarray(rgb), hard, soft]
    zoomed = [piece.crop(box).resize((480, 360), Image.Resampling.BICUBIC) for piece in pieces]
    save(
        side_by_side(zoomed, ["image", "hard edge", "soft edge"]), "guide/images/portrait-edge.jpg"
    )
    with sample("astronaut") as studio:
        for points in PORTRAIT:
            studio.stroke(LEFT, *points)
        studio.stroke(RIGHT, *DESK)
        with export_dialog(studio, "cutout") as dialog:
            studio.save("guide/images/portrait-export.jpg", dialog)


def cells() -> None:
    """Find all cells by a stroke on one of them, count and measure them."""
    with sample("cells") as studio:
        studio.window.findChild(QWidget, "way_alike").click()
        studio.stroke(LEFT, *CELL)
        studio.stroke(RIGHT, *AROUND_CELLS)
        studio.rest()
        measures = studio.window.measuring
        measures.dock.show()
        measures.dock.raise_()
        studio.settle()
        studio.save("guide/images/cells-measures.jpg")
        result = studio.window.session.answers.shown.labels
        count_parts(
            np.array(Image.open(SAMPLES / "cells.jpg")),
            result == 0,
            "guide/images/cells.jpg",
        )


def count_parts(rgb: np.ndarray, inside: np.ndarray, name: str) -> None:
    """Draw the parts of a mask with their outlines and numbers."""
    numbered, count = label_components(inside)
    edge = inside & ~ndimage.binary_erosion(inside, iterations=2)
    tinted = np.where(inside[..., np.newaxis], 0.75 * rgb + 0.25 * np.array((230, 159, 0)), rgb)
    tinted[edge] = (200, 80, 0)
    image = Image.fromarray(tinted.astype(np.uint8)).resize((1040, 780), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(image)
    centres = ndimage.center_of_mass(inside, numbered, range(1, count + 1))
    for number, (y, x) in enumerate(sorted(centres, key=lambda c: (round(c[0] / 100), c[1])), 1):
        place = (2 * x, 2 * y)
        pen.ellipse([place[0] - 24, place[1] - 24, place[0] + 24, place[1] + 24], fill="white")
        pen.text(place, str(number), "black", ImageFont.load_default(30), anchor="mm")
    save(image, name)


def side_by_side(images: list[Image.Image], titles: list[str] | None = None) -> Image.Image:
    """Return images in a row, with titles below."""
    gap, below = 12, 34 if titles else 0
    width = sum(image.width for image in images) + gap * (len(images) - 1)
    row = Image.new("RGB", (width, images[0].height + below), "white")
    pen, x = ImageDraw.Draw(row), 0
    for number, image in enumerate(images):
        row.paste(image, (x, 0))
        if titles:
            place = (x + image.width / 2, image.height + below / 2)
            pen.text(place, titles[number], "black", ImageFont.load_default(20), anchor="mm")
        x += image.width + gap
    return row


def folder() -> None:
    """Show a folder with images in all states, and its export."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "still lifes"
        root.mkdir()
        for number, name in enumerate(("coffee", "cells", "fruit", "leaf", "astronaut"), 1):
            shutil.copy(SAMPLES / f"{name}.jpg", root / f"{number} {name}.jpg")
        studio = Studio(root / "1 coffee.jpg", (1240, 760))
        studio.window.files.open_folder(root)
        studio.settle()
        studio.window.resizeDocks([studio.window.docks.files], [300], Qt.Orientation.Horizontal)
        for points in (*CUP, *HANDLE):
            studio.stroke(LEFT, *points)
        for points in (*SAUCER, *SPOON):
            studio.stroke(RIGHT, *points)
        studio.command("done")
        for name in ("2 cells.jpg", "4 leaf.jpg"):
            studio.window.files.open(root / name)
            studio.until(lambda name=name: studio.window.session.state.path.name == name)
            studio.settle()
            studio.stroke(LEFT, *(CELL if "cells" in name else ((200, 300), (380, 180))))
            studio.stroke(RIGHT, *(AROUND_CELLS if "cells" in name else ((60, 60), (300, 60))))
        studio.rest()
        studio.settle()
        studio.save("guide/images/folder.jpg")
        studio.command("export_folder")
        studio.settle()
        studio.save("guide/images/folder-export.jpg")
        studio.close()


def settings() -> None:
    """Show what settings do, each with a low and a high value."""
    coffee = ((*CUP, *HANDLE), (*SAUCER, *SPOON))
    cells = ((CELL,), (AROUND_CELLS,))
    best, presets = segapp.PRESETS["best"], segapp.PRESETS
    for name, image, strokes, box, choices in (
        ("preset", "cells", cells, (0, 0, 520, 390), presets),
        (
            "object-size",
            "coffee",
            (CUP, SAUCER[:1]),
            _CUP_BOX,
            {f"{value}": replace(best, threshold=value) for value in (-1.0, 0.0, 1.0)},
        ),
        (
            "edge-smoothing",
            "coffee",
            coffee,
            _CUP_BOX,
            {
                f"{value}": replace(best, clean_up=replace(best.clean_up, smoothing=value))
                for value in (0, 5, 15)
            },
        ),
        (
            "outline-simplicity",
            "coffee",
            coffee,
            _CUP_BOX,
            {f"{value:g}": replace(best, smoothness=value) for value in (1.0, 30.0, 300.0)},
        ),
    ):
        drawn = []
        for choice in choices.values():
            segmenter = segapp.Segmenter(SAMPLES / f"{image}.jpg", settings=choice)
            for label, lines in zip(("foreground", "background"), strokes, strict=True):
                for line in lines:
                    segmenter.add_stroke(list(line), label, radius=7)
            drawn.append(outlined(image, segmenter.result.mask, box))
        names = {"best": "One object", "alike": "All similar", "paper": "Paper"}
        save(
            side_by_side(drawn, [names.get(key, key) for key in choices]),
            f"guide/images/setting-{name}.jpg",
        )


_CUP_BOX = (150, 0, 470, 320)


def outlined(name: str, mask: np.ndarray, box: tuple[int, int, int, int]) -> Image.Image:
    """Return a part of a sample, 400 pixels wide, with a mask tinted and its outline drawn."""
    rgb = np.array(Image.open(SAMPLES / f"{name}.jpg").convert("RGB"))
    tinted = np.where(mask[..., np.newaxis], 0.6 * rgb + 0.4 * np.array((230, 159, 0)), 0.8 * rgb)
    tinted[mask & ~ndimage.binary_erosion(mask)] = (255, 255, 255)
    part = Image.fromarray(tinted.astype(np.uint8)).crop(box)
    return part.resize((400, round(400 * part.height / part.width)), Image.Resampling.LANCZOS)


def batch() -> None:
    """Run a batch on the samples, and keep its sheet."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, "-m", "segapp", "batch", "--out", place]
        subprocess.run(words, check=True, capture_output=True)
        save(Image.open(Path(place) / "sheet.png"), "guide/images/batch-sheet.jpg")


def method() -> None:
    """Draw strokes, hash codes with codewords, and the result of one image."""
    segmenter = segapp.Segmenter(SAMPLES / "leaf.jpg")
    segmenter.add_stroke([(200, 300), (380, 180)], "foreground", radius=8)
    segmenter.add_stroke([(60, 60), (300, 60)], "background", radius=8)
    result = segmenter.result
    image = Image.open(SAMPLES / "leaf.jpg").convert("RGB")
    pen = ImageDraw.Draw(image)
    pen.line([(200, 300), (380, 180)], (230, 159, 0), 14)
    pen.line([(60, 60), (300, 60)], (0, 114, 178), 14)
    codes = code_colours(result.codes.ravel()).reshape(*result.codes.shape, -1)[..., :3]
    places = {"a": (300, 235), "b": (420, 130), "c": (120, 60), "d": (100, 250)}
    shown = Image.fromarray(codes)
    for drawing in (image, shown):
        for letter, place in places.items():
            mark(drawing, place, letter)
    panels = [
        image,
        shown,
        bits_of(result, places),
        outlined("leaf", result.mask, (0, 0, 560, 400)),
    ]
    panels = [panel.resize((460, 328), Image.Resampling.LANCZOS) for panel in panels]
    titles = [
        "1  strokes",
        "2  a hash code for every place",
        "3  compare with codewords",
        "4  result",
    ]
    rows = [side_by_side(panels[at : at + 2], titles[at : at + 2]) for at in (0, 2)]
    sheet = Image.new("RGB", (rows[0].width, 2 * rows[0].height + 12), "white")
    for number, row in enumerate(rows):
        sheet.paste(row, (0, number * (row.height + 12)))
    save(sheet, "guide/images/method.jpg")


def mark(image: Image.Image, place: tuple[int, int], letter: str) -> None:
    """Draw a letter in a circle."""
    pen, (x, y) = ImageDraw.Draw(image), place
    pen.ellipse([x - 15, y - 15, x + 15, y + 15], fill="white", outline="black")
    pen.text(place, letter, "black", ImageFont.load_default(22), anchor="mm")


def bits_of(result: segapp.Result, places: dict[str, tuple[int, int]]) -> Image.Image:
    """Draw the codewords, and the codes of places with the bits that differ from each."""
    image = Image.new("RGB", (920, 656), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(34)
    codewords = result.codewords[:, 0] > 0
    n_bits = codewords.shape[1]

    def row(y: int, name: str, bits: np.ndarray, told: str) -> None:
        pen.text((40, y), name, "black", font, anchor="lm")
        for number, bit in enumerate(bits):
            x = 300 + 56 * number
            filled = (40, 40, 40) if bit else "white"
            pen.rectangle([x, y - 22, x + 44, y + 22], fill=filled, outline="black", width=3)
        pen.text((330 + 56 * n_bits, y), told, "black", font, anchor="lm")

    pen.text((40, 50), "codewords", (110, 110, 110), font, anchor="lm")
    pen.text((330 + 56 * n_bits, 270), "bits that differ", (110, 110, 110), font, anchor="lm")
    for number, (name, word) in enumerate(zip(("leaf", "background"), codewords, strict=True)):
        row(115 + 64 * number, name, word, "")
    for number, (letter, (x, y)) in enumerate(places.items()):
        code = (int(result.codes[y, x]) >> np.arange(n_bits)) & 1 > 0
        away = [int((code != word).sum()) for word in codewords]
        name = ("leaf", "background")[int(np.argmin(away))]
        row(330 + 76 * number, letter, code, f"{away[0]} / {away[1]}: {name}")
    return image


def stack() -> None:
    """Show sliders and confidence of a film that pans over a sample."""
    with tempfile.TemporaryDirectory() as place:
        image, strokes = (np.asarray(Image.open(SAMPLES / f"coffee{end}")) for end in _PAIR)
        height, width = 300, 400
        for number in range(12):
            box = slice(4 * number, height + 4 * number), slice(12 * number, width + 12 * number)
            Image.fromarray(image[box]).save(Path(place) / f"{number:03}.png")
        studio = Studio(Path(place))
        window = studio.window
        window.session.edit("strokes", document_from_labels(strokes[:height, :width]))
        studio.settle()
        studio.command("propagate")
        window.stacks.go_to(8)
        studio.settle()
        studio.rest()
        studio.save("guide/images/stack-bar.jpg")
        studio.close()


_PAIR = (".jpg", "-strokes.png")
PICTURES = {
    "stack": stack,
    "folder": folder,
    "setting": settings,
    "batch": batch,
    "method": method,
    "strokes-to-cutout": strokes_to_cutout,
    "first": first,
    "portrait": portrait,
    "cells": cells,
}


def main() -> None:
    """Make the pictures whose names begin as asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names; all if none")
    parser.add_argument("--out", type=Path, default=ASSETS, help="instead of the assets' folder")
    arguments = parser.parse_args()
    os.chdir(arguments.out)
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    for name, make in PICTURES.items():
        if name.startswith(tuple(arguments.names)):
            make()


if __name__ == "__main__":
    main()
