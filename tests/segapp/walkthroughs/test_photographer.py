"""A photographer: a box around one thing, a touch, a soft cut-out."""

import numpy as np
import pytest
from PIL import Image

from tests.segapp.walkthroughs.real_window import in_looks, needs_a_screen, program_in

pytestmark = [pytest.mark.slow, needs_a_screen]
SIZE = (900, 600)


@pytest.fixture
def photo(tmp_path):
    """A warm round thing with a shade, on a cool uneven wall."""
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]]
    inside = (columns - 450) ** 2 + (rows - 310) ** 2 < 150**2
    shade = 1 - 0.25 * (columns / SIZE[0])[..., None]
    noise = np.random.default_rng(2).normal(0, 9, (SIZE[1], SIZE[0], 3))
    rgb = np.where(inside[..., None], (215, 120, 60), (120, 150, 165)) * shade + noise
    path = tmp_path / "vase.jpg"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path, quality=92)
    return path, inside


@in_looks("dark")
def test_photographer(look, tmp_path, photo):
    path, inside = photo
    with program_in(look, "photographer", tmp_path / "home") as program:
        program.prefer(export="cutout")
        program.start(path, title=path.name)
        desk = program.desk
        desk.keys("shift+o")  # a box around the object
        program.stroke(1, SIZE, (280, 140), (400, 300), (620, 480))
        program.shot("box")
        desk.keys("b")
        program.stroke(1, SIZE, (400, 260), (450, 310), (500, 380))
        program.shot("answer")
        desk.keys("ctrl+2")
        program.shot("outline")
        desk.keys("ctrl+4")
        program.shot("cut-out")
        cutout = tmp_path / "vase.png"
        program.write("ctrl+e", "Export", cutout)
        desk.window(path.name)
        program.write("ctrl+s", "Save project", tmp_path / "vase.segapp")
        program.quit("segapp")
    found = np.array(Image.open(cutout))[..., 3] > 127
    assert (found & inside).sum() / (found | inside).sum() > 0.95
