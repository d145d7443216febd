"""Projects as layers of napari and back, and the widget, where napari is installed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import segapp
from segapp.model.validation import SegappError
from segapp.napari_plugin import get_reader, read_projects, segment, write_project

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path):
    """Save a project of a bright disc with two strokes."""
    y, x = np.mgrid[:60, :80]
    rgb = np.full((60, 80, 3), (40, 60, 90), np.uint8)
    rgb[(x - 40) ** 2 + (y - 30) ** 2 < 14**2] = (220, 180, 60)
    Image.fromarray(rgb).save(tmp_path / "disc.png")
    segmenter = segapp.Segmenter(tmp_path / "disc.png")
    segmenter.add_stroke([(38, 30), (44, 30)], "foreground", radius=3)
    segmenter.add_stroke([(5, 5), (70, 5)], "background", radius=3)
    segmenter.save(tmp_path / "disc.segapp")
    return tmp_path / "disc.segapp"


def test_a_project_becomes_image_strokes_and_result(project):
    assert get_reader("disc.png") is None
    assert get_reader(str(project)) is read_projects
    (image, about, kind), strokes, result = read_projects([str(project)])
    assert (kind, about["name"], image.shape) == ("image", "disc", (60, 80, 3))
    assert (strokes[2], set(np.unique(strokes[0]))) == ("labels", {0, 1, 2})
    opened = segapp.load_project(project)
    mask = segapp.segment(opened.image_path, opened).mask
    np.testing.assert_array_equal(result[0] > 0, mask)


def test_layers_become_a_project_with_the_same_result(project, tmp_path):
    image, strokes, _ = read_projects(str(project))
    again = tmp_path / "again.segapp"
    assert write_project(str(again), [image, strokes]) == [str(again)]
    layers = read_projects(str(again))
    np.testing.assert_array_equal(layers[1][0], strokes[0])


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ([(np.zeros((4, 5)), {}, "image")], "one image and one labels layer"),
        (
            [(np.zeros((4, 5)), {}, "image"), (np.zeros((4, 5), int), {}, "labels")],
            "a layer of a file",
        ),
    ],
)
def test_other_layers_are_refused_in_a_sentence(layers, told, tmp_path):
    with pytest.raises(SegappError, match=told):
        write_project(str(tmp_path / "x.segapp"), layers)


class Layer:
    """The parts of a napari layer that the widget reads."""

    def __init__(self, data, *, rgb=False):
        self.data, self.rgb, self.name = data, rgb, "disc"


def test_the_widget_s_function_segments_a_labels_layer(project):
    image, strokes, result = read_projects(str(project))
    labels, about, kind = segment(Layer(image[0], rgb=True), Layer(strokes[0]))
    assert (about["name"], kind) == ("disc result", "labels")
    assert (labels != result[0]).mean() < 0.02  # strokes at once instead of one after the other
    with pytest.raises(SegappError, match="two dimensions"):
        segment(Layer(np.zeros((3, 4, 5))), Layer(strokes[0]))


@pytest.mark.slow
def test_napari_finds_reader_writer_and_widget(project):
    pytest.importorskip("napari", reason="needs napari: pip install 'segapp[napari]'")
    script = """
import json, sys
from napari.components import ViewerModel
from npe2 import PluginManager, PluginManifest
from qtpy.QtWidgets import QApplication
application = QApplication([])
manifest = PluginManifest.from_file(sys.argv[1])
PluginManager.instance().register(manifest)
viewer = ViewerModel()
image, strokes, result = viewer.open(sys.argv[2], plugin="segapp")
(contribution,) = manifest.contributions.widgets
widget = contribution.get_callable()()
assert [part.name for part in widget][:3] == ["image", "strokes", "preset"]
data, about, kind = widget(image, strokes)
out = sys.argv[2].replace("disc.segapp", "saved.segapp")
viewer.layers.selection = {image, strokes}
viewer.layers.save(out, selected=True, plugin="segapp")
print(json.dumps([[layer.name for layer in viewer.layers], kind, int((data > 0).sum())]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "segapp" / "napari.yaml"), str(project)],
        env={
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONPATH": str(ROOT),
            "PATH": "",
            "HOME": str(project.parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names, kind, size = json.loads(done.stdout.splitlines()[-1])
    assert names == ["disc", "disc strokes", "disc result"]
    assert kind == "labels"
    assert size == pytest.approx(np.pi * 14**2, rel=0.1)
    assert segapp.load_project(project.with_name("saved.segapp")).document.strokes
