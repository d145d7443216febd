import json
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from segapp.__main__ import main
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.io.project import Project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS

SIZE = (60, 90)


@pytest.fixture
def segapp(capsys):
    """Run the program; gives its exit code and what it said."""

    def call(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # argparse
            code = end.code
        out, err = capsys.readouterr()
        result = json.loads(out) if "--json" in words and out.strip() else None
        return SimpleNamespace(code=code, out=out, err=err, json=result)

    return call


@pytest.fixture
def heeds_ctrl_c():
    """Started programs heed Ctrl-C, even if the tests run in the background, where none does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def draw(path, seed=0, centre=(30, 45)):
    """A ball before a wall."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    ball = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= 18**2
    rgb = np.where(ball[..., np.newaxis], (210, 120, 40), (60, 90, 140))
    rgb = rgb + rng.normal(0, 10, (*SIZE, 3))
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return ball


@pytest.fixture
def ball(tmp_path):
    """An image, strokes as a picture, and a project with the same strokes."""
    folder = tmp_path / "data é"
    folder.mkdir()
    inside = draw(folder / "ball.png")
    document = Document()
    for points, label in ((((38.0, 28.0), (52.0, 32.0)), 0), (((6.0, 5.0), (84.0, 6.0)), 1)):
        document = document.with_stroke(Stroke(points, 3.0, label))
    picture = load_image(folder / "ball.png")
    document = document.as_one_state()  # as the strokes of a picture are
    project = Project(document, PRESETS["best"], picture.path, picture.sha256)
    save_project(folder / "ball.segapp", project)
    marks = (rasterize(document, SIZE) + 1).astype(np.uint8)
    Image.fromarray(marks).save(folder / "strokes.png")
    return SimpleNamespace(
        folder=folder,
        image=folder / "ball.png",
        strokes=folder / "strokes.png",
        project=folder / "ball.segapp",
        document=document,
        picture=picture,
        inside=inside,
        draw=draw,
    )
