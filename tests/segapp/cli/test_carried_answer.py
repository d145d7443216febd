"""Projects that carry their answer: every way to the answer agrees, with and without it."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.io.project import load_project, save_project


@pytest.fixture
def batch(segapp, ball, tmp_path):
    """Let the robot work on a truth that colours do not give; returns its project and mask."""
    folder = tmp_path / "cases"
    folder.mkdir()
    truth = ball.inside.copy()
    truth[4:24, 70:86] = True
    for name, image in (
        ("ball.png", Image.fromarray(ball.picture.rgb)),
        ("ball-strokes.png", Image.open(ball.strokes)),
        ("ball-truth.png", Image.fromarray(np.where(truth, 255, 0).astype(np.uint8))),
    ):
        image.save(folder / name)
    done = segapp("batch", folder, "--out", tmp_path / "out", "--robot", 3)
    assert done.code == 0
    return tmp_path / "out" / "projects" / "ball.segapp", tmp_path / "out" / "masks" / "ball.png"


def test_batch_segment_and_export_agree_with_and_without_it(segapp, batch, tmp_path):
    path, mask = batch
    project = load_project(path)
    assert project.answer is not None
    assert len(list(project.document.earlier_states())) > 1
    foreign = replace(project.answer, digest="0" * 64)
    found = {}
    for name, answer in (("with", project.answer), ("without", None), ("foreign", foreign)):
        own = tmp_path / name
        own.mkdir()
        save_project(own / "ball.segapp", replace(project, answer=answer))
        Image.open(project.image_path).save(own / "ball.png")
        words = ("--strokes", own / "ball.segapp", "--out", own / "segment.png")
        assert segapp("segment", own / "ball.png", *words).code == 0
        words = ("--as", "mask", "--out", own / "export.png")
        assert segapp("export", own / "ball.segapp", *words).code == 0
        assert segapp("batch", own, "--out", own / "again").code == 0
        paths = (own / "segment.png", own / "export.png", own / "again" / "masks" / "ball.png")
        found[name] = [np.array(Image.open(path)) for path in paths]
        assert load_project(own / "again" / "projects" / "ball.segapp").answer == project.answer
    for masks in found.values():
        for one in masks:
            np.testing.assert_array_equal(one, np.array(Image.open(mask)))
