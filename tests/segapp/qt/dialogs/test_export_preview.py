"""Previews of exports, compared with the files that were written."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco_mask

from segapp.imaging.boundaries import polygons
from segapp.imaging.rle import encode_counts, run_lengths
from segapp.io.export.formats import FORMATS, ExportChoices, formats
from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture, Scale
from segapp.qt.dialogs.export_preview import (
    FilePreviewBox,
    _mask,
    annotations_drawn,
    expanded,
    file_previews,
)

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RED, GREEN = (255, 0, 0), (0, 255, 0)
DOCUMENT = Document(
    (ClassInfo("cat", RED), ClassInfo("background", (0, 0, 255)), ClassInfo("dog", GREEN))
)


def labelling():
    """A ring of cat with a hole, a dog of two parts, background else."""
    labels = np.ones((120, 160), np.uint8)
    labels[10:60, 10:60] = 0
    labels[25:45, 25:45] = 1
    labels[80:100, 20:50] = 2
    labels[80:100, 100:150] = 2
    margin = np.ones(labels.shape, np.float32)
    return Labelling(labels, margin, labels.astype(np.uint32), 3, 2)


def picture(shape=(120, 160)):
    return Picture(np.full((*shape, 3), 128, np.uint8), None, Path("p.png"), "0", "")


def preview(name):
    (made,) = file_previews(FORMATS[name], "p", labelling(), DOCUMENT, picture())
    return made


def reddish(image, x, y):
    colour = image.pixelColor(x, y)
    return colour.red() > colour.green() + 20


def greenish(image, x, y):
    colour = image.pixelColor(x, y)
    return colour.green() > colour.red() + 20


@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons", "labelme", "numpy"])
def test_the_annotations_are_drawn_where_the_classes_are(qapp, name):
    image = preview(name).image
    assert (image.width(), image.height()) == (160, 120)
    assert reddish(image, 15, 35)
    assert not reddish(image, 35, 35)  # the hole
    assert greenish(image, 35, 90)
    assert greenish(image, 125, 90)
    if name != "numpy":  # an array has the background's number as well
        assert image.pixelColor(80, 70).getRgb()[:3] == (128, 128, 128)


def test_counts_are_shown(qapp):
    (ring,) = polygons(labelling().labels == 0)
    assert preview("coco-polygons").text.splitlines() == [
        f"cat: one polygon with {len(ring)} corners",
        "dog: 2 polygons with 8 corners",
    ]
    assert preview("labelme").text == preview("coco-polygons").text
    told = preview("coco-rle").text.splitlines()
    assert told[0].startswith(f"cat: {50 * 50 - 20 * 20} pixels in ")
    assert "labels: uint8, 120 × 160" in preview("numpy").text


def test_measures_are_drawn_where_the_parts_are_and_counted(qapp):
    made = preview("measures")
    assert made.text.splitlines() == [
        f"cat: one object, {50 * 50 - 20 * 20} px",
        f"dog: 2 objects, {np.count_nonzero(labelling().labels == 2)} px in all",
    ]
    rows = np.argwhere(labelling().labels == 0)
    (top, left), (bottom, _) = rows.min(axis=0), rows.max(axis=0)
    edge = made.image.pixelColor(int(left), int(top + bottom) // 2)
    assert edge != made.image.pixelColor(int(left) - 5, int(top + bottom) // 2)
    assert made.image.pixelColor(80, 70).getRgb()[:3] == (128, 128, 128)


def test_measures_have_the_unit_of_the_file(qapp):
    choices = ExportChoices(scale=Scale(0.5, "µm"))
    form = formats(choices)["measures"]
    (made,) = file_previews(form, "p", labelling(), DOCUMENT, picture())
    assert made.text.splitlines()[0] == f"cat: one object, {(50 * 50 - 20 * 20) * 0.25:g} µm²"


def test_an_empty_answer_says_so(qapp, tmp_path):
    labels = np.ones((20, 30), np.uint8)
    empty = Labelling(labels, np.ones((20, 30), np.float32), labels.astype(np.uint32), 3, 2)
    small = picture((20, 30))
    (made,) = file_previews(FORMATS["labelme"], "p", empty, DOCUMENT, small)
    assert made.text == "No annotation: no object has pixels."
    assert made.image is not None


def test_a_large_picture_is_drawn_small_with_its_polygons_in_place(qapp, tmp_path):
    path = tmp_path / "large.json"
    shapes = [{"label": "cat", "points": [[0, 0], [2000, 0], [2000, 3000], [0, 3000]]}]
    path.write_text(json.dumps({"shapes": shapes}))
    image, _ = annotations_drawn(path, DOCUMENT, picture((3000, 4000)))
    assert max(image.width(), image.height()) == 900
    assert reddish(image, 300, 300)
    assert not reddish(image, 600, 300)


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=30))
def test_run_lengths_come_back(counts):
    assert expanded(encode_counts(counts)) == counts


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_masks_are_those_of_cocos_own_reader(height, width, data):
    bits = data.draw(st.lists(st.booleans(), min_size=height * width, max_size=height * width))
    mask = np.array(bits).reshape(height, width)
    text = encode_counts(run_lengths(mask))
    theirs = coco_mask.decode({"size": [height, width], "counts": text.encode()})
    np.testing.assert_array_equal(_mask(expanded(text), (height, width)), theirs.astype(bool))


def test_a_long_caption_is_cut_and_the_picture_keeps_its_room(qtbot):
    box = FilePreviewBox()
    qtbot.addWidget(box)
    box.resize(300, 260)
    box.show()
    made = preview("labelme")
    box.show_preview(made.image, "\n".join(f"class {n}" for n in range(40)))
    grabbed = box.grab().toImage()
    assert grabbed.pixelColor(150, 70) != grabbed.pixelColor(1, 1)
    assert box.accessibleDescription().endswith("class 39")
