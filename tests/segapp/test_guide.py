"""The pages of the guide: their commands and Python run, and the window shows them."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before Qt is loaded, also where this file runs alone

import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QUrl

from segapp.__main__ import main
from segapp.io.desktop import ASSETS, SAMPLES
from segapp.qt.dialogs.help import GuideDialog, guide_folder
from segapp.qt.i18n import LANGUAGES

GUIDE = ASSETS / "guide"
PAGES = sorted(GUIDE.rglob("*.md"))
README = ASSETS.parent / "README.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SIZE = 160  # pixels of the longer side, so that the commands are quick


def small(name, folder, new_name=None):
    """Copy a sample with its strokes and its truth, made smaller."""
    new_name = new_name or name
    for path in SAMPLES.glob(f"{name}[.-]*"):
        with Image.open(path) as image:
            wide = path.suffix == ".jpg"
            scale = SIZE / max(image.size)
            size = tuple(round(side * scale) for side in image.size)
            way = Image.Resampling.BICUBIC if wide else Image.Resampling.NEAREST
            image.resize(size, way).save(folder / path.name.replace(name, new_name))


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Return a folder with the files that the pages speak of."""
    small("astronaut", tmp_path, "portrait")
    small("cells", tmp_path)
    (tmp_path / "photos").mkdir()
    for name in ("coffee", "leaf"):
        small(name, tmp_path / "photos")
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page, language):
    return [text for kind, text in FENCE.findall(page.read_text("utf-8")) if kind == language]


def run_command(line):
    program, *words = shlex.split(line, comments=True)
    assert program == "segapp"
    try:
        return main(words)
    except SystemExit as end:  # argparse
        return end.code


def with_project(folder):
    """Give an image of the folder a project, as the window would have written it."""
    import segapp

    for name in ("coffee", "leaf"):
        strokes = np.array(Image.open(folder / f"{name}-strokes.png"))
        segmenter = segapp.Segmenter(folder / f"{name}.jpg")
        for index in (1, 2):
            y, x = np.argwhere(strokes == index)[0]
            segmenter.add_stroke(
                [(x + 0.5, y + 0.5)], segmenter.document.classes[index - 1].name, radius=2
            )
        segmenter.save(folder / f"{name}.segapp")


def with_frames(folder):
    """Make a film of a textured square that moves, with marks on its first frame."""
    import segapp

    rng = np.random.default_rng(4)
    ground, square = rng.integers(20, 70, (80, 120)), rng.integers(150, 240, (32, 32))
    (folder / "frames").mkdir()
    for number in range(6):
        page = ground.copy()
        page[16:48, 24 + 4 * number : 56 + 4 * number] = square
        Image.fromarray(page.astype(np.uint8)).save(folder / "frames" / f"{number:03}.png")
    stack = segapp.Stack(folder / "frames")
    stack.add_stroke(0, [(36, 30), (46, 30)], "foreground", radius=5)
    stack.add_stroke(0, [(100, 8), (100, 70)], "background", radius=5)
    stack.save(folder / "frames")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [README, *PAGES], ids=lambda page: f"{page.parent.name}/{page.stem}"
)
def test_commands_and_python_of_a_page_run(page, desk):
    if page.stem in ("folder", "review"):
        with_project(desk / "photos")
    if page.stem == "stacks":
        with_frames(desk)
    commands = [line for text in blocks(page, "sh") for line in text.splitlines()]
    for line in commands:
        if line.startswith("segapp "):
            assert run_command(line) == 0, line
        else:
            assert page == README, line
    space = {}
    for text in blocks(page, "python"):
        with redirect_stdout(StringIO()):
            exec(compile(text, page.name, "exec"), space)


def test_pages_have_no_other_fences():
    kinds = {kind for page in PAGES for kind, _ in FENCE.findall(page.read_text("utf-8"))}
    assert kinds == {"sh", "python", "console"}


def test_lines_of_the_readme_are_shell_and_there_are_few():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 120
    for line in blocks(README, "sh"):
        assert line.count("\n") == 1
        subprocess.run(["/bin/sh", "-n", "-c", line], check=True)


def test_every_image_of_the_guide_is_shown_and_small():
    shown = {
        (page.parent / target).resolve()
        for page in (README, *PAGES)
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert {path.resolve() for path in (GUIDE / "images").iterdir()} <= shown
    assert sum(path.stat().st_size for path in shown) < 5_000_000
    assert (ASSETS / "strokes-to-cutout.webp").stat().st_size < 1_500_000


def test_the_guide_begins_with_three_pages_in_every_language():
    for language in set(LANGUAGES) - {"en"}:
        pages = {path.name for path in guide_folder(language).glob("*.md")}
        assert pages == {"README.md", "first-cut-out.md", "portrait.md", "folder.md"}
    assert guide_folder("en") == guide_folder("fr")


def test_the_window_shows_a_page_with_its_images_and_goes_back(qtbot):
    dialog = GuideDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    assert "The first cut-out" in dialog.browser.toPlainText()
    dialog.browser.anchorClicked.emit(QUrl("first-cut-out.md"))
    text = dialog.browser.toPlainText()
    assert "Open an image" in text
    assert text.count("\ufffc") == 5  # images
    assert dialog.browser.document().idealWidth() <= dialog.browser.viewport().width()
    dialog.browser.backward()
    assert dialog.browser.source().fileName() == "README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_links_that_the_window_shows_lead_to_pages_of_the_guide(page, qtbot):
    dialog = GuideDialog()
    qtbot.addWidget(dialog)
    dialog.browser.setSource(QUrl.fromLocalFile(str(page)))
    links = re.findall(r'<a href="([^"]+)"', dialog.browser.toHtml())
    for link in links:
        target = dialog.browser.source().resolved(QUrl(link))
        assert not target.isLocalFile() or target.toLocalFile().endswith(".md")
