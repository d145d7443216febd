"""A newcomer: a sample, two strokes, help, a mask."""

import numpy as np
import pytest
from PIL import Image

from segapp.io.desktop import SAMPLES
from segapp.qt.window.file_commands import sample_images
from tests.segapp.walkthroughs.real_window import in_looks, needs_a_screen, program_in, size_of

pytestmark = [pytest.mark.slow, needs_a_screen]


@in_looks("plain", "german")
def test_newcomer(look, tmp_path):
    sample = sample_images()[0]
    size = size_of(sample)
    truth = np.array(Image.open(SAMPLES / f"{sample.stem}-truth.png")) > 0
    with program_in(look, "newcomer", tmp_path / "home") as program:
        program.start(title=sample.name)
        desk = program.desk
        program.shot("first sight")
        inside = np.argwhere(truth)[:, ::-1]
        middle = tuple(np.median(inside, axis=0))
        column = np.flatnonzero(truth[:, int(middle[0])])
        top, bottom = np.percentile(column, (10, 90))
        program.stroke(1, size, (middle[0], top), middle, (middle[0], bottom))
        program.shot("one stroke")
        edge = size[0] * 0.04, size[1] * 0.04
        program.stroke(3, size, edge, (edge[0], size[1] / 2), (edge[0], size[1] - edge[1]))
        program.shot("a result")
        desk.keys("F1")
        desk.window(program.tr("Shortcuts"))
        program.shot("keys")
        desk.keys("Escape")
        desk.gone(f"^{program.tr('Shortcuts')}")
        desk.window(sample.name)
        mask = tmp_path / "mask.png"
        program.write("ctrl+e", "Export", mask)
        desk.window(sample.name)
        program.write("ctrl+s", "Save project", tmp_path / "first.segapp")
        program.shot("saved")
        program.quit("segapp")
    found = np.array(Image.open(mask)) > 0
    assert found[int(middle[1]), int(middle[0])]
    assert not found[:, int(edge[0])].any()
    assert (found & truth).sum() > 0.5 * truth.sum()
