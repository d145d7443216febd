"""The notebooks of assets/examples run as scripts, and do what they say."""

import json
import runpy

import numpy as np
import pytest
from PIL import Image

from segapp.io.desktop import ASSETS
from segapp.io.project import load_project

EXAMPLES = ASSETS / "examples"
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a notebook in a folder of its own, and its show()."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    def run_with(name, show=lambda: None):
        monkeypatch.setattr(plt, "show", show)
        return runpy.run_path(str(EXAMPLES / f"{name}.py"))

    yield run_with
    plt.close("all")


def test_segment_and_plot(run, tmp_path):
    space = run("segment_and_plot")
    assert 0.1 < space["result"].shares["leaf"] < 0.3
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"leaf.json", "leaf-on-white.png", "leaf.segapp", "leaf-plot.png"}
    assert np.asarray(Image.open("leaf-on-white.png"))[0, 0].tolist() == [255, 255, 255]


def test_correct_by_clicks(run):
    import matplotlib.pyplot as plt
    from matplotlib.backend_bases import KeyEvent, MouseEvent

    def drag(button, *points):
        figure = plt.gcf()
        places = figure.axes[0].transData.transform(points)
        names = ["button_press_event", *["motion_notify_event"] * (len(places) - 2)]
        for name, (x, y) in zip((*names, "button_release_event"), places, strict=True):
            event = MouseEvent(name, figure.canvas, x, y, button)
            figure.canvas.callbacks.process(name, event)

    def use():
        drag(1, (200, 100), (250, 60), (335, 50), (380, 105))
        drag(3, (125, 240), (180, 320), (300, 355))
        drag(3, (20, 20), (60, 20), (90, 20))
        canvas = plt.gcf().canvas
        canvas.callbacks.process("key_press_event", KeyEvent("key_press_event", canvas, "u"))

    space = run("correct_by_clicks", use)
    strokes = list(load_project("coffee.segapp").document.strokes)
    assert [stroke.label for stroke in strokes] == [0, 1]
    assert strokes[0].points[0] == pytest.approx((200.5, 100.5), abs=1)
    mask = space["corrector"].segmenter.result.mask
    assert mask[100, 300], "the coffee"
    assert not mask[350, 300], "the saucer"


def test_folder_to_dataset(run, tmp_path):
    run("folder_to_dataset")
    content = json.loads((tmp_path / "fields-of-view" / "annotations.json").read_text())
    assert [image["file_name"] for image in content["images"]] == [f"{n}.png" for n in range(1, 5)]
    assert {one["image_id"] for one in content["annotations"]} == {1, 2, 3, 4}
    numbers = [one["id"] for one in content["annotations"]]
    assert numbers == list(range(1, len(numbers) + 1))


def test_notebooks_are_in_percent_format_and_named_on_the_guide_s_page():
    page = (ASSETS / "guide" / "python.md").read_text("utf-8")
    for name in ("segment_and_plot", "correct_by_clicks", "folder_to_dataset"):
        text = (EXAMPLES / f"{name}.py").read_text("utf-8")
        assert text.startswith("# %% [markdown]\n# # ")
        assert text.count("# %%\n") >= 3
        assert f"../examples/{name}.py" in page
