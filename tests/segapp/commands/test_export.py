import json

import numpy as np
import pytest
from PIL import Image

from segapp.files.export import FORMATS


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
def test_where_it_cannot_go(segapp, ball, words, sentence):
    done = segapp("export", ball.project, *words)
    assert done.code == 1
    assert sentence in done.err


def test_what_is_no_project(segapp, ball):
    done = segapp("export", ball.image, "--as", "mask")
    assert done.code == 1
    assert "ball.png is damaged or not a project" in done.err
    assert segapp("export", ball.project, "--as", "video").code == 2
