"""A researcher: hash codes in view, and arrays that equal the program's."""

import numpy as np
import pytest
from PIL import Image

from segapp.engine.trainer import segment
from segapp.io.images import load_image
from segapp.io.project import load_project
from tests.segapp.walkthroughs.real_window import in_looks, needs_a_screen, program_in

pytestmark = [pytest.mark.slow, needs_a_screen]
SIZE = (300, 200)


@pytest.fixture
def picture(tmp_path):
    """Two textures side by side."""
    rng = np.random.default_rng(6)
    rgb = rng.normal(120, 12, (SIZE[1], SIZE[0], 3))
    rgb[:, 150:] += 50 * (np.indices((200, 150)).sum(axis=0) % 8 < 4)[..., None]
    path = tmp_path / "textures.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path


@in_looks("double")
def test_researcher(look, tmp_path, picture):
    arrays, project = tmp_path / "answer.npz", tmp_path / "textures.segapp"
    with program_in(look, "researcher", tmp_path / "home") as program:
        program.prefer(export="numpy")
        program.start(picture, title=picture.name)
        program.stroke(1, SIZE, (200, 40), (230, 100), (210, 160))
        program.stroke(3, SIZE, (60, 40), (80, 100), (50, 160))
        program.shot("answer")
        program.desk.keys("ctrl+6")
        program.shot("hash codes")
        program.write("ctrl+e", "Export", arrays)
        program.desk.window(picture.name)
        program.write("ctrl+s", "Save project", project)
        program.quit("segapp")
    held = load_project(project)
    again = segment(load_image(picture).rgb, held.document, held.settings)
    with np.load(arrays) as written:
        np.testing.assert_array_equal(written["labels"], again.labels)
        np.testing.assert_array_equal(written["codes"], again.codes)
    assert (again.labels[:, 160:] == 0).mean() > 0.9
    assert (again.labels[:, :140] == 1).mean() > 0.9
