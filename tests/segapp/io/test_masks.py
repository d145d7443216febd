"""Masks of other programs, read as they were meant."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as reference

from segapp.imaging.rasterise import rasterize, rasterize_marks
from segapp.imaging.rle import decode_counts, encode_counts, mask_from_runs, run_lengths
from segapp.io.export.formats import FORMATS
from segapp.io.masks import MaskError, load_mask, mark_with_mask, retouch_with_mask
from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture

SIZE = (24, 32)
IMAGE = Path("cat.jpg")
THREE = tuple(ClassInfo(name, (k, k, k)) for k, name in enumerate(("cat", "background", "dog")))


def labels_of_three():
    labels = np.ones(SIZE, np.uint8)
    labels[4:16, 3:14] = 0
    labels[8:12, 6:10] = 1
    labels[10:22, 18:30] = 2
    return labels


def saved(tmp_path, values, name="mask.png"):
    Image.fromarray(values.astype(np.uint8)).save(tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize("white", [255, 1])
def test_two_values_are_object_and_background(tmp_path, white):
    inside = labels_of_three() == 0
    mask = load_mask(saved(tmp_path, np.where(inside, white, 0)), IMAGE, SIZE)
    document = retouch_with_mask(Document(), mask)
    assert (rasterize_marks(document.retouches, SIZE) == np.where(inside, 0, 1)).all()
    assert tuple(document.strokes) == ()


def test_numbers_are_classes_and_255_is_nothing(tmp_path):
    values = labels_of_three()
    values[0, 0] = 255
    mask = load_mask(saved(tmp_path, values), IMAGE, SIZE)
    document = retouch_with_mask(Document(THREE), mask)
    painted = rasterize_marks(document.retouches, SIZE)
    assert painted[0, 0] == -1
    assert len(np.unique(painted)) == 4


@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons", "labelme", "indexed"])
def test_exported_masks_come_back(tmp_path, name):
    labels = labels_of_three()
    zeros = np.zeros(SIZE)
    answer = Labelling(labels, zeros.astype(np.float32), zeros.astype(np.uint32), 3, 1)
    picture = Picture(np.zeros((*SIZE, 3), np.uint8), None, IMAGE, "", "")
    target = tmp_path / f"a{FORMATS[name].suffix}"
    (path,) = FORMATS[name].write(target, answer, Document(THREE), picture)
    document = retouch_with_mask(Document(THREE), load_mask(path, IMAGE, SIZE))
    assert document.classes == THREE
    assert (rasterize_marks(document.retouches, SIZE) == labels).all()


def test_new_names_become_classes_and_the_background_stays(tmp_path):
    shapes = [{"label": "owl", "points": [[2, 2], [9, 8]], "shape_type": "rectangle"}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shapes": shapes}))
    document = retouch_with_mask(Document(), load_mask(path, IMAGE, SIZE))
    assert [info.name for info in document.classes] == ["foreground", "background", "owl"]
    assert document.background == 1
    assert (rasterize_marks(document.retouches, SIZE)[2:8, 2:9] == 2).all()


def test_marks_lie_well_inside_and_are_one_state(tmp_path):
    labels = labels_of_three()
    mask = load_mask(saved(tmp_path, labels), IMAGE, SIZE)
    document = mark_with_mask(Document(THREE), mask)
    marked = rasterize(document, SIZE)
    assert document.previous_state is None
    assert len(np.unique(marked)) == 4
    places = retouch_with_mask(Document(THREE), mask)
    whole = rasterize_marks(places.retouches, SIZE)
    assert (marked[marked >= 0] == whole[marked >= 0]).all()
    assert (marked[4:16, 3] == -1).all()  # the outline of the cat
    assert (marked >= 0).sum() < 0.75 * marked.size


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_run_lengths_are_read_as_pycocotools_wrote_them(seed, share):
    mask = np.random.default_rng(seed).random((7, 11)) < share
    written = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert (mask_from_runs(decode_counts(written["counts"].decode()), (7, 11)) == mask).all()
    assert decode_counts(encode_counts(run_lengths(mask))) == run_lengths(mask)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read as a mask"),
        ("{}", "wanted a mask by COCO or LabelMe, got another kind of JSON"),
        ('{"shapes": [{"label": "a", "points": [[1, 1]], "shape_type": "point"}]}', "got point"),
        ('{"annotations": [], "images": [], "categories": []}', "wanted the image cat.jpg"),
        (
            '{"annotations": [], "images": [{"id": 1, "height": 2, "width": 3}]}',
            "wanted the picture's 32 x 24 pixels, got 3 x 2",
        ),
    ],
)
def test_a_file_that_is_no_mask_is_reported(tmp_path, content, told):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(MaskError, match=told):
        load_mask(path, IMAGE, SIZE)


@pytest.mark.parametrize("count", [256, 40_000])
def test_more_classes_than_a_document_has_are_refused(tmp_path, count):
    rows = [
        {"id": k, "image_id": 1, "category_id": k, "segmentation": [[1, 1, 2, 1, 2, 2]]}
        for k in range(count)
    ]
    content = {
        "images": [{"id": 1, "file_name": IMAGE.name, "height": SIZE[0], "width": SIZE[1]}],
        "categories": [{"id": k, "name": f"c{k}"} for k in range(count)],
        "annotations": rows,
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    with pytest.raises(MaskError, match="wanted at most 255 classes"):
        load_mask(path, IMAGE, SIZE)


@pytest.mark.parametrize("counts", ["~~", "P", [1, -2], [5]])
def test_damaged_runs_are_reported(tmp_path, counts):
    content = {
        "images": [{"id": 1, "height": 24, "width": 32, "file_name": "x.png"}],
        "categories": [{"id": 1, "name": "a"}],
        "annotations": [
            {"image_id": 1, "category_id": 1, "segmentation": {"size": [24, 32], "counts": counts}}
        ],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    with pytest.raises(MaskError, match="counts"):
        load_mask(path, IMAGE, SIZE)


def test_white_is_the_only_object_whatever_it_is_called(tmp_path):
    values = np.zeros(SIZE, np.uint8)
    values[5:9, 6:12] = 255
    mask = load_mask(saved(tmp_path, values), IMAGE, SIZE)
    for names, white in ((("cat", "background"), 0), (("background", "cat"), 1)):
        document = Document(tuple(ClassInfo(name, (1, 1, 1)) for name in names))
        begun = retouch_with_mask(document, mask)
        assert begun.classes == document.classes
        assert (rasterize_marks(begun.retouches, SIZE) == np.where(values, white, 1 - white)).all()


def test_numbers_are_the_documents_objects_in_their_order_and_0_its_background(tmp_path):
    """As Pascal VOC, Cityscapes and most other programs count."""
    values = np.zeros(SIZE, np.uint8)
    values[2:9, 2:9], values[12:20, 4:20] = 1, 2
    path = saved(tmp_path, values)
    document = retouch_with_mask(Document(THREE), load_mask(path, IMAGE, SIZE))
    assert document.classes == THREE
    assert (rasterize_marks(document.retouches, SIZE) == np.array([1, 0, 2])[values]).all()
    few = retouch_with_mask(Document(), load_mask(path, IMAGE, SIZE))
    assert [info.name for info in few.classes] == ["foreground", "background", "class 2"]
    assert (rasterize_marks(few.retouches, SIZE) == np.array([1, 0, 2])[values]).all()


@pytest.mark.parametrize("two", [False, True])
def test_a_palette_of_the_classes_colours_says_which_is_which(tmp_path, two):
    classes = tuple(
        ClassInfo(name, colour)
        for name, colour in (
            ("cat", (250, 0, 0)),
            ("background", (0, 0, 250)),
            ("dog", (0, 250, 0)),
        )
    )[: 2 if two else 3]
    labels = np.minimum(labels_of_three(), len(classes) - 1)
    image = Image.fromarray(labels)
    image.putpalette([part for info in classes for part in info.colour])
    image.save(tmp_path / "own.png")
    image.convert("RGB").save(tmp_path / "rgb.png")
    voc = Image.fromarray(np.array([1, 0, 2], np.uint8)[labels])  # black is the background
    voc.putpalette([0, 0, 0, *(250, 0, 0), *(0, 250, 0)])
    voc.save(tmp_path / "voc.png")
    for name in ("own.png", "rgb.png", "voc.png"):
        mask = load_mask(tmp_path / name, IMAGE, SIZE)
        document = retouch_with_mask(Document(classes), mask)
        assert document.classes == classes
        assert (rasterize_marks(document.retouches, SIZE) == labels).all()


def test_colours_of_no_class_become_classes_of_these_colours(tmp_path):
    rgb = np.zeros((*SIZE, 3), np.uint8)
    rgb[3:9, 3:9], rgb[12:20, 9:20] = (200, 10, 20), (30, 220, 10)
    Image.fromarray(rgb).save(tmp_path / "a.png")
    mask = load_mask(tmp_path / "a.png", IMAGE, SIZE)
    document = retouch_with_mask(Document(THREE), mask)
    painted = rasterize_marks(document.retouches, SIZE)
    assert (painted[0] == 1).all()
    assert len(np.unique(painted)) == 3


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "1", "I;16"])
def test_black_and_white_in_any_dress_is_object_and_background(tmp_path, mode):
    inside = labels_of_three() == 0
    image = Image.fromarray(np.where(inside, 255, 0).astype(np.uint8))
    if mode == "I;16":
        image = Image.fromarray(np.where(inside, 65535, 0).astype(np.uint16))
    else:
        image = image.convert(mode)
    image.save(tmp_path / "mask.png")
    mask = load_mask(tmp_path / "mask.png", IMAGE, SIZE)
    document = retouch_with_mask(Document(), mask)
    assert (rasterize_marks(document.retouches, SIZE) == np.where(inside, 0, 1)).all()


def test_soft_edges_are_cut_in_their_middle(tmp_path):
    y, x = np.mgrid[:24, :32]
    soft = np.clip(255 * (0.5 + (8 - np.hypot(x - 16, y - 12)) / 3), 0, 255).astype(np.uint8)
    mask = load_mask(saved(tmp_path, soft), IMAGE, SIZE)
    document = retouch_with_mask(Document(), mask)
    assert len(document.classes) == 2
    assert (rasterize_marks(document.retouches, SIZE) == np.where(soft >= 128, 0, 1)).all()


def test_a_photograph_is_no_mask(tmp_path):
    rgb = np.random.default_rng(0).integers(0, 256, (*SIZE, 3), np.uint8)
    Image.fromarray(rgb).save(tmp_path / "a.png")
    with pytest.raises(MaskError, match="wanted a colour for each class, got 7"):
        load_mask(tmp_path / "a.png", IMAGE, SIZE)


def test_labelme_of_another_size_is_reported(tmp_path):
    shapes = [{"label": "owl", "points": [[2, 2], [9, 8]], "shape_type": "rectangle"}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shapes": shapes, "imageHeight": 48, "imageWidth": 64}))
    with pytest.raises(MaskError, match="wanted the picture's 32 x 24 pixels, got 64 x 48"):
        load_mask(path, IMAGE, SIZE)


def test_circles_and_stamped_masks_of_labelme_are_read(tmp_path):
    stamp = np.zeros((6, 9), np.uint8)
    stamp[1:5, 2:8] = 1
    file = io.BytesIO()
    Image.fromarray(255 * stamp).save(file, "PNG")
    shapes = [
        {"label": "owl", "points": [[10, 12], [15, 12]], "shape_type": "circle"},
        {
            "label": "dog",
            "points": [[20, 3], [28, 8]],
            "shape_type": "mask",
            "mask": base64.b64encode(file.getvalue()).decode(),
        },
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shapes": shapes}))
    mask = load_mask(path, IMAGE, SIZE)
    assert mask.names == ("", "owl", "dog")
    y, x = np.mgrid[:24, :32] + 0.5
    far = np.hypot(x - 10, y - 12) - 5
    clear = np.abs(far) > 0.1
    assert ((mask.labels == 1) == (far < 0))[clear].all()
    assert (mask.labels[3:9, 20:29] == 2 * stamp).all()


@pytest.mark.parametrize("stamp", [None, "no base64", "AAAA"])
def test_a_mask_that_is_no_png_is_reported(tmp_path, stamp):
    shape = {"label": "a", "points": [[1, 1], [2, 2]], "shape_type": "mask", "mask": stamp}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"shapes": [shape]}))
    with pytest.raises(MaskError, match="mask: wanted a PNG in base64"):
        load_mask(path, IMAGE, SIZE)


@pytest.mark.parametrize("name", ["train/cat.jpg", "C:\\photos\\cat.jpg"])
def test_folders_before_a_name_in_coco_do_not_matter(tmp_path, name):
    content = {
        "images": [
            {"id": 1, "height": 24, "width": 32, "file_name": "x.png"},
            {"id": 2, "height": 24, "width": 32, "file_name": name},
        ],
        "categories": [{"id": 1, "name": "owl"}],
        "annotations": [
            {"image_id": 2, "category_id": 1, "segmentation": [[2, 2, 9, 2, 9, 8, 2, 8]]}
        ],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    assert (load_mask(path, IMAGE, SIZE).labels == 1).sum() == 42
